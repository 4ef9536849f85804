package audit

import (
	"testing"

	"github.com/hostnode/hostnode/actors/sim"
)

// What the real actors write is in order, whatever happens to them: every
// writer's causes have one of the known forms, and its ids can be computed again.
func TestWhatTheActorsWriteIsInOrder(t *testing.T) {
	for name, sc := range map[string]sim.Scenario{
		"quiet":   {},
		"faults":  {Fail: 60, Lose: 60, Repeat: 20},
		"crashes": {Fail: 20, Lose: 20, Crash: 8, Stop: 2, StoreDown: 2},
		"reorgs":  {Reorganize: 4, Fail: 10},
		"rivals":  {Rival: 5, Requests: 3, Slots: 3, Pause: 5},
		"full":    {MaxQueued: 2, Requests: 5, Slots: 3, BadContent: true},
		"forgets": {Forget: 10, Requests: 3},
		"spoilt":  {FailEveryNProofs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var sales uint64
			for seed := uint64(1); seed <= 2; seed++ { // In one of them the rivals may have all.
				out := sim.Run(t, seed, sc)
				if out.Problem != nil { // For the simulation's own tests; the record is in order even so.
					t.Logf("the run ended with %v", out.Problem)
				}
				report := audited(t, &record{list: out.Record}, Options{filterBits: 1 << 12})
				sales += report.Sales
				for _, f := range report.Findings {
					if f.Severity == Error {
						t.Errorf("%v", f)
					} else {
						t.Logf("%v", f)
					}
				}
			}
			if sales == 0 {
				t.Fatal("nothing was sold")
			}
		})
	}
}
