package downtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// anyRules draws rules under which something happens within a few dozen windows.
func anyRules(t *rapid.T) downtime.Service {
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	r := downtime.DocumentRules()
	r.RuleSet = rapid.SampledFrom([]downtime.RuleSet{downtime.Document, downtime.Scored}).Draw(t, "rules")
	r.TrackingPeriod = time.Duration(rapid.IntRange(1, 12).Draw(t, "tracking")) * window
	r.GracePeriod = time.Duration(rapid.IntRange(0, 6).Draw(t, "grace")) * window
	r.AllowedOfflinePercentage = downtime.Percentage(rapid.IntRange(0, 100).Draw(t, "allowed") * 100)
	r.RequiredOnlinePercentage = 10_000 - r.AllowedOfflinePercentage
	r.MinimumWindows = uint32(rapid.IntRange(0, 3).Draw(t, "minimum"))
	r.SingleReview, r.ElapsedGaps, r.Evidence = flag("single"), flag("elapsed"), flag("evidence")
	r.Retention = time.Duration(rapid.IntRange(0, 20).Draw(t, "retention")) * window
	r.Disqualification = rapid.SampledFrom([]downtime.Disqualification{
		downtime.Disqualify, downtime.Propose, downtime.Never,
	}).Draw(t, "disqualification")
	r.GuardNodes = 3
	return r
}

// anyAudits draws audits of a number of windows, with corrections.
func anyAudits(t *rapid.T, from, windows int) (all []downtime.Audit) {
	for n := range windows {
		for i := range rapid.IntRange(0, 3).Draw(t, "audits") {
			a := downtime.Audit{
				ID: fmt.Sprint(from+n, i), Source: rapid.SampledFrom([]downtime.Source{1, 2, 3, 4}).Draw(t, "source"),
				Outcome: rapid.SampledFrom([]downtime.Outcome{1, 2, 2, 3}).Draw(t, "outcome"),
				Time:    end(from + n).Add(time.Duration(i) * 7 * time.Minute),
			}
			if all = append(all, a); rapid.IntRange(0, 4).Draw(t, "corrected") == 0 {
				a.Version, a.Outcome = 1, downtime.Online
				all = append(all, a)
			}
		}
	}
	return all
}

func must(t rapid.TB, s downtime.State, c downtime.Command) (downtime.State, []downtime.Event) {
	all, err := downtime.Decide(s, c)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	for _, e := range all {
		s = downtime.Evolve(s, e)
	}
	return s, all
}

// However audits come, in which order, in which parts and how often, the windows are the same.
func TestOrderAndRepetitionOfAuditsDoNotMatter(t *testing.T) { rapid.Check(t, orderDoesNotMatter) }

func orderDoesNotMatter(t *rapid.T) {
	const windows = 10
	rules := anyRules(t)
	rules.Retention = windows * window
	start, _ := must(t, downtime.State{}, downtime.Join{At: began, Rules: rules})
	audits := anyAudits(t, 0, windows)
	want, _ := must(t, start, downtime.Write{At: end(windows), Audits: audits})
	again := slices.Clone(audits)
	again = append(again, again[:rapid.IntRange(0, len(again)).Draw(t, "repeated")]...)
	seed := rapid.Uint64().Draw(t, "order")
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	got := start
	for len(again) > 0 {
		n := rapid.IntRange(1, len(again)).Draw(t, "part")
		got, _ = must(t, got, downtime.Write{At: end(windows), Audits: again[:n]})
		again = again[n:]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-at once +in parts):\n%s", diff)
	}
}

// fleet is a number of nodes, and the events of each.
type fleet struct {
	nodes downtime.Fleet
	log   map[events.Node][]downtime.Event
}

func (f fleet) do(t rapid.TB, node events.Node, c downtime.Command) {
	s, all := must(t, f.nodes[node], c)
	f.nodes[node] = s
	f.log[node] = append(f.log[node], all...)
}

func (f fleet) clone() fleet {
	out := fleet{downtime.Fleet{}, map[events.Node][]downtime.Event{}}
	for node, s := range f.nodes {
		out.nodes[node], out.log[node] = s, slices.Clone(f.log[node])
	}
	return out
}

// Nodes live through a few dozen windows, and the chore runs over them: once, or twice, or it crashes half-way and
// runs again, or two do it at once, each by what it read. The events are always the same, and each can be decided again
// from those before it: no verdict is without the windows that explain it.
func TestAChoreThatRunsTwiceOrCrashesOrHasARivalBringsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules(t)
		f := fleet{downtime.Fleet{}, map[events.Node][]downtime.Event{}}
		for n := range 4 {
			f.do(t, events.Node(fmt.Sprint("node-", n)), downtime.Join{At: began, Rules: rules})
		}
		for now := 0; now < 40; {
			n := rapid.IntRange(1, 4).Draw(t, "windows")
			for _, node := range []events.Node{"node-0", "node-1", "node-2", "node-3"} {
				audits := anyAudits(t, now, n)
				if rapid.IntRange(0, 9).Draw(t, "slept") == 0 {
					f.do(t, node, downtime.Void{At: end(now + n), From: end(now).Add(1), Until: end(now + n), Reason: "slept"})
				}
				f.do(t, node, downtime.Write{At: end(now + n), Audits: audits})
			}
			now += n
			f = ran(t, rules, f, end(now))
		}
		for node, log := range f.log {
			explained(t, node, log)
		}
	})
}

