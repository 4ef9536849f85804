package actors_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// twoNodes is a market with two nodes: the first may lie, and the second may contradict
// whatever the first one says.
type twoNodes struct {
	port.Market
	lies, contradicts atomic.Bool
	asked             atomic.Int64
}

// Slot says, while the node lies, that the slot was taken from us.
func (m *twoNodes) Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error) {
	f, err := m.Market.Slot(ctx, request, index)
	if m.lies.Load() {
		f.Host, f.SlotState, f.Collateral = events.Address{}, events.SlotRepair, events.Amount{}
	}
	return f, err
}

var errDiffer = errors.New("two endpoints differ")

func (m *twoNodes) Confirm(
	ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts,
) error {
	m.asked.Add(1)
	f, err := m.Market.Slot(ctx, request, index)
	if err == nil && f.Host != facts.Host || m.contradicts.Load() {
		err = errDiffer
	}
	return err
}

func (m *twoNodes) ConfirmNotOurs(ctx context.Context, slot events.SlotID) error {
	m.asked.Add(1)
	owned, err := m.Market.MySlots(ctx)
	if slices.ContainsFunc(owned, func(o events.OwnedSlot) bool { return o.Slot == slot }) {
		err = errDiffer
	}
	return err
}

func TestASlotIsNotGivenUpBecauseOneOfTwoNodesSaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &twoNodes{Market: r.ports.Market}
		r.ports.Market = m
		slot := r.hosting()
		m.lies.Store(true)
		before := len(r.submitted())
		r.mineUntil("it asks the other node", func() bool { return m.asked.Load() > 1 })
		if r.count("SlotForfeited")+r.count("DataDeleted") != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
		m.lies.Store(false)
		r.mineUntil("it proves on", func() bool { return len(r.submitted()) > before })
		r.settled(slot)
	})
}

// An answer that keeps a slot is believed from one node, even if the other contradicts.
func TestASlotIsProvenThoughTheOtherNodeContradicts(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &twoNodes{Market: r.ports.Market}
		r.ports.Market = m
		m.contradicts.Store(true)
		slot := r.hosting()
		r.mineUntil("the request has started", r.has("RequestStarted"))
		if err := r.host.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.start()
		before := len(r.submitted())
		r.mineUntil("it proves on", func() bool { return len(r.submitted()) > before })
		r.mineUntil("it asks the other node about the end", func() bool { return m.asked.Load() > 1 })
		if r.count("SaleSettled")+r.count("DataDeleted") != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
		m.contradicts.Store(false)
		r.settled(slot)
	})
}

// A record from before answers were checked may end with a block that no chain has.
func TestAHostGoesOnBehindABlockThatNeverWas(t *testing.T) {
	for name, number := range map[string]uint64{"2^64-2": 1<<64 - 2, "a thousand more": 1000} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				slot := r.hosting()
				if err := r.host.Stop(r.Context()); err != nil {
					r.Fatal(err)
				}
				head := r.world.Head()
				r.believed(&messages.BlocksScanned{
					Number: number, Hash: head.Hash.String(), Time: events.TimeToMessage(head.Time),
				})
				r.start()
				r.mineUntil("the block is taken back", r.has("ChainReorganized"))
				r.mineUntil("the sale is settled", r.has("SaleSettled"))
				if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 {
					r.Fatalf("slashed %d times; the record holds %v", n, r.names())
				}
			})
		})
	}
}

// believed appends an event to the market's stream.
func (r *rig) believed(e messages.MarketEvent) {
	r.Helper()
	codec := catalog.Codec()
	name, version, data, err := codec.Encode(e)
	if err != nil {
		r.Fatal(err)
	}
	stream := events.MarketStream(r.cfg.ChainID, r.cfg.Contract)
	_, err = r.store.Append(r.Context(), stream, events.Expected{}, []events.NewEvent{{
		ID: events.NewEventID(stream, "test", 0), Type: name, Data: data, Meta: events.Metadata{Version: version},
	}})
	if err != nil {
		r.Fatal(err)
	}
}
