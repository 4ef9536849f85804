package downtime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

const window = 30 * time.Minute

// joined is a node that joined in the beginning.
func joined(t testing.TB, rules downtime.Service) downtime.State {
	t.Helper()
	return told(t, downtime.State{}, downtime.Join{At: began, Rules: rules})
}

// told is a node after commands.
func told(t testing.TB, s downtime.State, commands ...downtime.Command) downtime.State {
	t.Helper()
	for _, c := range commands {
		all, err := downtime.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range all {
			s = downtime.Evolve(s, e)
		}
	}
	return s
}

// audit is one by a probe, so many windows after the beginning, and some more.
func audit(windows int, more time.Duration, outcome downtime.Outcome) downtime.Audit {
	at := began.Add(time.Duration(windows)*window + more)
	return downtime.Audit{ID: fmt.Sprintf("probe:%d", at.Unix()), Source: downtime.Probe, Outcome: outcome, Time: at}
}

// history are audits of one window after the other: o is offline, i is online, b is both, - is none.
func history(windows string) (all []downtime.Audit) {
	for n, c := range windows {
		if strings.ContainsRune("ob", c) {
			all = append(all, audit(n, 0, downtime.Offline))
		}
		if strings.ContainsRune("ib", c) {
			all = append(all, audit(n, time.Minute, downtime.Online))
		}
	}
	return all
}

func end(windows int) time.Time { return began.Add(time.Duration(windows) * window) }

// lived is a node with such a history, which nobody has judged yet.
func lived(t testing.TB, rules downtime.Service, windows string) downtime.State {
	t.Helper()
	return told(t, joined(t, rules), downtime.Write{At: end(len(windows)), Audits: history(windows)})
}

func TestAWindowBeginsAtAMultipleOfItsLengthInUTC(t *testing.T) {
	berlin := time.FixedZone("Berlin, the night in which clocks go back", 2*60*60)
	night := time.Date(2024, 3, 31, 1, 29, 59, 0, time.UTC) // The clocks of Berlin go forward then.
	rules := downtime.DocumentRules()
	for at, want := range map[time.Time]time.Time{
		began:                                  began,
		began.Add(window - 1):                  began,
		began.Add(window):                      began.Add(window),
		began.Add(window + time.Nanosecond):    began.Add(window),
		began.In(berlin).Add(29 * time.Minute): began,
		time.Unix(-1, 0):                       time.Unix(-1800, 0).UTC(),
		night:                                  night.Truncate(window),
	} {
		if got := rules.StartOf(at); !got.Equal(want) {
			t.Errorf("%s is in the window of %s", at, got)
		}
	}
	rules.WindowLength = 7 * 24 * time.Hour // It divides no day: the multiples are those since 1970, a Thursday.
	if got := rules.StartOf(began); got.Weekday() != time.Thursday {
		t.Errorf("a week begins on %s", got.Weekday())
	}
}

func TestAVerdictIsAFractionOfCompleteWindowsOfTheTrackingPeriod(t *testing.T) {
	rules := downtime.DocumentRules()
	rules.TrackingPeriod, rules.Retention = 10*window, 20*window
	half := rules
	half.AllowedOfflinePercentage = 5_000
	for name, c := range map[string]struct {
		rules       downtime.Service
		windows     string
		now         time.Time
		offline, of uint32
		value       string
		offending   bool
	}{
		"no windows":                       {rules, "", end(10), 0, 0, "0.000000", false},
		"one window":                       {rules, "o", end(1), 1, 1, "1.000000", true},
		"one of ten":                       {rules, "oiiiiiiiii", end(10), 1, 10, "0.100000", false},
		"a fifth is tolerated":             {rules, "ooiiiiiiii", end(10), 2, 10, "0.200000", false},
		"three of ten":                     {rules, "oooiiiiiii", end(10), 3, 10, "0.300000", true},
		"D: both bits are not offline":     {half, "boo------i", end(10), 2, 4, "0.500000", false},
		"windows without audits are none":  {rules, "o---i---i-", end(10), 1, 3, "0.333333", true},
		"the window at the begin is in":    {rules, "oooiiiiiii", end(11).Add(-1), 3, 10, "0.300000", true},
		"a window later it is not":         {rules, "oooiiiiiii", end(11), 2, 9, "0.222222", true},
		"the window at the end is out":     {rules, "iiiiiiiiiiooo", end(13), 3, 10, "0.300000", true},
		"of windows in the future nothing": {rules, "iiiiiiiiiiooo", end(12), 2, 10, "0.200000", false},
	} {
		t.Run(name, func(t *testing.T) {
			v := lived(t, c.rules, c.windows).Judge(c.now)
			if v.Offline != c.offline || v.Windows != c.of || v.Value != c.value || v.Offending != c.offending {
				t.Errorf("%s, offending %t", v, v.Offending)
			}
		})
	}
}

