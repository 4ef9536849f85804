package downtime

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

const window = 30 * time.Minute

var (
	began = events.Unix(1_700_006_400) // 2023-11-15 00:00:00Z
	me    = events.Address{0xaa}
)

func end(windows int) time.Time { return began.Add(time.Duration(windows) * window) }

// tenWindows are rules with a tracking period of ten windows.
func tenWindows(change func(*core.Service)) core.Service {
	r := core.DocumentRules()
	r.TrackingPeriod, r.GracePeriod = 10*window, 2*window
	if change != nil {
		change(&r)
	}
	return r
}

// life is what was recorded of a node that was judged after each of its windows: o is offline, i is online, b is both,
// - is none; then came more commands.
func life(t *testing.T, rules core.Service, windows string, more ...core.Command) (log []core.Event) {
	t.Helper()
	commands := []core.Command{core.Join{At: began, Rules: rules}}
	for n, c := range windows {
		w := core.Write{At: end(n + 1)}
		for i, outcome := range []core.Outcome{core.Offline, core.Online} {
			if c == 'b' || c == rune("oi"[i]) {
				w.Audits = append(w.Audits, core.Audit{
					ID: fmt.Sprint(n, i), Source: core.Probe, Outcome: outcome, Time: end(n),
				})
			}
		}
		commands = append(commands, w, core.Judge{At: w.At})
	}
	var s core.State
	for _, c := range append(commands, more...) {
		all, err := core.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range all {
			s = core.Evolve(s, e)
		}
		log = append(log, all...)
	}
	return log
}

// reading answers from the view of such nodes.
func reading(nodes map[events.Node][]core.Event) reader {
	v := view.Machine().View()
	for node, log := range nodes {
		for _, e := range log {
			v.Fold(events.Recorded{Stream: events.NodeStream(me, node)}, e)
		}
	}
	return reader{api.Reading{Account: me, Rows: func(string) any { return v.Rows() }}}
}

