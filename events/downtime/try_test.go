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
	"github.com/hostnode/hostnode/messages"
)

// recorded is a node that was judged by rules after each window of a history; then came more commands.
func recorded(t testing.TB, rules downtime.Service, windows string, more ...downtime.Command) (log []downtime.Event) {
	t.Helper()
	commands := []downtime.Command{downtime.Join{At: began, Rules: rules}}
	for n := range windows {
		var audits []downtime.Audit
		for _, a := range history(windows[:n+1]) {
			if !a.Time.Before(end(n)) {
				audits = append(audits, a)
			}
		}
		commands = append(commands, downtime.Write{At: end(n + 1), Audits: audits}, downtime.Judge{At: end(n + 1)})
	}
	var s downtime.State
	for _, c := range append(commands, more...) {
		all, err := downtime.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range all {
			s = downtime.Evolve(s, e)
		}
		log = append(log, all...)
	}
	return log
}

// tenWindows are rules with a tracking period of ten windows.
func tenWindows() downtime.Service {
	r := downtime.DocumentRules()
	r.TrackingPeriod, r.GracePeriod, r.GuardNodes = 10*window, 2*window, 2
	return r
}

// verdicts are those of events.
func verdicts(all []downtime.Event) (out []downtime.Event) {
	for _, e := range all {
		if _, ok := e.(interface{ GetVerdict() *messages.NodeVerdict }); ok {
			out = append(out, e)
		}
	}
	return out
}

// decided are verdicts, each with the window after which it came.
func decided(all []downtime.Event) (out []string) {
	for _, e := range verdicts(all) {
		name := string(e.ProtoReflect().Descriptor().Name())
		out = append(out, fmt.Sprintf("%s %d", strings.TrimPrefix(name, "Node"), downtime.At(e).Sub(began)/window))
	}
	return out
}

func TestATrialSaysWhatOtherRulesWouldHaveDecided(t *testing.T) {
	with := func(change func(*downtime.Service)) downtime.Service {
		r := tenWindows()
		change(&r)
		return r
	}
	const away = "iiiiiiiiiiooooiiiiiiiiii"
	void := downtime.Void{At: end(14), From: end(10), Until: end(14), Reason: "nobody watched"}
	exit := downtime.Force{At: end(3), To: downtime.Exited, By: "anna", Reason: "sold"}
	for name, c := range map[string]struct {
		rules   downtime.Service
		windows string
		more    []downtime.Command
		want    []string
	}{
		"the same rules": {tenWindows(), away, nil, []string{"Suspended 13", "Reinstated 22"}},
		"half may be offline": {
			with(func(r *downtime.Service) { r.AllowedOfflinePercentage = 5_000 }), away, nil, nil,
		},
		"nothing may be": {
			with(func(r *downtime.Service) { r.AllowedOfflinePercentage = 0 }), away, nil,
			[]string{"Suspended 11", "Disqualified 23"},
		},
		"windows twice as long": {
			with(func(r *downtime.Service) { r.WindowLength *= 2 }), away, nil, []string{"Suspended 14", "Reinstated 22"},
		},
		"windows half as long": {
			with(func(r *downtime.Service) { r.WindowLength /= 2 }), away, nil, []string{"Suspended 12", "Reinstated 21"},
		},
		"scored": {
			with(func(r *downtime.Service) { r.RuleSet, r.RequiredOnlinePercentage = downtime.Scored, 7_000 }), away, nil,
			[]string{"Suspended 14", "ReviewStarted 14", "Reinstated 21"},
		},
		"what nobody watched does not count, however late that was said": {
			tenWindows(), "iiiiiiiiiioooo", []downtime.Command{void}, nil,
		},
		"a late audit counts in its own time": {
			tenWindows(), "iiiiiiiiiioooo", []downtime.Command{downtime.Write{At: end(14), Audits: []downtime.Audit{
				{ID: "late", Source: downtime.Proof, Outcome: downtime.Online, Time: end(11).Add(time.Minute)},
			}}}, []string{"Suspended 14"},
		},
		"what a person decided stays": {
			tenWindows(), "iii", []downtime.Command{
				downtime.Force{At: end(3), To: downtime.Suspended, By: "anna", Reason: "it lies"},
			}, []string{"Suspended 3"},
		},
		"who left is judged no more, also by rules that had refused it": {
			with(func(r *downtime.Service) { r.AllowedOfflinePercentage = 0 }), "iii",
			[]downtime.Command{downtime.Write{At: end(3), Audits: nil}, exit, downtime.Join{At: end(9), Rules: tenWindows()}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := map[events.Node][]downtime.Event{"a": recorded(t, tenWindows(), c.windows, c.more...)}
			out, err := downtime.Try(c.rules, record, end(max(len(c.windows), 10)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, decided(out["a"])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// By the same rules a trial decides what was decided, at the same times and by the same numbers.
func TestATrialOfTheSameRulesDecidesTheSame(t *testing.T) {
	for _, windows := range []string{
		"", "o", "iiiiiiiiii", "ooooiiiiiiiiiiiiii", "iiiiiiiiiibooooiiiiiiiiiooooo", "iiiiiiooooooooooooooooooooooo",
		"i-i-i-i-o-o-o-------------i-i",
	} {
		log := recorded(t, tenWindows(), windows)
		out, err := downtime.Try(tenWindows(), map[events.Node][]downtime.Event{"a": log}, end(len(windows)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprint(verdicts(log)), fmt.Sprint(verdicts(out["a"]))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", windows, diff)
		}
	}
}

func TestATrialHasTheGuardOfItsRules(t *testing.T) {
	record := map[events.Node][]downtime.Event{}
	for _, node := range []events.Node{"a", "b", "c"} {
		record[node] = recorded(t, tenWindows(), "iiiiiiiiiioooo")
	}
	for percent, want := range map[uint32]int{0: 3, 50: 0} {
		rules := tenWindows()
		rules.GuardPercent = percent
		out, err := downtime.Try(rules, record, end(14))
		if got := len(verdicts(slices.Concat(out["a"], out["b"], out["c"]))); err != nil || got != want {
			t.Errorf("with a guard of %d %%, %d nodes are suspended: %v", percent, got, err)
		}
	}
}

func TestATrialRefusesBadRulesAndTooMuch(t *testing.T) {
	record := map[events.Node][]downtime.Event{"a": recorded(t, tenWindows(), "io")}
	short := tenWindows()
	short.WindowLength, short.TrackingPeriod = time.Second, time.Second
	for name, c := range map[string]struct {
		rules downtime.Service
		until time.Time
		says  string
	}{
		"no rules":       {downtime.Service{}, end(2), "whole number of seconds"},
		"a long history": {short, began.AddDate(1, 0, 0), "try longer windows"},
	} {
		_, err := downtime.Try(c.rules, record, c.until)
		if !errors.Is(err, downtime.ErrRules) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkTry tries rules on 1,000 nodes over four days.
func BenchmarkTry(b *testing.B) {
	record := map[events.Node][]downtime.Event{}
	log := recorded(b, downtime.DocumentRules(), strings.Repeat("ioii", 48))
	for n := range 1_000 {
		record[events.Node(fmt.Sprint("node-", n))] = log
	}
	for b.Loop() {
		if _, err := downtime.Try(downtime.DocumentRules(), record, end(192)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1_000/192, "ns/verdict")
}
