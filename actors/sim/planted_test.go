package sim

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// plantedWithin is within how many seeds an error must be found.
const plantedWithin = 20

// planted is an error and the invariant that it breaks.
type planted struct {
	breaks string
	sc     Scenario
	cores  actors.Cores
	view   func() View
}

// plants returns errors that break every invariant at least once.
func plants() map[string]planted {
	all := map[string]planted{
		"the store keeps something else than it was given": {
			breaks: ReplayIsLive, sc: Scenario{Plant: Plant{Altering: true}},
		},
		"an event cannot be stored": {
			breaks: EvolveAccepts, cores: actors.Cores{DecideSale: namesNoChallenge},
		},
		"an answer that comes twice counts twice": {
			breaks: TwiceIsOnce, cores: actors.Cores{DecideSale: extendsAgain},
		},
		"a sale that is over wants to delete": {
			breaks: FinishedRests, cores: actors.Cores{NextSale: neverRests},
		},
		"more is reserved than there is": {
			breaks: LedgerBalances, cores: actors.Cores{DecideCapacity: reservesTooMuch},
		},
		"a reservation is made that nobody releases": {
			breaks: ReleasedOnce, cores: actors.Cores{DecideCapacity: reservesForNobody},
		},
		"the slot is freed before that is decided": {
			breaks: StoredBeforeSent, sc: Scenario{Slots: 3, Rival: 2}, cores: actors.Cores{NextSale: freesWhatItHosts},
		},
		"everything goes on while the store is away": {
			breaks: StoredBeforeSent, sc: Scenario{StoreAway: 10},
			cores: actors.Cores{IsDuty: func(sale.Effect) bool { return true }},
		},
		"a miss is never recorded": {
			breaks: ProofsAccounted, sc: Scenario{Fail: 300, Block: 200},
			cores: actors.Cores{DecideSale: callsMissesSubmitted},
		},
		"a miss is never recorded behind a reorganisation": {
			breaks: ProofsAccounted, sc: Scenario{Fail: 300, Block: 200, Reorganize: 10},
			cores: actors.Cores{DecideSale: callsMissesSubmitted},
		},
		"proofs wait until the store is back": {
			breaks: NothingMissed, sc: Scenario{StoreAway: 6, Block: 30, Punctual: true},
			cores: actors.Cores{IsDuty: func(sale.Effect) bool { return false }},
		},
		"damaged data is never repaired": {
			breaks: NothingMissed, sc: Scenario{BitRot: 8, Block: 30, Punctual: true},
			cores: actors.Cores{NextSale: neverRepairs},
		},
		"a repair mends nothing": {
			breaks: NothingMissed, sc: Scenario{BitRot: 8, Block: 30, Punctual: true, Plant: Plant{Lying: true}},
		},
		"proofs are left out between crashes": {
			breaks: NothingMissed, sc: Scenario{CrashLoop: 10, Block: blockInLoops, Chance: chanceInLoops},
			cores: actors.Cores{NextSale: neverProves},
		},
		"the supervisor falls with its child": {
			breaks: HostLives, sc: Scenario{Panic: 20, Plant: Plant{Brittle: true}},
		},
		"proofs are left out between panics": {
			breaks: NothingMissed, sc: Scenario{Panic: 15, Block: blockInLoops, Chance: chanceInLoops},
			cores: actors.Cores{NextSale: neverProves},
		},
		"a receipt is believed whatever it says": {
			breaks: NothingImpossible, sc: Scenario{Lies: 20}, cores: actors.Cores{DecideSale: believesAnything},
		},
		"a view passes over what it should fold": {
			breaks: ViewIsRebuilt, view: func() View { return &carelessView{newView()} },
		},
		"the reward is recorded too high": {
			breaks: TokensAccounted, cores: actors.Cores{DecideSale: boasts},
		},
		"the token burns what is paid out": {breaks: TokensConserved, sc: Scenario{Plant: Plant{Leaky: true}}},
		"the market fills when the request expires": {
			breaks: FillAtExpiry, sc: Scenario{Plant: Plant{Faithless: true}},
		},
		"the host frees what it hosts, and the market sends that": {
			breaks: FreedWhileFilled, sc: Scenario{Plant: Plant{Reckless: true}},
			cores: actors.Cores{NextSale: freesWhatItHosts},
		},
		"the data is deleted while the slot runs": {
			breaks: HostedDataIsKept, cores: actors.Cores{NextSale: deletesWhatItHosts},
		},
		"the ledger forgets the overhead": {
			breaks: DiskIsLedger, cores: actors.Cores{DecideCapacity: forgetsOverhead},
		},
		"a start overlooks a sale": {breaks: StartFindsSales, sc: Scenario{Plant: Plant{Forgetful: true}}},
		"the queue takes more than fits": {
			breaks: QueueIsInOrder, sc: Scenario{MaxQueued: 2, Requests: 5, Slots: 3},
			cores: actors.Cores{DecideQueue: neverEvicts},
		},
		"bytes come back before the data is deleted": {
			breaks: HistoryMakesSense, cores: actors.Cores{NextSale: settlesBeforeDeleting},
		},
		"the ledger returns too much collateral": {
			breaks: HistoryMakesSense, sc: Scenario{Block: 300, Fail: 100, Requests: 3},
			cores: actors.Cores{DecideCapacity: returnsWhatWasLost},
		},
		"the ledger passes over what may be at risk": {
			breaks: PolicyIsKept, sc: Scenario{Requests: 4, Policy: Policy{MaxAtRisk: 4 * uint64(events.BlockSize)}},
			cores: actors.Cores{DecideCapacity: risksEverything},
		},
		"the ledger passes over a quota that was lowered": {
			breaks: PolicyIsKept, sc: Scenario{Requests: 4, Crash: 10, Policy: Policy{Quotas: true}},
			cores: actors.Cores{DecideCapacity: forgetsTheQuota},
		},
		"a refusal with the code of success is taken for one": {
			breaks: AcknowledgedIsStored, sc: Scenario{Cluster: 10, Plant: Plant{Credulous: true}},
		},
		"a repeated append has grown": {
			breaks: OwnWritesStand, sc: Scenario{Cluster: 10, Lose: 20, Plant: Plant{Growing: true}},
		},
		"a follower that stands still is read": {
			breaks: AcknowledgedIsShown, sc: Scenario{Cluster: 10, Crash: 4, Plant: Plant{Follower: true}},
		},
		"a loss is named in part": {
			breaks: LossIsNamed, sc: Scenario{Older: 10, Plant: Plant{Vague: true}},
		},
		"an older record is sold on at once": {
			breaks: PausedAfterLoss, sc: Scenario{Older: 10, Requests: 4, Plant: Plant{Eager: true}},
		},
		"a sale cannot go on": {
			breaks: NothingQuarantined, cores: actors.Cores{DecideSale: stumbles},
		},
	}
	maps.Copy(all, sectorPlants())
	maps.Copy(all, nodePlants())
	maps.Copy(all, alertPlants())
	maps.Copy(all, aggregationPlants())
	maps.Copy(all, memberPlants())
	return all
}

