package sim

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"
)

// panicsOfAll is a scenario in which every actor receives every kind of message.
func panicsOfAll(seed uint64) Scenario {
	return Scenario{
		Panic: 20, Poison: 2, Block: blockInLoops, Requests: 3, Slots: 3, MaxSteps: 2_000,
		Rival: 2, Stop: 1, Crash: 1, Reorganize: 1, StoreAway: 1, Pause: 2, Validator: seed%2 == 0,
	}
}

// A simulation proves little about a panic that never occurred in it.
func TestAPanicOccursAtEachMessageOfEachActor(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about the simulator, and long; the race detector has nothing to find in it")
	}
	t.Parallel()
	met, seen := map[encounter]int{}, map[Fault]int{}
	run := func(seed uint64, aim *encounter) {
		sc := panicsOfAll(seed)
		sc.aim = aim
		out := Run(t, seed, sc) // Whether it ends well is checked by other tests; this run is short.
		if b, ok := errors.AsType[*Broken](out.Problem); ok && b.Invariant == HostLives {
			t.Errorf("seed %d, panic at %v: %v", seed, aim, b)
		}
		for f, n := range out.Faults {
			seen[f] += n
		}
		for e, n := range out.met {
			met[e] += n
		}
	}
	for seed := range uint64(30) {
		run(seed, nil)
	}
	actors := map[string]bool{}
	byName := func(a, b encounter) int { return cmp.Compare(a.String(), b.String()) }
	for _, e := range slices.SortedFunc(maps.Keys(met), byName) {
		actors[e.actor] = true
		for seed := uint64(100); seen[Fault{faultPanic, e.String()}] == 0; seed++ {
			if seed == 160 {
				t.Errorf("no panic at %s, which was met %d times", e, met[e])
				break
			}
			run(seed, &e)
		}
	}
	want := []string{
		"ProofScheduler", "Reservations", "SalesAgent", "SlotQueue", "SlotWorker", "Supervisor", "Validator",
	}
	if have := slices.Sorted(maps.Keys(actors)); !slices.Equal(have, want) {
		t.Errorf("actors that panicked: %q", have)
	}
	for _, rule := range []string{poisonedQueue, poisonedLedger, poisonedSale, poisonedDuties} {
		if seen[Fault{faultPoison, rule}] == 0 {
			t.Errorf("nothing poisoned the %s", rule)
		}
	}
	t.Logf("%d kinds of messages", len(met))
}
