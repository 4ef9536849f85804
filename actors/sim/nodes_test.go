package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// A simulation proves nothing about verdicts unless there are some of each kind.
func TestSimulatedNodesAreSuspendedReinstatedAndDisqualified(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(4) {
		out := Run(t, 1+seed, Scenarios()[[]string{"nodes", "nodesWatched"}[seed%2]])
		if out.Problem != nil {
			t.Fatal(out.Problem)
		}
		for _, e := range out.Record {
			if strings.Contains(string(e.Data), "proof:") {
				seen["audits of proofs"]++
			}
		}
		for name, n := range out.Events {
			seen[name] += n
		}
	}
	for _, name := range []string{
		"WindowClosed", "WindowsVoided", "NodeSuspended", "NodeReinstated", "NodeDisqualified",
		"audits of proofs",
	} {
		if seen[name] == 0 {
			t.Errorf("no %s in %v", name, seen)
		}
	}
}

// nodePlants are errors planted in how nodes are judged.
func nodePlants() map[string]planted {
	with := func(name string, decide func(downtime.State, downtime.Command) ([]downtime.Event, error)) Scenario {
		sc := Scenarios()[name]
		sc.Plant.Node = decide
		return sc
	}
	return map[string]planted{
		"windows are judged that are not over":          {breaks: HistoryMakesSense, sc: with("nodes", judgesTooSoon)},
		"a later audit moves the clock of a suspension": {breaks: VerdictsAreInTime, sc: with("nodesWatched", movesTheClock)},
		"what the watcher slept through counts":         {breaks: NobodyIsAccused, sc: with("nodes", countsItsSleep)},
	}
}

func judgesTooSoon(s downtime.State, c downtime.Command) ([]downtime.Event, error) {
	j, judges := c.(downtime.Judge)
	if !judges {
		return downtime.Decide(s, c)
	}
	j.At = j.At.Add(nodeWindow)
	decided, err := downtime.Decide(s, j)
	for _, e := range decided {
		if m, ok := e.(*messages.NodeSuspended); ok {
			m.At.Seconds -= int64(nodeWindow / time.Second)
		}
	}
	return decided, err
}

func movesTheClock(s downtime.State, c downtime.Command) ([]downtime.Event, error) {
	if n := len(s.Windows); n > 0 && !s.SuspendedAt.IsZero() {
		s.SuspendedAt = time.Unix(s.Windows[n-1].Start, 0)
	}
	return downtime.Decide(s, c)
}

func countsItsSleep(s downtime.State, c downtime.Command) ([]downtime.Event, error) {
	if _, void := c.(downtime.Void); void {
		return nil, nil
	}
	return downtime.Decide(s, c)
}
