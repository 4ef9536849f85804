package downtime_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/downtime"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

var (
	began = events.Unix(1_700_006_400)
	me    = events.Address{0xaa}
)

func end(windows int) time.Time { return began.Add(time.Duration(windows) * 30 * time.Minute) }

// life is the events of a node: each letter is a window, offline, online or both, after which it is judged.
type life struct {
	state core.State
	log   []core.Event
}

func (l *life) do(t *testing.T, commands ...core.Command) {
	t.Helper()
	for _, c := range commands {
		all, err := core.Decide(l.state, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			l.state = core.Evolve(l.state, e)
		}
		l.log = append(l.log, all...)
	}
}

func audit(window, n int, outcome core.Outcome) core.Audit {
	return core.Audit{
		ID: fmt.Sprintf("probe:%d:%d", window, n), Source: core.Probe, Outcome: outcome,
		Time: end(window).Add(time.Duration(n) * time.Minute),
	}
}

func (l *life) windows(t *testing.T, first int, windows string) {
	t.Helper()
	for n, c := range windows {
		w := core.Write{At: end(first + n + 1)}
		if c == 'o' || c == 'b' {
			w.Audits = append(w.Audits, audit(first+n, 0, core.Offline))
		}
		if c == 'i' || c == 'b' {
			w.Audits = append(w.Audits, audit(first+n, 1, core.Online))
		}
		l.do(t, w, core.Judge{At: w.At})
	}
}

func lived(t *testing.T, windows string) *life {
	t.Helper()
	rules := core.DocumentRules()
	rules.TrackingPeriod, rules.GracePeriod = 10*30*time.Minute, 5*30*time.Minute
	l := &life{}
	l.do(t, core.Join{At: began, Rules: rules})
	l.windows(t, 0, windows)
	return l
}

func TestTheViewPrintsAsEver(t *testing.T) {
	view := downtime.Machine().View()
	near, suspended, out := lived(t, "iiiiiiiiibo"), lived(t, "iiiiiiiiooo"), lived(t, "")
	near.do(t, core.Void{At: end(11), From: end(3), Until: end(4), Reason: "nobody watched"},
		core.Maintain{At: end(11), From: end(20), Until: end(22), By: "anna", Reason: "a new disk"})
	out.do(t, core.Force{At: end(1), To: core.Disqualified, By: "anna", Reason: "it lies"})
	for node, l := range map[events.Node]*life{"near": near, "suspended": suspended, "out": out} {
		for _, e := range l.log {
			if !view.Fold(events.Recorded{Stream: events.NodeStream(me, node)}, e) {
				t.Fatalf("%T is no event of a node", e)
			}
		}
	}
	if view.Fold(events.Recorded{}, &messages.BlocksScanned{}) {
		t.Error("an event of a market is one of a node")
	}
	got, err := json.MarshalIndent(view.Rows(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "nodes.json")
	if *rewrite {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	again := downtime.Machine().View()
	state, err := snapshot.Encode(func(c *snapshot.Coder) { c.Parts(view.State()) })
	if err == nil {
		err = snapshot.Decode(state, func(c *snapshot.Coder) { c.Parts(again.State()) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(view.Rows(), again.Rows()); diff != "" {
		t.Errorf("saved and loaded:\n%s", diff)
	}
}

// Each plants one error into a life that is in order, at its end or over an event. The audit finds it, and nothing
// before it.
func TestAnErrorInARecordIsFound(t *testing.T) {
	const windows = "iiiiiiiiooo"
	at := events.TimeToMessage
	verdict := func(l *life) *messages.NodeVerdict { return last(l).(*messages.NodeSuspended).GetVerdict() }
	for name, c := range map[string]struct {
		windows string
		plant   func(*life)
		rule    string
		says    string
	}{
		"nothing":                     {windows, func(*life) {}, "", ""},
		"a window too many is judged": {windows, func(l *life) { verdict(l).Windows++ }, "node-verdict", "it is"},
		"the span is a window off": {
			windows, func(l *life) { verdict(l).Until = at(end(12)) }, "node-verdict", "it is",
		},
		"another limit": {windows, func(l *life) { verdict(l).Limit = 1_000 }, "node-verdict", "it is"},
		"a verdict that the windows do not give": {
			"iiiiiiiioo", func(l *life) {
				l.log = append(l.log, &messages.NodeSuspended{At: at(end(10)), Verdict: &messages.NodeVerdict{Offline: 3, Windows: 10}})
			}, "node-verdict", "nothing was to be decided",
		},
		"own sleep is counted": {
			windows, func(l *life) {
				void := &messages.WindowsVoided{At: at(end(10)), From: at(end(9)), Until: at(end(10)), Reason: "nobody watched"}
				l.log = slices.Insert(l.log, len(l.log)-2, core.Event(void))
			}, "node-verdict", "nothing was to be decided",
		},
		"disqualified before the time is over": {
			windows + "oooooooooooooo", func(l *life) {
				l.log = append(l.log, &messages.NodeDisqualified{At: at(end(25)), Verdict: &messages.NodeVerdict{Offline: 10, Windows: 10}})
			}, "node-verdict", "nothing was to be decided",
		},
		"the clock of the suspension was moved": {
			windows + "ooooooooooooooo", func(l *life) {
				l.log = append(l.log[:len(l.log)-1], &messages.NodeReinstated{At: at(end(26)), Verdict: verdict(lived(t, windows))})
			}, "node-verdict", "it is",
		},
		"a person without a reason": {
			"i", func(l *life) { l.log = append(l.log, &messages.NodeSuspended{At: at(end(1)), By: "anna"}) },
			"node-verdict", "a name and a reason",
		},
		"an audit that counts twice": {
			"i", func(l *life) {
				again := proto.CloneOf(last(l).(*messages.WindowClosed))
				l.log = append(l.log, &messages.WindowRevised{
					At: again.GetAt(), Start: again.GetStart(), LengthSeconds: 1800, Audits: again.GetAudits(), Online: 2,
				})
			}, "node-window", "nothing was to be decided",
		},
		"an audit outside of its window": {
			"i", func(l *life) { last(l).(*messages.WindowClosed).GetAudits()[0].Time = at(end(1)) }, "node-window", "not over",
		},
		"a window that is wrongly counted": {
			"i", func(l *life) { last(l).(*messages.WindowClosed).Offline = 1 }, "node-window", "it is",
		},
		"time that goes back": {
			"ii", func(l *life) {
				l.log = append(l.log, &messages.MaintenanceAnnounced{
					At: at(end(1)), From: at(end(8)), Until: at(end(9)), By: "anna", Reason: "disks",
				})
			}, "node-order", "the clock went back",
		},
		"something of a node that left": {
			"i", func(l *life) {
				l.do(t, core.Force{To: core.Exited, At: end(1), By: "anna", Reason: "sold"})
				l.log = append(l.log, &messages.WindowsVoided{At: at(end(2)), From: at(end(1)), Until: at(end(2))})
			}, "node-order", "not watched",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := lived(t, c.windows)
			c.plant(l)
			judge := downtime.Machine().Judge()
			var found []string
			for _, e := range l.log {
				if !judge.Judge(e, func(rule, format string, args ...any) {
					found = append(found, rule+": "+fmt.Sprintf(format, args...))
				}) {
					t.Fatalf("%T is no event of a node", e)
				}
			}
			if c.rule == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || !strings.HasPrefix(found[0], c.rule) || !strings.Contains(found[0], c.says) {
				t.Errorf("found %q, want one of %s with %q", found, c.rule, c.says)
			}
		})
	}
}

func last(l *life) core.Event { return l.log[len(l.log)-1] }
