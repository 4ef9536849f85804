package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/messages"
)

// A simulation proves nothing about what never happens in it.
func TestSimulatedPiecesAreMergedRejectedIsolatedAndDoubted(t *testing.T) {
	t.Parallel()
	seen, orders := map[string]int{}, 0
	for seed := range uint64(6) {
		out := Run(t, seed, Scenarios()["aggregationAndFaults"])
		if out.Problem != nil {
			t.Fatal(repeatable("aggregationAndFaults", seed, out.Problem))
		}
		orders += out.Faults[Fault{aggregationOrder, "world"}]
		for name, n := range out.Events {
			seen[name] += n
		}
	}
	for _, name := range []string{
		"ContentRequested", "ContentSourceAdded", "ContentAccepted", "ContentRefused", "ContentRetried",
		"PieceQueued", "FerryLoaded", "FerriesMerged", "AggregateMade", "AggregateApproved", "AggregateRejected",
		"CopiesReleased", "DealOffered", "DealSigned", "DealApproved", "DealRejected", "DealDoubted",
	} {
		if seen[name] == 0 {
			t.Errorf("no %s in %v", name, seen)
		}
	}
	if orders == 0 {
		t.Error("no operator gave an order")
	}
}

// The owner of a host of several members aggregates. It is no scenario for readers of the record, because members have no
// ledger for copies here.
func TestTheMemberWithTheTermAggregates(t *testing.T) {
	t.Parallel()
	sc := Scenario{
		Requests: 3, Slots: 3, Block: 20, MaxSteps: 40_000, Period: time.Minute, Fail: 10, Lose: 10,
		Aggregation: Aggregation{Cars: 20, BrokerAway: 1, Orders: 10},
		Members:     Members{Count: 3, Kill: 1, Stop: 1, Cut: 1, Expire: 1},
	}
	for i := range *seeds {
		if out := Run(t, *first+uint64(i), sc); out.Problem != nil {
			t.Fatalf("seed %d: %v", *first+uint64(i), out.Problem)
		}
	}
}

// aggregationPlants are errors planted in how pieces are aggregated.
func aggregationPlants() map[string]planted {
	with := func(decide func(cargo.State, cargo.Command) ([]cargo.Event, error)) Scenario {
		return Scenario{Requests: 1, Aggregation: Aggregation{Cars: 30, Orders: 10}, Plant: Plant{Cargo: decide}}
	}
	perjured := with(nil)
	perjured.Plant.Perjured = true
	return map[string]planted{
		"the highest priority is first":          {breaks: FirstInIsFirst, sc: with(prefersTheNewest)},
		"a rejected piece is lost":               {breaks: GoodIsStored, sc: with(losesARejectedPiece)},
		"a piece is in two aggregates":           {breaks: PieceIsInOnePlace, sc: with(loadsTwice)},
		"a list that was rejected is made again": {breaks: NothingIsOfferedAgain, sc: with(loadsTheSameList)},
		"a broker breaks its word":               {breaks: DealsAreTrue, sc: perjured},
	}
}

// reloaded is an event that loads other pieces than were planned.
func reloaded(s cargo.State, c cargo.Load, pieces []uint64) ([]cargo.Event, error) {
	c.Pieces, c.Ferry = pieces, s.ListID(pieces)
	all, err := cargo.Decide(s, c)
	if err == nil && len(all) == 0 {
		return all, nil
	}
	e := cargo.Event(&messages.FerryLoaded{
		Ferry: c.Ferry, Class: c.Class, Pieces: pieces, Part: 1, Parts: 1, Full: c.Full, Isolated: c.Isolated,
	})
	return events.Stamp([]cargo.Event{e}, c.At), nil
}

// whichever are all pieces of the size of another one, the newest first.
func whichever(s cargo.State, like uint64, wanted func(cargo.Piece) bool) (all []uint64) {
	size := func(n uint64) uint64 { p, _ := s.Piece(n); return p.Size() }
	for n := s.Pieces(); n > 0; n-- {
		if p, _ := s.Piece(n); size(n) == size(like) && wanted(p) {
			all = append(all, n)
		}
	}
	return all
}

