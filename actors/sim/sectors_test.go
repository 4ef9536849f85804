package sim

import "testing"

// sectorCalls are all calls that the sectors of a host make on the world, by the names under which they park.
var sectorCalls = []string{
	"sealer.addPiece", "sealer.pack", "sealer.preCommit1", "sealer.preCommit2", "sealer.commit", "sealer.finalize",
	"sealer.restore", "sealer.challenge", "sealer.remove", "pieces.open",
	"provider.head", "provider.final", "provider.ticket", "provider.sector", "provider.sectors", "provider.window",
	"provider.seed", "provider.preCommit", "provider.pinSeed", "provider.commit", "provider.possession",
	"provider.declareFaults", "provider.declareRecoveries", "provider.terminate", "provider.settle",
}

// liesOfSealers are the calls whose results a lying sealer falsifies; its other calls return none.
var liesOfSealers = []string{
	"sealer.pack", "sealer.preCommit1", "sealer.preCommit2", "sealer.commit", "sealer.challenge",
}

// A simulation that survives says nothing about a fault that never occurred.
func TestEveryFaultOccursAtEveryCallOfSectors(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests the simulator, and takes long; the race detector has nothing to find in it")
	}
	t.Parallel()
	often := Scenario{
		Fail: 40, Lose: 40, Delay: 40, Twice: 40, Die: 30, Reorganize: 6, Depth: 12, Requests: 1, MaxSteps: 6_000,
		Sectors: Sectors{Begin: 8, Damage: 10, Orders: 300, ProviderDown: 3},
	}
	troubled := Scenario{
		Reorganize: 2, Requests: 1, MaxSteps: 6_000, Sectors: Sectors{
			Begin: 5, SealerAway: 2, SealerHangs: 4, SealerLies: 4, ProviderDown: 2, Damage: 10, Orders: 100,
		},
	}
	// Beside a call that is rare itself, such as those about faults, the host is seldom killed elsewhere.
	dying := Scenario{Die: 60, Requests: 1, MaxSteps: 6_000, Sectors: Sectors{Begin: 8, Damage: 20, Orders: 400}}
	// Some calls are few in a life, such as those at its end.
	few := Scenario{
		Fail: 150, Lose: 150, Delay: 150, Twice: 150, Requests: 1, MaxSteps: 6_000,
		Sectors: Sectors{Begin: 8, Damage: 10, Orders: 300},
	}
	seen := map[Fault]int{}
	missing := func() (list []Fault) {
		want := []Fault{
			{sealerAway, "world"},
			{sealerLies, "world"},
			{providerDown, "world"},
			{sectorDamage, "world"},
			{sectorOrder, "terminate"},
			{sectorOrder, "remove"},
			{sectorOrder, "force"},
			{sectorOrder, "restart"},
		}
		for _, at := range sectorCalls {
			for _, kind := range []string{faultError, faultLost, faultDelay, faultDuplicate, faultCrashBefore, faultCrashAfter} {
				want = append(want, Fault{kind, at})
			}
			if isSealer(at) {
				want = append(want, Fault{sealerHangs, at})
			}
		}
		for _, at := range liesOfSealers {
			want = append(want, Fault{faultLie, at})
		}
		for _, f := range want {
			if seen[f] == 0 {
				list = append(list, f)
			}
		}
		return list
	}
	const most = 300
	seed := uint64(0)
	for ; seed < most && len(missing()) > 0; seed++ {
		sc := often
		switch seed % 4 {
		case 1:
			sc = dying
		case 2:
			sc = few
		case 3:
			sc = troubled
		}
		for f, n := range Run(t, seed, sc).Faults { // Other tests check how the runs end.
			seen[f] += n
		}
	}
	for _, f := range missing() {
		t.Errorf("in %d seeds there was no %s at %s", most, f.Kind, f.Where)
	}
	t.Logf("%d seeds", seed)
}