// Of n windows, as many may be offline as the limit says exactly, and not one more; by the scored rules as well, where
// the rest must be online.
func TestEveryLimitIsExact(t *testing.T) {
	for n := 1; n <= 100; n++ {
		for percent := range 101 {
			most := n * percent / 100
			for offline := most; offline <= min(most+1, n); offline++ {
				for _, set := range []downtime.RuleSet{downtime.Document, downtime.Scored} {
					s := ofWindows(n, offline)
					s.Rules.RuleSet = set
					s.Rules.AllowedOfflinePercentage = downtime.Percentage(100 * percent)
					s.Rules.RequiredOnlinePercentage = downtime.Percentage(100 * (100 - percent))
					if v := s.Judge(end(n)); v.Offending != (offline > most) {
						t.Fatalf("%s, %d of %d at %d %%: %s", set, offline, n, percent, v)
					}
				}
			}
		}
	}
}

// ofWindows is a node with so many windows in a tracking period of as many.
func ofWindows(n, offline int) (s downtime.State) {
	s.Rules = downtime.DocumentRules()
	s.Rules.TrackingPeriod = time.Duration(n) * window
	for i := range n {
		w := downtime.Window{Start: end(i).Unix(), Length: 1800, Marks: []downtime.Mark{{Outcome: downtime.Online}}}
		if i < offline {
			w.Marks[0].Outcome = downtime.Offline
		}
		s.Windows = append(s.Windows, w)
	}
	return s
}

func TestAScoreIsTheMeanOfTheWindows(t *testing.T) {
	rules := downtime.ScoredRules()
	many := func(online, offline int) (all []downtime.Audit) {
		for n := range online + offline {
			outcome := downtime.Online
			if n >= online {
				outcome = downtime.Offline
			}
			all = append(all, audit(0, time.Duration(n)*time.Second, outcome))
		}
		return all
	}
	s := joined(t, rules)
	audits := many(9, 1)
	for n := 1; n < 60; n++ {
		a := audit(n*24, 0, downtime.Online)
		audits = append(audits, a)
	}
	s = told(t, s, downtime.Write{At: end(60 * 24), Audits: audits})
	if v := s.Judge(end(60 * 24)); v.Value != "0.998333" { // (59 + 0.9) / 60
		t.Errorf("one audit of ten offline in one of sixty windows: %s", v)
	}
	// A busy day and a half-offline one, then quiet days: the mean does not fall when the busy one leaves.
	rules.WindowLength, rules.TrackingPeriod, rules.Retention = 24*time.Hour, 5*24*time.Hour, 6*24*time.Hour
	week, day := joined(t, rules), began.Truncate(24*time.Hour).Add(24*time.Hour)
	audits = nil
	for n, d := range [][2]int{{100, 0}, {50, 50}, {5, 0}, {5, 0}, {5, 0}, {5, 0}} {
		for i := range d[0] + d[1] {
			a := downtime.Audit{
				ID: fmt.Sprint(n, i), Source: downtime.Proof, Outcome: downtime.Online,
				Time: day.Add(time.Duration(n)*24*time.Hour + time.Duration(i)*time.Minute),
			}
			if i >= d[0] {
				a.Outcome = downtime.Offline
			}
			audits = append(audits, a)
		}
	}
	week = told(t, week, downtime.Write{At: day.Add(6 * 24 * time.Hour), Audits: audits})
	for _, days := range []int{5, 6} {
		if v := week.Judge(day.AddDate(0, 0, days)); v.Value != "0.900000" || v.Windows != 5 {
			t.Errorf("after %d days: %s", days, v)
		}
	}
}