func TestANodeIsExplained(t *testing.T) {
	maintain := func(until int) core.Maintain {
		return core.Maintain{At: end(10), From: end(20), Until: end(until), By: "anna", Reason: "a new disk"}
	}
	force := func(to core.Status) core.Force {
		return core.Force{At: end(10), To: to, By: "anna", Reason: "it lies"}
	}
	const up = "iiiiiiiiii"
	for name, c := range map[string]struct {
		change  func(*core.Service)
		windows string
		more    []core.Command
		from    time.Time
		want    []string
	}{
		"the strip": {
			nil, "iibo-iiiii",
			[]core.Command{core.Void{At: end(10), From: end(6), Until: end(7), Reason: "slept"}},
			time.Time{},
			[]string{
				"  2023-11-15 00:00:00Z  ++*-.+~+++  2023-11-15 05:00:00Z",
				"of 10 windows 8 have audits that count, and 1 are void; the rule set is document",
				"by document: 1 of 9 windows offline, 1 of them void: 0.111111, at most 20.00 % may be",
				"by scored: 1 of 9 windows offline, 1 of them void: 0.833333, online on average at least 60.00 %",
			},
		},
		"what is left": {
			nil, "iiiiiiiiio", nil,
			time.Time{},
			[]string{"1 of 10 windows offline, 2 more and it is suspended: if it is offline from now on, at 2023-11-15 06:00:00Z"},
		},
		"suspended": {
			nil, "iiiiiiiooo", nil, time.Time{}, []string{
				"at most 20.00 % may be; offending",
				"disqualified at 2023-11-15 10:30:00Z unless online from 2023-11-15 06:30:00Z on; reinstated at " +
					"2023-11-15 09:00:00Z if online from now on",
			},
		},
		"nobody is disqualified": {
			func(r *core.Service) { r.Disqualification = core.Never }, "iiiiiiiooo", nil,
			time.Time{},
			[]string{"disqualified at - unless online from - on"},
		},
		"a review that goes on": {
			func(r *core.Service) { r.SingleReview = true }, "iiiiiiiooo" + "iiiiiiii", nil,
			time.Time{},
			[]string{"under review since 2023-11-15 04:30:00Z, until 2023-11-15 10:30:00Z"},
		},
		"a person suspended it": {nil, up, []core.Command{force(core.Suspended)}, time.Time{}, []string{"only a person"}},
		"disqualified":          {nil, up, []core.Command{force(core.Disqualified)}, time.Time{}, []string{"judged no more"}},
		"nobody is suspended": {
			func(r *core.Service) { r.SuspensionOff = true }, up, nil, time.Time{}, []string{"however long"},
		},
		"any number may be offline": {
			func(r *core.Service) { r.AllowedOfflinePercentage = 10_000 }, up, nil, time.Time{}, []string{"however long"},
		},
		"offending, and not judged": {
			nil, "i", []core.Command{core.Write{At: end(3), Audits: offline(1, 2)}}, time.Time{}, []string{"judged again"},
		},
		"a maintenance": {
			nil, up, []core.Command{maintain(22)}, time.Time{}, []string{
				"from 2023-11-15 10:00:00Z on you may be away 1 h 0 min: 2 of 10",
				"announced by anna: away from 2023-11-15 10:00:00Z until 2023-11-15 11:00:00Z: a new disk",
			},
		},
		"a long one": {nil, up, []core.Command{maintain(23)}, time.Time{}, []string{"too long: offline after 2023-11-15 11:00:00Z"}},
		"one that is thought of": {
			nil, up, nil, end(12),
			[]string{"from 2023-11-15 06:00:00Z on you may be away 1 h 0 min", "nothing is announced"},
		},
		"one that is far away": {nil, up, nil, end(1_000), []string{"away 1 h 0 min: 2 of 10"}},
		"one that should have begun": {
			nil, "iiiiiiiiio", nil, end(2), []string{"from 2023-11-15 05:00:00Z on you may be away 0 h 30 min: 2 of 10"},
		},
		"one of who is judged no more": {nil, up, []core.Command{force(core.Disqualified)}, end(12), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading(map[events.Node][]core.Event{"north": life(t, tenWindows(c.change), c.windows, c.more...)})
			shown, err := r.show(t.Context(), OfNode{Node: "North", From: c.from})
			if err != nil {
				t.Fatal(err)
			}
			says := strings.Join(shown.Says, "\n")
			for _, want := range c.want {
				if !strings.Contains(says, want) {
					t.Errorf("%s\ndoes not say: %s", says, want)
				}
			}
			if strings.Contains(says, "too long") != (name == "a long one") {
				t.Error(says)
			}
		})
	}
	if _, err := reading(nil).show(t.Context(), OfNode{Node: "east"}); !errors.Is(err, core.ErrNotJoined) {
		t.Errorf("a node that nobody watches: %v", err)
	}
}

// offline are audits of windows.
func offline(windows ...int) (all []core.Audit) {
	for _, n := range windows {
		all = append(all, core.Audit{ID: fmt.Sprint("late", n), Source: core.Probe, Outcome: core.Offline, Time: end(n)})
	}
	return all
}

