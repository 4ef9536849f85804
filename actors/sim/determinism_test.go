package sim

import "testing"

func TestSameSeedGivesTheSameRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"all", "awayAndCrash", "clusterAndCrash", "sectorsAndFaults", "sectorsAndOrders"} {
		sc := Scenarios()[name]
		seen := map[uint64]bool{}
		for seed := range uint64(3) {
			a, b := Run(t, seed, sc), Run(t, seed, sc)
			if a.Trace != b.Trace || a.Steps != b.Steps {
				t.Fatalf("%s, seed %d: two runs differ: %d steps and %d", name, seed, a.Steps, b.Steps)
			}
			seen[a.Trace] = true
		}
		if len(seen) < 3 {
			t.Fatalf("%s: 3 seeds gave only %d different runs", name, len(seen))
		}
	}
}