func TestAnAuditCountsOnceInTheWindowOfItsTime(t *testing.T) {
	s := joined(t, downtime.DocumentRules())
	offline := audit(0, 0, downtime.Offline)
	late := audit(0, window-1, downtime.Online)
	write := func(audits ...downtime.Audit) downtime.Write { return downtime.Write{At: end(2), Audits: audits} }
	all, err := downtime.Decide(s, write(offline, offline))
	if err != nil || len(all) != 1 || all[0].(*messages.WindowClosed).GetOffline() != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	s = downtime.Evolve(s, all[0])
	if again, err := downtime.Decide(s, write(offline)); err != nil || len(again) != 0 {
		t.Errorf("the same audit again: %v, %v", again, err)
	}
	all, err = downtime.Decide(s, write(late))
	if err != nil || len(all) != 1 {
		t.Fatalf("a late audit: %v, %v", all, err)
	}
	revised, ok := all[0].(*messages.WindowRevised)
	if !ok || revised.GetOnline() != 1 || revised.GetOffline() != 1 || len(revised.GetAudits()) != 1 {
		t.Errorf("a late audit revises to %v", all[0])
	}
	s = downtime.Evolve(s, revised)
	if bits := s.Windows[0].Tally().Bits(); bits != 0b11 {
		t.Errorf("the bits are %02b", bits)
	}
	withdrawn := offline
	withdrawn.Version, withdrawn.Outcome = 1, downtime.Withdrawn
	s = told(t, s, write(withdrawn), write(offline)) // The older version comes again, too late.
	if bits := s.Windows[0].Tally().Bits(); bits != 0b10 {
		t.Errorf("after a reorganisation the bits are %02b", bits)
	}
}

func TestAWindowMayHaveMoreAuditsThanAnEvent(t *testing.T) {
	s, w := joined(t, downtime.DocumentRules()), downtime.Write{At: end(1)}
	for n := range 2_500 {
		a := audit(0, time.Second, downtime.Online)
		a.ID, a.Source = fmt.Sprint("proof:", n), downtime.Proof
		w.Audits = append(w.Audits, a)
	}
	all, err := downtime.Decide(s, w)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d events: %v", len(all), err)
	}
	if last, ok := all[2].(*messages.WindowRevised); !ok || len(last.GetAudits()) != 500 || last.GetOnline() != 2_500 {
		t.Errorf("the last is a %T with %d audits", all[2], len(last.GetAudits()))
	}
}