func prefersTheNewest(s cargo.State, c cargo.Command) ([]cargo.Event, error) {
	l, ok := c.(cargo.Load)
	if !ok || l.Isolated {
		return cargo.Decide(s, c)
	}
	loose := func(p cargo.Piece) bool { return p.Status == cargo.Queued && s.Ferry(p) == nil && !p.Suspected() }
	var newest []uint64
	for _, n := range l.Pieces {
		all := slices.DeleteFunc(whichever(s, n, loose), func(n uint64) bool { return slices.Contains(newest, n) })
		if len(all) == 0 { // It is on a ferry.
			return cargo.Decide(s, c)
		}
		newest = append(newest, all[0])
	}
	return reloaded(s, l, s.Place(newest))
}

func losesARejectedPiece(s cargo.State, c cargo.Command) ([]cargo.Event, error) {
	if r, ok := c.(cargo.Reject); ok && r.Parts == 1 {
		if f := s.Aggregate(r.Aggregate); f != nil {
			r.Bad = slices.Clone(f.Pieces)
		}
		return cargo.Decide(s, r)
	}
	return cargo.Decide(s, c)
}

func loadsTwice(s cargo.State, c cargo.Command) ([]cargo.Event, error) {
	if l, ok := c.(cargo.Load); ok && l.Full {
		travels := func(p cargo.Piece) bool { return p.Status == cargo.Aggregated }
		if all := whichever(s, l.Pieces[0], travels); len(all) > 0 {
			return reloaded(s, l, s.Place(append(slices.Clone(l.Pieces[1:]), all[0])))
		}
	}
	return cargo.Decide(s, c)
}

func loadsTheSameList(s cargo.State, c cargo.Command) ([]cargo.Event, error) {
	if l, ok := c.(cargo.Load); ok && l.Full {
		for _, f := range s.Ferries() {
			if f.State == cargo.Rejected && slices.Equal(s.Place(f.Pieces), s.Place(l.Pieces)) {
				return reloaded(s, l, f.Pieces)
			}
		}
	}
	return cargo.Decide(s, c)
}

// A simulation that survives says nothing about a fault that never occurred.
func TestEveryFaultOccursAtEveryCallOfAggregation(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests the simulator, and takes long; the race detector has nothing to find in it")
	}
	t.Parallel()
	sc := Scenario{
		Fail: 40, Lose: 40, Delay: 20, Twice: 40, Die: 30, DiskFull: 2, Requests: 1, MaxSteps: 6_000,
		Aggregation: Aggregation{Cars: 30, BrokerAway: 1, BrokerLies: 2, SourcesAway: 1, Orders: 40},
	}
	want := []Fault{
		{brokerAway, "world"},
		{brokerLies, "world"},
		{sourcesAway, "world"},
		{aggregationOrder, "world"},
		{faultLie, "broker.offer"},
		{faultLie, "broker.state"},
	}
	for _, at := range []string{
		"source.examine", "source.open", "copies.keep", "copies.drop", "broker.offer", "broker.state", "broker.withdraw",
	} {
		for _, kind := range []string{faultError, faultLost, faultDelay, faultDuplicate, faultCrashBefore, faultCrashAfter} {
			want = append(want, Fault{kind, at})
		}
	}
	const most = 100
	seed := uint64(0)
	for ; seed < most && len(want) > 0; seed++ {
		out := Run(t, seed, sc) // Other tests check how the runs end.
		want = slices.DeleteFunc(want, func(f Fault) bool { return out.Faults[f] > 0 })
	}
	for _, f := range want {
		t.Errorf("in %d seeds there was no %s at %s", most, f.Kind, f.Where)
	}
	t.Logf("%d seeds", seed)
}
