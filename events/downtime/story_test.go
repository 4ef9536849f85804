package downtime_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// began is a multiple of every length of a window in the tests.
var began = events.Unix(1_700_006_400)

// after is a time as stories tell it: 30h, 2100m, 52.5d.
func after(t *testing.T, text string) time.Time {
	t.Helper()
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil {
			t.Fatal(err)
		}
		return began.Add(time.Duration(n * float64(24*time.Hour)))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return began.Add(d)
}

// watcher is the driver of one node, as the comment of the package tells it.
type watcher struct {
	s       downtime.State
	rules   downtime.Service
	codec   *events.Codec
	log     []downtime.Event
	waiting []downtime.Audit
	audits  int
	now     time.Time
	next    time.Time // audit
	every   time.Duration
	// judges says that each audit has the node judged, as the software did that the scored rules come from; otherwise
	// the chore runs at the end of each window.
	judges, days bool
}

// TestStories runs the scripts in testdata. Lines are
//
//	rules [scored] [NAME=VALUE ...]       by which rules it is judged from now on; see settings
//	audits every=DURATION [after=DURATION] [judge]   when it is audited, from now on; not at all: every=0
//	online|offline until=TIME             what the audits find until then
//	flap online=N offline=N until=TIME    so many audits online, then so many offline, and so on
//	sleep until=TIME                      nobody watches until then
//	force TO, maintain from= until=, exit and join, by a person
//	warning, return, away [from=TIME]     what the operator is told
//	show                                  what the node is
func TestStories(t *testing.T) { logs(t) }

// logs are the events of all stories.
func logs(t *testing.T) map[string][]downtime.Event {
	all := map[string][]downtime.Event{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		w := &watcher{rules: downtime.DocumentRules(), codec: events.NewCodec(downtime.Table()), now: began, next: began}
		w.days = strings.Contains(path, "scored")
		datadriven.RunTest(t, path, w.run)
		again := downtime.State{}
		for _, e := range w.log {
			again = downtime.Evolve(again, e)
		}
		if diff := cmp.Diff(w.s, again); diff != "" {
			t.Errorf("replayed (-live +replayed):\n%s", diff)
		}
		all[path] = w.log
	})
	return all
}