func TestBadInputIsAClearErrorAndRecordsNothing(t *testing.T) {
	rules := downtime.DocumentRules()
	s := told(t, joined(t, rules), downtime.Write{At: end(4), Audits: history("oiob")})
	longer := rules
	longer.WindowLength = time.Hour
	changed := told(t, s, downtime.Join{At: end(4).Add(10 * time.Minute), Rules: longer})
	suspended := told(t, s, downtime.Judge{At: end(4)})
	single := rules
	single.SingleReview = true
	reviewed := told(t, lived(t, single, "oiob"), downtime.Judge{At: end(4)},
		downtime.Write{At: end(15), Audits: history(strings.Repeat("-", 4) + strings.Repeat("i", 11))}, downtime.Judge{At: end(15)})
	if suspended.Status != downtime.Suspended || reviewed.Status != downtime.Active || reviewed.Review.IsZero() {
		t.Fatalf("they are %s and %s", suspended.Status, reviewed.Status)
	}
	with := func(change func(*downtime.Audit)) downtime.Write {
		a := audit(3, 0, downtime.Offline)
		change(&a)
		return downtime.Write{At: end(5), Audits: []downtime.Audit{a}}
	}
	bad := func(change func(*downtime.Service)) downtime.Join {
		r := rules
		change(&r)
		return downtime.Join{At: end(5), Rules: r}
	}
	var tried []downtime.Command
	for name, c := range map[string]struct {
		s    downtime.State
		c    downtime.Command
		want error
		says string
	}{
		"a window that does not divide the tracking period": {
			s, bad(func(r *downtime.Service) { r.WindowLength = 7 * time.Minute }), downtime.ErrRules, "24h0m0s is no multiple of a window of 7m0s",
		},
		"no window":             {s, bad(func(r *downtime.Service) { r.WindowLength = 0 }), downtime.ErrRules, "whole number of seconds"},
		"half a second":         {s, bad(func(r *downtime.Service) { r.WindowLength += time.Second / 2 }), downtime.ErrRules, "whole number"},
		"too many windows":      {s, bad(func(r *downtime.Service) { r.TrackingPeriod = 2001 * window }), downtime.ErrRules, "at most 2000"},
		"an age":                {s, bad(func(r *downtime.Service) { r.GracePeriod = 11 * 365 * 24 * time.Hour }), downtime.ErrRules, "longer than"},
		"a negative time":       {s, bad(func(r *downtime.Service) { r.Retention = -time.Second }), downtime.ErrRules, "not negative"},
		"more than everything":  {s, bad(func(r *downtime.Service) { r.AllowedOfflinePercentage = 10_001 }), downtime.ErrRules, "above 100"},
		"no rules":              {s, bad(func(r *downtime.Service) { r.RuleSet = "best" }), downtime.ErrRules, `"best"`},
		"half disqualification": {s, bad(func(r *downtime.Service) { r.Disqualification = "half" }), downtime.ErrRules, `"half"`},
		"another length while it runs, and an audit in between": {
			changed,
			downtime.Write{At: end(8), Audits: []downtime.Audit{audit(4, 11*time.Minute, downtime.Offline)}},
			downtime.ErrNotWatched, "windows of 1h0m0s begin at 2023-11-15T03:00:00Z",
		},
		"an audit of before it joined": {
			s, with(func(a *downtime.Audit) { a.ID, a.Time = "other", began.Add(-1) }), downtime.ErrNotWatched, "begin at",
		},
		"a clock that goes back":     {s, downtime.Judge{At: end(4).Add(-1)}, downtime.ErrClock, "2023-11-15T01:59:59Z"},
		"an audit from the future":   {s, with(func(a *downtime.Audit) { a.ID, a.Time = "other", end(5).Add(1) }), downtime.ErrFuture, "2023"},
		"an audit of an open window": {s, with(func(a *downtime.Audit) { a.ID, a.Time = "other", end(5) }), downtime.ErrOpen, "2023"},
		"two outcomes of one audit":  {s, with(func(a *downtime.Audit) { a.Outcome = downtime.Online }), downtime.ErrContradiction, "probe:"},
		"two sources of one audit":   {s, with(func(a *downtime.Audit) { a.Source = downtime.Proof }), downtime.ErrContradiction, "probe:"},
		"one audit in two windows":   {s, with(func(a *downtime.Audit) { a.Time = end(1) }), downtime.ErrContradiction, "probe:"},
		"an audit without an id":     {s, with(func(a *downtime.Audit) { a.ID = "" }), events.ErrMalformed, "an id of"},
		"an audit with a novel":      {s, with(func(a *downtime.Audit) { a.ID = strings.Repeat("x", 201) }), events.ErrMalformed, "200 bytes"},
		"an audit by nobody":         {s, with(func(a *downtime.Audit) { a.Source = 0 }), events.ErrMalformed, "source"},
		"an audit by something":      {s, with(func(a *downtime.Audit) { a.Source = 9 }), events.ErrMalformed, "source"},
		"an audit of nothing":        {s, with(func(a *downtime.Audit) { a.Outcome = 9 }), events.ErrMalformed, "outcome"},
		"void time to come":          {s, downtime.Void{At: end(5), From: end(4), Until: end(6), Reason: "sleep"}, downtime.ErrFuture, "2023"},
		"a suspended node leaves":    {suspended, downtime.Force{At: end(5), To: downtime.Exited, By: "anna", Reason: "sold"}, downtime.ErrUnderReview, "until 2023-11-16T14:00:00Z"},
		"a node leaves its review":   {reviewed, downtime.Force{At: end(16), To: downtime.Exited, By: "anna", Reason: "sold"}, downtime.ErrUnderReview, "until"},
		"nobody decides":             {s, downtime.Force{At: end(5), To: downtime.Suspended, Reason: "so"}, downtime.ErrUnexplained, ""},
		"no reason":                  {s, downtime.Force{At: end(5), To: downtime.Suspended, By: "anna"}, downtime.ErrUnexplained, ""},
		"maintenance without a name": {s, downtime.Maintain{At: end(5), From: end(6), Until: end(7)}, downtime.ErrUnexplained, ""},
		"who left without a reason":  {s, downtime.Force{At: end(5), To: downtime.Exited, By: "anna"}, downtime.ErrUnexplained, ""},
		"a node that nobody watches": {downtime.State{}, downtime.Judge{At: began}, downtime.ErrNotJoined, ""},
	} {
		tried = append(tried, c.c)
		t.Run(name, func(t *testing.T) {
			all, err := downtime.Decide(c.s, c.c)
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
			if len(all) > 0 {
				t.Errorf("recorded %v", all)
			}
		})
	}
	housetest.Complete(t, ".", "command", tried, "commands that are tried")
}

