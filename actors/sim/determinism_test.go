package sim

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// Scenarios with panics are left out: messages are counted under a lock there, which is taken in no fixed order.
func TestSameSeedGivesTheSameRun(t *testing.T) {
	t.Parallel()
	many := uint64(2)
	if testing.Short() {
		many = 1
	}
	for _, name := range []string{
		"all", "awayAndCrash", "clusterAndCrash", "sectors", "sectorsAndFaults", "sectorsAndReorgs", "sectorsAndOrders",
		"members", "membersApart", "membersAndFaults", "aggregation", "aggregationAndFaults",
	} {
		sc := Scenarios()[name]
		seen := map[uint64]bool{}
		for seed := range many {
			a, b := Run(t, seed, sc), Run(t, seed, sc)
			if a.Trace != b.Trace || a.Steps != b.Steps {
				t.Fatalf("%s, seed %d: two runs differ: %d steps and %d", name, seed, a.Steps, b.Steps)
			}
			if len(a.Record) != len(b.Record) {
				t.Fatalf("%s, seed %d: one run recorded %d events, the other %d", name, seed, len(a.Record), len(b.Record))
			}
			for i, e := range a.Record {
				if !sameEvent(e, b.Record[i]) {
					t.Fatalf("%s, seed %d: event %d of the log differs:\n%s\n%s", name, seed, i, shown(e), shown(b.Record[i]))
				}
			}
			seen[a.Trace] = true
		}
		if len(seen) < int(many) {
			t.Fatalf("%s: %d seeds gave only %d different runs", name, many, len(seen))
		}
	}
}

func sameEvent(a, b events.Recorded) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Position == b.Position &&
		a.Type == b.Type && bytes.Equal(a.Data, b.Data) && a.Meta == b.Meta && a.Recorded.Equal(b.Recorded)
}

func shown(e events.Recorded) string {
	return fmt.Sprintf("%s, revision %d, at %s: %s %s, cause %q", e.Stream, e.Revision, e.Recorded, e.Type, e.Data, e.Meta.Cause)
}