func (w *watcher) run(t *testing.T, d *datadriven.TestData) string {
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	number := func(key string, n int) int {
		d.MaybeScanArgs(t, key, &n)
		return n
	}
	first := len(w.log)
	switch d.Cmd {
	case "rules":
		w.settings(t, d)
		return w.do(downtime.Join{At: w.now, Rules: w.rules}, first)
	case "audits":
		w.every = after(t, text("every")).Sub(began)
		w.next, w.judges = w.now, d.HasArg("judge")
		if d.HasArg("after") {
			w.next = w.now.Add(after(t, text("after")).Sub(began))
		}
	case "online", "offline":
		return w.until(t, after(t, text("until")), first, func(int) bool { return d.Cmd == "online" })
	case "flap":
		up := number("online", 1)
		all, began := up+number("offline", 1), w.audits
		return w.until(t, after(t, text("until")), first, func(n int) bool { return (n-began)%all < up })
	case "sleep":
		c := downtime.Void{From: w.now, Until: after(t, text("until")), Reason: "nobody watched"}
		for w.now = c.Until; w.every > 0 && w.next.Before(w.now); {
			w.next = w.next.Add(w.every)
		}
		c.At = w.now
		return w.do(c, first)
	case "force":
		to := map[string]downtime.Status{
			"active": downtime.Active, "suspended": downtime.Suspended, "disqualified": downtime.Disqualified,
		}[d.CmdArgs[0].Key]
		return w.do(downtime.Force{At: w.now, To: to, By: text("by"), Reason: text("reason")}, first)
	case "maintain":
		return w.do(downtime.Maintain{
			At: w.now, From: after(t, text("from")), Until: after(t, text("until")), By: "anna", Reason: "a new disk",
		}, first)
	case "exit":
		return w.do(downtime.Force{At: w.now, To: downtime.Exited, By: "anna", Reason: "sold"}, first)
	case "join":
		return w.do(downtime.Join{At: w.now, Rules: w.rules}, first)
	case "warning":
		if warning := w.s.Warning(w.now); warning != nil {
			return warning.Text + "\n"
		}
		return "no warning\n"
	case "return":
		return w.returns()
	case "away":
		from := w.now
		if d.HasArg("from") {
			from = after(t, text("from"))
		}
		return w.s.MayBeAway(w.now, from).String() + "\n"
	case "show":
		return fmt.Sprintf("%s since %s: %s\n", w.s.Status, w.clock(w.s.Since), w.s.Judge(w.now))
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	return ""
}

func (w *watcher) settings(t *testing.T, d *datadriven.TestData) {
	if d.HasArg("scored") {
		w.rules = downtime.ScoredRules()
	}
	for _, arg := range d.CmdArgs {
		v := strings.Join(arg.Vals, "")
		n, _ := strconv.Atoi(v)
		switch arg.Key {
		case "scored":
		case "window":
			w.rules.WindowLength = after(t, v).Sub(began)
		case "tracking":
			w.rules.TrackingPeriod = after(t, v).Sub(began)
		case "grace":
			w.rules.GracePeriod = after(t, v).Sub(began)
		case "allowed":
			w.rules.AllowedOfflinePercentage = downtime.Percentage(n * 100)
		case "minimum":
			w.rules.MinimumWindows = uint32(n)
		case "single":
			w.rules.SingleReview = true
		case "elapsed":
			w.rules.ElapsedGaps = true
		case "evidence":
			w.rules.Evidence = v != "off"
		case "disqualification":
			w.rules.Disqualification = downtime.Disqualification(v)
		case "suspension":
			w.rules.SuspensionOff = v == "off"
		default:
			t.Fatalf("%s: no setting %s", d.Pos, arg.Key)
		}
	}
}

// until lets time pass, and returns what follows.
func (w *watcher) until(t *testing.T, end time.Time, first int, online func(int) bool) string {
	chore := w.s.Rules.StartOf(w.now).Add(w.s.Rules.WindowLength)
	for {
		switch {
		case w.every > 0 && w.next.Before(end) && (w.next.Before(chore) || w.judges):
			w.now = w.next
			a := downtime.Audit{
				ID: fmt.Sprintf("probe:%d", w.audits), Source: downtime.Probe, Outcome: downtime.Offline, Time: w.now,
			}
			if online(w.audits) {
				a.Outcome = downtime.Online
			}
			w.waiting = append(w.waiting, a)
			w.audits++
			w.next = w.next.Add(w.every)
			if !w.judges {
				continue
			}
		case w.judges || chore.After(end):
			w.now = end
			return w.said(first)
		default:
			w.now = chore
			chore = chore.Add(w.s.Rules.WindowLength)
		}
		w.chore(t)
	}
}

// chore writes the audits of windows that are over, and judges.
func (w *watcher) chore(t *testing.T) {
	open := w.s.Rules.StartOf(w.now)
	over := downtime.Write{At: w.now}
	for len(w.waiting) > 0 && w.waiting[0].Time.Before(open) {
		over.Audits, w.waiting = append(over.Audits, w.waiting[0]), w.waiting[1:]
	}
	for _, c := range []downtime.Command{over, downtime.Judge{At: w.now}} {
		if err := w.give(c); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *watcher) give(c downtime.Command) error {
	all, err := downtime.Decide(w.s, c)
	if err != nil {
		return err
	}
	for _, e := range all {
		e = stored(w.codec, e)
		w.s = downtime.Evolve(w.s, e)
		w.log = append(w.log, e)
	}
	return nil
}

func (w *watcher) do(c downtime.Command, first int) string {
	if err := w.give(c); err != nil {
		return "error: " + err.Error() + "\n"
	}
	return w.said(first)
}

// stored is an event as it is read again.
func stored(codec *events.Codec, e downtime.Event) downtime.Event {
	name, version, data, err := codec.Encode(e)
	if err != nil {
		panic(err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil {
		panic(err)
	}
	return m.(downtime.Event)
}

func (w *watcher) clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if w.days {
		return fmt.Sprintf("day %.2f", t.Sub(began).Hours()/24)
	}
	return fmt.Sprintf("minute %d", int(t.Sub(began).Minutes()))
}

// said tells the events since the first, without those of windows.
func (w *watcher) said(first int) string {
	var b strings.Builder
	for _, e := range w.log[first:] {
		switch e.(type) {
		case *messages.WindowClosed, *messages.WindowRevised:
			continue
		}
		at := w.clock(events.TimeFromMessage(e.(interface{ GetAt() *timestamppb.Timestamp }).GetAt()))
		fmt.Fprintf(&b, "%s: %s%s\n", at, strings.TrimPrefix(fmt.Sprintf("%T", e), "*messages."), because(e))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func because(e proto.Message) (why string) {
	if e, ok := e.(interface{ GetVerdict() *messages.NodeVerdict }); ok && e.GetVerdict() != nil {
		v := e.GetVerdict()
		why = fmt.Sprintf(", %d of %d windows offline, %s", v.GetOffline(), v.GetWindows(), v.GetValue())
		if v.GetVoid() > 0 {
			why += fmt.Sprintf(", %d void", v.GetVoid())
		}
	}
	if e, ok := e.(interface{ GetBy() string }); ok && e.GetBy() != "" {
		why += ", by " + e.GetBy()
	}
	return why
}

func (w *watcher) returns() string {
	r := w.s.Return(w.now)
	if r == nil {
		return "it is not suspended\n"
	}
	return fmt.Sprintf("deadline %s, back at the latest %s, reinstated %s if it is back now\n",
		w.clock(r.Deadline), w.clock(r.Latest), w.clock(r.Reinstated))
}