func TestWindowsOfAnotherLengthNoLongerCountAndKeepTheirs(t *testing.T) {
	rules := downtime.DocumentRules()
	rules.AllowedOfflinePercentage = 10_000
	s := lived(t, rules, "oooo")
	rules.WindowLength = time.Hour
	s = told(t, s, downtime.Join{At: end(4).Add(time.Minute), Rules: rules},
		downtime.Write{At: end(10), Audits: []downtime.Audit{audit(2, time.Second, downtime.Online), audit(7, 0, downtime.Offline)}})
	if v := s.Judge(end(10)); v.Offline != 1 || v.Windows != 1 {
		t.Errorf("by the new length: %s", v)
	}
	if w := s.Windows[2]; w.Length != 1800 || w.Tally() != (downtime.Tally{Online: 1, Offline: 1}) {
		t.Errorf("a late audit of an old window: %+v", w)
	}
	if w := s.Windows[4]; w.Length != 3600 || w.Start != end(6).Unix() {
		t.Errorf("the first new window: %+v", w)
	}
}

func TestTheDeadlineIsExact(t *testing.T) {
	rules := downtime.DocumentRules()
	deadline := end(1).Add(rules.GracePeriod + rules.TrackingPeriod)
	windows := "o" + strings.Repeat("o", 72)
	for _, c := range []struct {
		set    downtime.RuleSet
		at     time.Time
		status downtime.Status
	}{
		{downtime.Document, deadline.Add(-1), downtime.Suspended},
		{downtime.Document, deadline, downtime.Disqualified},
		{downtime.Scored, deadline, downtime.Suspended},
		{downtime.Scored, deadline.Add(1), downtime.Disqualified},
	} {
		r := rules
		r.RuleSet, r.ElapsedGaps = c.set, true
		s := joined(t, r)
		s.First = began.Add(-rules.TrackingPeriod).Unix() // Full from the beginning.
		s = told(t, s, downtime.Write{At: end(1), Audits: history("o")}, downtime.Judge{At: end(1)})
		if s.Status != downtime.Suspended || !s.Deadline().Equal(deadline) {
			t.Fatalf("%s: it is %s, the deadline is %s", c.set, s.Status, s.Deadline())
		}
		// No later audit moves the clock.
		s = told(t, s, downtime.Write{At: end(72), Audits: history(windows[:72])}, downtime.Judge{At: c.at})
		if s.Status != c.status {
			t.Errorf("%s at %s: it is %s", c.set, c.at, s.Status)
		}
	}
	// A node that is not offending when the time is over is reinstated.
	s := told(t, lived(t, rules, "o"), downtime.Judge{At: end(1)},
		downtime.Write{At: deadline, Audits: history(strings.Repeat("-", 34) + strings.Repeat("i", 38))}, downtime.Judge{At: deadline})
	if s.Status != downtime.Active {
		t.Errorf("not offending at the deadline, it is %s", s.Status)
	}
}

func TestADisqualifiedNodeTakesNoPart(t *testing.T) {
	s := told(t, lived(t, downtime.DocumentRules(), "ii"),
		downtime.Force{At: end(2), To: downtime.Disqualified, By: "anna", Reason: "it lies"})
	for _, c := range []downtime.Command{
		downtime.Write{At: end(3), Audits: history("--i")},
		downtime.Judge{At: end(3)},
		downtime.Join{At: end(3), Rules: downtime.ScoredRules()},
		downtime.Void{At: end(3), From: began, Until: end(1)},
		downtime.Force{At: end(3), To: downtime.Exited, By: "anna", Reason: "gone"},
		downtime.Maintain{At: end(3), From: end(4), Until: end(5), By: "anna", Reason: "disk"},
		downtime.Force{At: end(3), To: downtime.Disqualified, By: "anna", Reason: "again"},
	} {
		if all, err := downtime.Decide(s, c); err != nil || len(all) > 0 {
			t.Errorf("%T: %v, %v", c, all, err)
		}
	}
}

