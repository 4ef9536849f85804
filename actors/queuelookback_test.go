package actors_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

var errNodeDown = errors.New("the node is down")

// mute is a market whose node does not answer questions about requests: none of them,
// or those about one.
type mute struct {
	port.Market
	down  atomic.Bool
	about events.RequestID
	lags  atomic.Int64 // it does not know the request yet, that often
	asked atomic.Int64
}

func (m *mute) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	m.asked.Add(1)
	switch {
	case m.down.Load() || id == m.about:
		return events.Request{}, errNodeDown
	case m.lags.Add(-1) >= 0:
		return events.Request{}, events.ErrUnknownRequest
	}
	return m.Market.Request(ctx, id)
}

func (r *rig) mute() *mute {
	m := &mute{Market: r.ports.Market}
	r.ports.Market = m
	return m
}

func TestWhatWasRefusedIsLookedAtUntilTheChainAnswers(t *testing.T) {
	for name, fail := range map[string]func(*mute){
		"the node is down": func(m *mute) { m.down.Store(true) },
		"the node lags":    func(m *mute) { m.lags.Store(3) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				m := r.mute()
				r.start()
				for n := range byte(5) {
					r.world.Post(long(n+1, 1))
				}
				r.mine(2)
				fail(m)
				r.offer(64 * events.BlockSize)
				r.mine(100)
				if m.down.Load() && m.asked.Load() > 100 {
					r.Fatalf("in 100 s the node was asked %d times", m.asked.Load())
				}
				m.down.Store(false)
				r.mineUntil("the slots are filled", func() bool { return r.count("SlotFilled") == 5 })
			})
		})
	}
}

func TestARequestOfWhichTheNodeSaysNothingHoldsUpNoOther(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := r.mute()
		m.about = long(1, 1).ID
		r.start()
		for n := range byte(5) {
			r.world.Post(long(n+1, 1))
		}
		r.mine(2)
		r.offer(64 * events.BlockSize)
		r.mineUntil("the others are filled", func() bool { return r.count("SlotFilled") == 4 })
		r.mine(100)
		if n := m.asked.Load(); n > 200 {
			r.Fatalf("the node was asked %d times", n)
		}
	})
}

// The host ends before it could judge the refused requests again for a new offer: its next
// start does.
func TestAStartLooksBackAtWhatTheProcessBeforeDidNotComeTo(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := r.mute()
		r.start()
		r.world.Post(sim.Offer(1, 1))
		r.mine(2)
		m.down.Store(true)
		r.offer(64 * events.BlockSize)
		r.mine(2)
		r.host.Kill()
		m.down.Store(false)
		synctest.Wait()
		r.start()
		r.mineUntil("the slot is filled", r.has("SlotFilled"))
	})
}

// movedOnce is a store to which somebody else wrote just before the first append of an
// event.
type movedOnce struct {
	events.Store
	name string
	done atomic.Bool
}

func (s *movedOnce) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if batch[0].Type == s.name && s.done.CompareAndSwap(false, true) {
		return events.AppendResult{}, events.ErrWrongRevision
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func TestAVerdictThatFoundAnotherRecordIsGivenAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		moved := &movedOnce{Store: r.store, name: "SlotsQueued"}
		r.ports.Store = moved
		r.start()
		r.world.Post(long(1, 1))
		r.mine(2)
		r.offer(64 * events.BlockSize)
		r.mineUntil("the slot is filled", r.has("SlotFilled"))
		if !moved.done.Load() {
			r.Fatal("nothing moved")
		}
	})
}

func TestAWakeThatFoundAnotherRecordIsGivenAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		moved := &movedOnce{Store: r.store, name: "QueueResumed"}
		r.ports.Store = moved
		r.start()
		r.offer(4 * events.BlockSize) // Room for one of two.
		r.world.Post(long(1, 2))
		r.mineUntil("one is filled", r.has("SlotFilled"))
		r.mine(20)
		r.ledger(capacity.Create{At: time.Now(), ID: events.AvailabilityID{2}, Now: capacity.Offer{
			Size: 64 * events.BlockSize, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1 << 38), Enabled: true,
		}})
		r.mineUntil("both are filled", func() bool { return r.count("SlotFilled") == 2 })
		if !moved.done.Load() {
			r.Fatal("nothing moved")
		}
	})
}
