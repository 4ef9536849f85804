package actors_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

// finalMarket is a market of a chain that says which block is final.
type finalMarket struct {
	port.Market
	final atomic.Uint64
}

func (m *finalMarket) Final(_ context.Context, number uint64) (bool, error) {
	return number <= m.final.Load(), nil
}

// lostUnfinally is a slot that the contract took from a host, which keeps the data because the
// chain does not call the loss final, however many blocks came after it.
func (r *rig) lostUnfinally(taken func(slot events.SlotID)) (m *finalMarket, slot events.SlotID) {
	r.Helper()
	m = &finalMarket{Market: r.ports.Market}
	r.ports.Market = m
	r.start()
	r.offer(64 * events.BlockSize)
	r.world.Post(sim.Offer(1, 1))
	r.mineUntil("it proves", r.has("ProofSubmitted"))
	r.mine(4) // The proof stays when the loss goes.
	m.final.Store(r.world.Head().Number)
	slot = events.SlotIDOf(sim.Offer(1, 1).ID, 0)
	taken(slot)
	r.mineUntil("it is lost", r.has("SlotForfeited"))
	r.mine(3 * int(r.cfg.FinalBlocks))
	if r.count("DataDeleted") != 0 || len(r.world.Stored()) != 1 {
		r.Fatalf("the data is gone, and nothing is final; the record holds %v", r.names())
	}
	return m, slot
}

func TestDataIsKeptUntilWhatEndedTheSaleIsFinal(t *testing.T) {
	inWorld(t, func(r *rig) {
		var before uint64
		m, _ := r.lostUnfinally(func(slot events.SlotID) {
			before = r.world.Head().Number
			if err := r.world.TakeBack(slot); err != nil {
				r.Fatal(err)
			}
			for r.world.Rival(slot) != nil { // Not in a period in which a proof was accepted.
				r.world.Mine(1)
			}
		})
		m.final.Store(before)
		r.mine(5)
		if r.count("DataDeleted") != 0 || len(r.world.Stored()) != 1 {
			r.Fatalf("the data is gone before the end is final; the record holds %v", r.names())
		}
		m.final.Store(r.world.Head().Number)
		r.mineUntil("it is settled", r.has("SaleSettled"))
		if r.count("DataDeleted") != 1 || len(r.world.Stored()) != 0 {
			r.Fatalf("%d slots are on disk; the record holds %v", len(r.world.Stored()), r.names())
		}
	})
}

// Until the chain calls it final, the end can be taken back, however deep it is.
func TestDataIsThereWhenTheEndOfASaleIsReorganisedAway(t *testing.T) {
	inWorld(t, func(r *rig) {
		var before uint64
		m, slot := r.lostUnfinally(func(slot events.SlotID) {
			before = r.world.Head().Number
			if err := r.world.TakeBack(slot); err != nil {
				r.Fatal(err)
			}
			for r.world.Rival(slot) != nil {
				r.world.Mine(1)
			}
		})
		r.world.Reorganize(int(r.world.Head().Number - before))
		r.mine(2)
		m.final.Store(r.world.Head().Number)
		r.mine(int(r.cfg.FinalBlocks))
		if r.count("DataDeleted") != 0 || len(r.world.Stored()) != 1 || r.world.State(slot) != events.SlotFilled {
			r.Fatalf("%d slots are on disk, the slot is %s; the record holds %v",
				len(r.world.Stored()), r.world.State(slot), r.names())
		}
		m.final.Store(1 << 40)
		r.mineUntil("it is paid and settled", r.has("SaleSettled"))
		if r.count("PayoutReceived") != 1 || len(r.world.Stored()) != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
	})
}

// slowFill is a market that answers about a fill long after it was mined.
type slowFill struct {
	port.Market
	answers chan struct{}
}

func (m slowFill) FillSlot(ctx context.Context, call events.SlotCall, p events.Proof) (events.Fill, error) {
	fill, err := m.Market.FillSlot(ctx, call, p)
	<-m.answers
	return fill, err
}

// The fill of the last slot starts the request in its own block, which the chain tells before the fill is answered.
func TestTheStartOfARequestIsRecordedAfterTheFillThatStartedIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := slowFill{r.ports.Market, make(chan struct{})}
		r.ports.Market = m
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the chain has told", r.has("ChainRequestFulfilled"))
		r.mine(2)
		if r.count("SlotFilled") != 0 {
			r.Fatalf("the fill was answered: %v", r.names())
		}
		close(m.answers)
		r.mineUntil("it is filled", r.has("SlotFilled"))
		r.mine(3)
		if r.count("RequestStarted") != 1 {
			r.Fatalf("the record holds %v", r.names())
		}
	})
}