func TestCleanupKeepsTheWindowAtItsBound(t *testing.T) {
	rules := downtime.DocumentRules()
	all := []downtime.Window{{Start: began.Unix()}, {Start: end(1).Unix()}, {Start: end(2).Unix()}}
	if got := rules.Cleanup(all, end(49)); len(got) != 2 || got[0].Start != end(1).Unix() || len(all) != 3 {
		t.Errorf("kept %v", got)
	}
	rules.Retention = 48 * time.Hour
	if got := rules.Cleanup(all, end(97)); len(got) != 2 {
		t.Errorf("for disputes it kept %v", got)
	}
	rules.Retention = 0
	s := lived(t, rules, strings.Repeat("i", 100))
	if len(s.Windows) != 48 || s.Windows[0].Start != end(52).Unix() {
		t.Errorf("%d windows are left", len(s.Windows))
	}
	late := downtime.Write{At: end(100), Audits: []downtime.Audit{audit(51, 5, downtime.Offline)}}
	if all, err := downtime.Decide(s, late); err != nil || len(all) > 0 {
		t.Errorf("an audit of a window that is kept no longer: %v, %v", all, err)
	}
}

func TestOneRoundWritesEachNodeOnce(t *testing.T) {
	rules := downtime.DocumentRules()
	round := rules.Write(downtime.Probe, began, map[events.Node]bool{"north": true, "south": false})
	fleet := downtime.Fleet{"north": joined(t, rules), "south": joined(t, rules), "new": {}}
	for node, a := range round {
		fleet[node] = told(t, fleet[node], downtime.Write{At: end(1), Audits: []downtime.Audit{a, a}})
	}
	if bits := fleet["north"].Windows[0].Tally(); bits.Bits() != 0b10 || bits.Total() != 1 {
		t.Errorf("north: %02b", bits.Bits())
	}
	if got := rules.GetOffendingNodes(fleet, end(1)); !slices.Equal(got, []events.Node{"south"}) {
		t.Errorf("offending: %v", got)
	}
}

// A window in which most nodes were offline at once is void for all, and counts again when late audits say otherwise.
func TestAWindowInWhichMostNodesAreOfflineIsVoidForAll(t *testing.T) {
	rules := downtime.DocumentRules()
	fleet := downtime.Fleet{}
	for n, windows := range []string{"io", "io", "io", "ii", "ib", "i-"} {
		fleet[events.Node(fmt.Sprint("node-", n))] = lived(t, rules, windows)
	}
	run := func(at time.Time) (n int) {
		runs, err := rules.Chore(fleet, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			fleet[r.Node] = told(t, fleet[r.Node], r.Commands...)
			n += len(r.Commands)
		}
		return n
	}
	if n := run(end(2)); n != 6 {
		t.Fatalf("%d commands, want one for each node", n)
	}
	v := fleet["node-0"].Judge(end(2))
	if v.Void != 1 || v.Windows != 1 || fleet["node-0"].Status != downtime.Active {
		t.Errorf("it is %s: %s", fleet["node-0"].Status, v)
	}
	if reason := fleet["node-5"].Voids[0].Reason; reason != "3 of 5 nodes were offline at once" {
		t.Errorf("because %s", reason)
	}
	if n := run(end(2)); n != 0 {
		t.Errorf("the same run again has %d commands", n)
	}
	fleet["node-1"] = told(t, fleet["node-1"], downtime.Write{At: end(2), Audits: history("-b")[1:]})
	if n := run(end(2)); n != 8 || len(fleet["node-5"].Voids) != 0 || fleet["node-0"].Status != downtime.Suspended {
		t.Errorf("%d commands, it is %s", n, fleet["node-0"].Status)
	}
}

// What nobody watched is void for probes and members; what the chain says counts all the same.
func TestASleepIsNoExcuseForWhatTheChainSays(t *testing.T) {
	proof := audit(1, 2, downtime.Offline)
	proof.ID, proof.Source = "proof", downtime.Proof
	s := told(t, joined(t, downtime.DocumentRules()),
		downtime.Write{At: end(4), Audits: append(history("ooio"), proof)},
		downtime.Void{At: end(4), From: end(1).Add(-1), Until: end(2), Reason: "nobody watched"})
	if v := s.Judge(end(4)); v.Void != 1 || v.Offline != 2 || v.Windows != 3 {
		t.Errorf("%s, %d void", v, v.Void)
	}
}