func ran(t *rapid.T, rules downtime.Service, f fleet, at time.Time) fleet {
	runs, err := rules.Chore(f.nodes, at)
	if err != nil {
		t.Fatal(err)
	}
	once, crashed := f.clone(), f.clone()
	for i, r := range runs {
		for k, c := range r.Commands {
			once.do(t, r.Node, c)
			if half := i < len(runs)/2; half || i == len(runs)/2 && k == 0 {
				crashed.do(t, r.Node, c)
			}
		}
	}
	again, err := rules.Chore(crashed.nodes, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range [][]downtime.Run{again, runs} { // What is left, and once more what a rival believes is left.
		for _, r := range rest {
			for _, c := range r.Commands {
				crashed.do(t, r.Node, c)
			}
		}
	}
	for node := range f.nodes {
		if diff := cmp.Diff(once.nodes[node], crashed.nodes[node]); diff != "" {
			t.Fatalf("%s (-once +crashed):\n%s", node, diff)
		}
		if len(once.log[node]) != len(crashed.log[node]) {
			t.Fatalf("%s has %d events, after a crash %d", node, len(once.log[node]), len(crashed.log[node]))
		}
	}
	if left, err := rules.Chore(once.nodes, at); err != nil || len(left) > 0 {
		t.Fatalf("a second run does %v, %v", left, err)
	}
	return once
}

// explained decides each event again, from the stored form of those before it; and counts the windows of each
// verdict of the document by themselves.
func explained(t rapid.TB, node events.Node, log []downtime.Event) {
	codec, s := events.NewCodec(downtime.Table()), downtime.State{}
	for i, e := range log {
		e = stored(codec, e)
		all, err := downtime.Decide(s, downtime.Asked(e))
		if err != nil || len(all) == 0 || !proto.Equal(all[0], e) {
			t.Fatalf("%s, event %d is %v, decided again %v: %v", node, i, e, all, err)
		}
		if v, ok := e.(interface{ GetVerdict() *messages.NodeVerdict }); ok {
			counted(t, s, v.GetVerdict(), downtime.At(e))
		}
		s = downtime.Evolve(s, e)
	}
}

// counted is the verdict in the plainest form.
func counted(t rapid.TB, s downtime.State, v *messages.NodeVerdict, at time.Time) {
	var offline, windows uint32
	until := at.Unix() / 1800 * 1800
	for _, w := range s.Windows {
		n, _ := s.Counted(w)
		if w.Start < until-int64(s.Rules.TrackingPeriod/time.Second) || w.Start >= until || n.Total() == 0 {
			continue
		}
		windows++
		if n.Online == 0 {
			offline++
		}
	}
	if v.GetOffline() != offline || v.GetWindows() != windows {
		t.Fatalf("the verdict at %s says %v, there are %d of %d", at, v, offline, windows)
	}
}

func FuzzOrderOfAudits(f *testing.F) { f.Fuzz(rapid.MakeFuzz(orderDoesNotMatter)) }

// FuzzDecode feeds stored events: whatever the codec takes folds, and is judged, without a panic.
func FuzzDecode(f *testing.F) {
	codec := events.NewCodec(downtime.Table())
	for e := range codec.Entries() {
		_, _, data, err := codec.Encode(e.Example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Name, data)
	}
	start := downtime.Evolve(downtime.State{}, &messages.NodeJoined{
		At: events.TimeToMessage(began), Rules: codecRules(f, codec),
	})
	f.Fuzz(func(_ *testing.T, name string, data []byte) {
		m, err := codec.Decode(events.Recorded{Type: name, Data: data})
		if err != nil {
			return
		}
		for _, s := range []downtime.State{{}, start} {
			s = downtime.Evolve(s, m.(downtime.Event))
			s = downtime.Evolve(s, m.(downtime.Event))
			_, _ = downtime.Decide(s, downtime.Asked(m.(downtime.Event)))
			if s.Rules.Check() == nil && s.Rules.TrackingPeriod <= 100*s.Rules.WindowLength {
				s.Judge(s.Latest)
				s.Warning(s.Latest)
				s.Return(s.Latest)
			}
		}
	})
}

func codecRules(f *testing.F, codec *events.Codec) *messages.NodeRules {
	for e := range codec.Entries() {
		if m, ok := e.Example.(*messages.NodeJoined); ok {
			return m.GetRules()
		}
	}
	f.Fatal("no example has rules")
	return nil
}