// A simulation that finds nothing proves little. Each of these hosts, or worlds,
// has one error; a few seeds must find it, and name the invariant that it breaks.
func TestTheSimulationFindsAPlantedError(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about the simulator, and long; the race detector has nothing to find in it")
	}
	shown := map[string]bool{}
	for name, p := range plants() {
		shown[p.breaks] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.sc.Cores, p.sc.MaxSteps, p.sc.NewView = p.cores, 6_000, p.view
			var others []string
			for seed := range uint64(plantedWithin) {
				out := Run(t, seed, p.sc)
				broke := brokenBy(out.Problem)
				if slices.Contains(broke, p.breaks) {
					t.Logf("seed %d, step %d: %.200s", seed, out.Steps, out.Problem)
					return
				}
				others = append(others, broke...)
			}
			t.Fatalf("%d seeds did not find it, but %q", plantedWithin, others)
		})
	}
	for _, invariant := range Invariants() {
		if !shown[invariant] {
			t.Errorf("no planted error breaks %q", invariant)
		}
	}
}

// brokenBy returns the invariants that a problem names.
func brokenBy(err error) (names []string) {
	if b, ok := errors.AsType[*Broken](err); ok {
		names = append(names, b.Invariant)
	}
	switch u := err.(type) { //nolint:errorlint // Every branch of the tree is visited.
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			names = append(names, brokenBy(e)...)
		}
	case interface{ Unwrap() error }:
		names = append(names, brokenBy(u.Unwrap())...)
	}
	return names
}

// What the rules are replaced with.

func namesNoChallenge(s sale.State, c sale.Command) ([]sale.Event, error) {
	decided, err := sale.Decide(s, c)
	for _, e := range decided {
		if m, ok := e.(*messages.ProofDue); ok {
			m.Challenge = "none"
		}
	}
	return decided, err
}

func extendsAgain(s sale.State, c sale.Command) ([]sale.Event, error) {
	if c, ok := c.(sale.ReportExtended); ok && s.Phase == sale.Proving {
		return []sale.Event{&messages.DataLifetimeExtended{
			At: events.TimeToMessage(c.At), Until: events.TimeToMessage(c.Until),
		}}, nil
	}
	return sale.Decide(s, c)
}

func neverRests(s sale.State) []sale.Effect {
	if s.Over() {
		return []sale.Effect{sale.DeleteData{Attempt: s.Attempt}}
	}
	return sale.Next(s)
}