func TestFoldingChangesNoEarlierState(t *testing.T) {
	for path, log := range logs(t) {
		var s downtime.State
		for i, e := range log {
			before := s
			s = downtime.Evolve(s, e)
			var again downtime.State
			if i%50 != 0 { // Each one would take minutes.
				continue
			}
			for _, e := range log[:i] {
				again = downtime.Evolve(again, e)
			}
			if diff := cmp.Diff(again, before); diff != "" {
				t.Fatalf("%s, event %d: %s", path, i, diff)
			}
		}
	}
}

func TestWhatNoRuleCouldHaveBroughtIsNotRead(t *testing.T) {
	codec := events.NewCodec(downtime.Table())
	const at = `"at":"2023-11-15T01:00:00Z"`
	window := func(more string) string { return `{` + at + `,"start":"2023-11-15T00:00:00Z",` + more + `}` }
	of := func(audit string) string { return window(`"lengthSeconds":"1800","audits":[{` + audit + `}]`) }
	const fine = `"id":"x","source":"probe","outcome":"online","time":"2023-11-15T00:00:00Z"`
	if _, err := codec.Decode(events.Recorded{Type: "WindowClosed", Data: []byte(of(fine))}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ event, data string }{
		"an event without a time":         {"NodeExited", `{"by":"anna"}`},
		"no rules":                        {"NodeJoined", `{` + at + `}`},
		"rules that contradict":           {"NodeRulesChanged", `{` + at + `,"rules":{"ruleSet":"document","windowSeconds":"7","trackingSeconds":"8"}}`},
		"a window without a start":        {"WindowClosed", `{` + at + `,"lengthSeconds":"1800"}`},
		"a window of no length":           {"WindowClosed", window(`"online":1`)},
		"a window that begins at no edge": {"WindowRevised", window(`"lengthSeconds":"1799"`)},
		"an endless window":               {"WindowRevised", window(`"lengthSeconds":"18446744073709551615"`)},
		"an audit without an id":          {"WindowClosed", of(strings.Replace(fine, `"x"`, `""`, 1))},
		"an audit of no source":           {"WindowClosed", of(strings.Replace(fine, "probe", "rumour", 1))},
		"an audit of no outcome":          {"WindowClosed", of(strings.Replace(fine, "online", "maybe", 1))},
		"an audit at no time":             {"WindowClosed", of(`"id":"x","source":"probe","outcome":"online"`)},
		"a void time that ends first":     {"WindowsVoided", `{` + at + `,"from":"2023-11-15T01:00:00Z","until":"2023-11-15T00:00:00Z"}`},
		"a void time that has no begin":   {"WindowsVoided", `{` + at + `,"until":"2023-11-15T00:00:00Z"}`},
		"a verdict of nobody":             {"NodeSuspended", `{` + at + `}`},
		"a review of nothing":             {"ReviewStarted", `{` + at + `}`},
	} {
		if m, err := codec.Decode(events.Recorded{Type: c.event, Data: []byte(c.data)}); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// A node whose record is ahead of the clock cannot be judged. The chore says so, and judges the others.
func TestTheChoreNamesANodeThatItCannotJudge(t *testing.T) {
	rules := downtime.DocumentRules()
	watched := func(until time.Time) downtime.State {
		return told(t, downtime.State{}, downtime.Join{At: until.Add(-window), Rules: rules}, downtime.Write{
			At: until, Audits: []downtime.Audit{{
				ID: "a", Source: downtime.Probe, Outcome: downtime.Offline, Time: until.Add(-window),
			}},
		})
	}
	runs, err := rules.Chore(downtime.Fleet{"ahead": watched(end(4)), "here": watched(end(2))}, end(2))
	if !errors.Is(err, downtime.ErrClock) || !strings.Contains(err.Error(), "ahead") || strings.Contains(err.Error(), "here") {
		t.Errorf("the error of the chore is %v", err)
	}
	if len(runs) != 1 || runs[0].Node != "here" {
		t.Errorf("the chore has to say %+v", runs)
	}
}