func TestTheRulesInForceAreThoseOfWhoIsJudged(t *testing.T) {
	other := tenWindows(func(r *core.Service) { r.RuleSet = core.Scored })
	gone := core.Force{At: end(1), To: core.Exited, By: "anna", Reason: "sold"}
	r := reading(map[events.Node][]core.Event{
		"a": life(t, tenWindows(nil), "i"), "b": life(t, other, "i"), "c": life(t, tenWindows(nil), "i"),
		"d": life(t, core.DocumentRules(), "i", gone),
	})
	got, err := r.rules(t.Context(), api.Then{})
	want := []Rules{{[]string{"a", "c"}, tenWindows(nil)}, {[]string{"b"}, other}}
	if diff := cmp.Diff(want, got.Rules); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	all, err := r.list(t.Context(), api.Then{})
	if err != nil || len(all.Nodes) != 4 || len(all.Nodes[0].Windows) != 0 || len(r.rows()[0].Windows) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestEachRuleHasItsFlag(t *testing.T) {
	rules, flags := core.ScoredRules(), 0
	blank := core.Service{}
	into := settings(&blank)
	settings(&rules).VisitAll(func(f *pflag.Flag) {
		flags++
		if err := into.Set(f.Name, f.Value.String()); err != nil {
			t.Error(err)
		}
	})
	if blank != rules || flags != 16 {
		t.Errorf("by %d flags %+v, want %+v", flags, blank, rules)
	}
}

// fakeRoom is a backend that takes orders and remembers them; it refuses those about a node of this name.
type fakeRoom struct {
	*api.Offline
	refuses events.Node
	got     []core.Command
}

func (f *fakeRoom) Order(_ context.Context, o nodes.Order) error {
	f.got = append(f.got, o.Command(time.Time{}))
	if o.Node == f.refuses {
		return core.ErrUnderReview
	}
	return nil
}

func TestOrdersReachTheRoom(t *testing.T) {
	direct, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: t.TempDir(), Account: me, Machines: []api.Machine{API()}}, Create: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	room := &fakeRoom{Offline: direct, refuses: "south"}
	socket := filepath.Join(t.TempDir(), "socket")
	server, err := api.Listen(socket, room, logrus.NewEntry(logrus.New()))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := api.NewClient(socket)
	defer client.Close()
	for name, c := range map[string]struct {
		order Ordered
		want  core.Command
		err   error
	}{
		"suspend":    {Ordered{Verb: "suspend"}, core.Force{To: core.Suspended, By: "anna", Reason: "x"}, nil},
		"reinstate":  {Ordered{Verb: "reinstate"}, core.Force{To: core.Active, By: "anna", Reason: "x"}, nil},
		"disqualify": {Ordered{Verb: "disqualify"}, core.Force{To: core.Disqualified, By: "anna", Reason: "x"}, nil},
		"exit":       {Ordered{Verb: "exit"}, core.Force{To: core.Exited, By: "anna", Reason: "x"}, nil},
		"maintenance": {
			Ordered{Verb: "maintenance", Body: Decision{From: end(1), Until: end(2)}},
			core.Maintain{From: end(1), Until: end(2), By: "anna", Reason: "x"},
			nil,
		},
		"a refusal":        {Ordered{Verb: "exit", Node: "south"}, core.Force{To: core.Exited, By: "anna", Reason: "x"}, core.ErrUnderReview},
		"no such node":     {Ordered{Verb: "exit", Node: "No Node"}, nil, core.ErrNotJoined},
		"no such order":    {Ordered{Verb: "promote"}, nil, problem.ErrBadRequest},
		"ends and begins":  {Ordered{Verb: "maintenance", Body: Decision{From: end(2), Until: end(2)}}, nil, problem.ErrBadRequest},
		"a missing moment": {Ordered{Verb: "maintenance", Body: Decision{From: end(2)}}, nil, problem.ErrBadRequest},
	} {
		o := c.order
		o.Body.By, o.Body.Reason = "anna", "x"
		if o.Node == "" {
			o.Node = "north"
		}
		for where, b := range map[string]api.Backend{"here": room, "over the socket": client} {
			room.got = nil
			if _, err := OrderNode.Ask(t.Context(), b, o); !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %v, want %v", name, where, err, c.err)
			}
			var want []core.Command
			if c.want != nil {
				want = []core.Command{c.want}
			}
			if diff := cmp.Diff(want, room.got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, where, diff)
			}
		}
	}
	_, err = OrderNode.Ask(t.Context(), direct, Ordered{Node: "north", Verb: "exit"})
	if !errors.Is(err, problem.ErrNotRunning) {
		t.Errorf("an order without a host: %v", err)
	}
}