func reservesTooMuch(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	decided, err := capacity.Decide(s, c)
	for _, e := range decided {
		if m, ok := e.(*messages.ReservationCreated); ok {
			m.Bytes = uint64(2 * offerSize)
		}
	}
	return decided, err
}

func reservesForNobody(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	decided, err := capacity.Decide(s, c)
	if r, ok := c.(capacity.Reserve); ok && len(decided) == 1 && r.SlotIndex == 0 {
		r.Slot[0]++
		phantom, _ := capacity.Decide(s, r)
		decided = append(decided, phantom...)
	}
	return decided, err
}

func settlesBeforeDeleting(s sale.State) []sale.Effect {
	if s.Ended() && !s.OnChain && !s.Deleted && !s.Over() {
		returned, lost := s.Settlement()
		return []sale.Effect{
			sale.Settle{Attempt: s.Attempt, Returned: returned, Lost: lost},
			sale.DeleteData{Attempt: s.Attempt},
		}
	}
	return sale.Next(s)
}

func neverProves(s sale.State) []sale.Effect {
	return slices.DeleteFunc(sale.Next(s), func(e sale.Effect) bool {
		_, proof := e.(sale.SubmitProof)
		return proof
	})
}

// freesWhatItHosts asks the contract for the payout before the record says
// that the request has ended.
func freesWhatItHosts(s sale.State) []sale.Effect {
	effects := sale.Next(s)
	if s.Phase == sale.Proving {
		effects = append(effects, sale.Free{Attempt: s.Attempt})
	}
	return effects
}

func deletesWhatItHosts(s sale.State) []sale.Effect {
	effects := sale.Next(s)
	if s.Phase == sale.Proving {
		effects = append(effects, sale.DeleteData{Attempt: s.Attempt})
	}
	return effects
}

func callsMissesSubmitted(s sale.State, c sale.Command) ([]sale.Event, error) {
	decided, err := sale.Decide(s, c)
	for i, e := range decided {
		if m, ok := e.(*messages.ProofMissed); ok {
			decided[i] = &messages.ProofSubmitted{At: m.GetAt(), Period: m.GetPeriod()}
		}
	}
	return decided, err
}

func boasts(s sale.State, c sale.Command) ([]sale.Event, error) {
	if freed, ok := c.(sale.ReportFreed); ok {
		freed.Payout.Paid = freed.Payout.Paid.Add(events.NewAmount(1))
		return sale.Decide(s, freed)
	}
	return sale.Decide(s, c)
}

func believesAnything(s sale.State, c sale.Command) ([]sale.Event, error) {
	if r, ok := c.(sale.ReportSlotReserved); ok {
		r.Receipt.Block.Number = math.MaxUint64
		return sale.Decide(s, r)
	}
	return sale.Decide(s, c)
}

func stumbles(s sale.State, c sale.Command) ([]sale.Event, error) {
	if _, ok := c.(sale.ReportStored); ok {
		panic("planted")
	}
	return sale.Decide(s, c)
}

func returnsWhatWasLost(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if settle, ok := c.(capacity.Settle); ok {
		settle.CollateralReturned = settle.CollateralReturned.Add(settle.CollateralLost)
		settle.CollateralLost = events.Amount{}
		return capacity.Decide(s, settle)
	}
	return capacity.Decide(s, c)
}

func risksEverything(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if r, ok := c.(capacity.Reserve); ok {
		r.Ask.MaxAtRisk = nil
		return capacity.Decide(s, r)
	}
	return capacity.Decide(s, c)
}

func forgetsTheQuota(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	switch c := c.(type) {
	case capacity.Reserve:
		c.Ask.Quota = 0
		return capacity.Decide(s, c)
	case capacity.SetQuota:
		if c.Near { // Not lowered, so that something is unallocated.
			return nil, nil
		}
	}
	return capacity.Decide(s, c)
}

func neverRepairs(s sale.State) []sale.Effect {
	return slices.DeleteFunc(sale.Next(s), func(e sale.Effect) bool {
		_, repairs := e.(sale.Repair)
		return repairs
	})
}

func forgetsOverhead(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if r, ok := c.(capacity.Reserve); ok {
		r.Ask.Overhead = 0
		return capacity.Decide(s, r)
	}
	return capacity.Decide(s, c)
}

func neverEvicts(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
	decided, err := slotqueue.Decide(s, c)
	return slices.DeleteFunc(decided, func(e slotqueue.Event) bool {
		m, removed := e.(*messages.SlotRemoved)
		return removed && m.GetReason() != ""
	}), err
}

// carelessView skips events that return bytes.
type carelessView struct{ View }

func (v *carelessView) Apply(e events.Recorded) {
	if e.Type != "ReservationDeleted" {
		v.View.Apply(e)
	}
}

func (v *carelessView) Compare(ctx context.Context, store events.Store) error {
	return v.View.Compare(ctx, store)
}
