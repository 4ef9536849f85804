package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// tight is a market whose account can pay for the slot that is filled again, and for nothing besides.
type tight struct {
	port.Market
	mu    sync.Mutex
	keeps map[events.SlotID][]events.Amount // what had to be left, of each refill that was tried
}

func (m *tight) FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error) {
	if call.Refill {
		m.mu.Lock()
		m.keeps[call.Slot] = append(m.keeps[call.Slot], call.Keep)
		m.mu.Unlock()
		if !call.Keep.IsZero() {
			return events.Fill{}, fmt.Errorf("%w: %s must be left", events.ErrInsufficientFunds, call.Keep)
		}
	}
	return m.Market.FillSlot(ctx, call, proof)
}

// tried returns what had to be left when a slot was tried to be filled again.
func (m *tight) tried(slot events.SlotID) []events.Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keeps[slot]
}

func (r *rig) tight() *tight {
	m := &tight{Market: r.ports.Market, keeps: map[events.SlotID][]events.Amount{}}
	r.ports.Market = m
	return m
}

// hostAndLose has all slots of a request hosted, and then taken by the contract.
func (r *rig) hostAndLose(q events.Request) (slots []events.SlotID) {
	r.world.Post(q)
	n := r.count("SlotFilled") + int(q.Ask.Slots)
	r.mineUntil("they are filled", func() bool { return r.count("SlotFilled") == n })
	for i := range q.Ask.Slots {
		slots = append(slots, events.SlotIDOf(q.ID, i))
		if err := r.world.TakeBack(slots[i]); err != nil {
			r.Fatal(err)
		}
	}
	return slots
}

func TestASlotIsNotFilledAgainFromWhatOthersArePromised(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, m := r.disturb(), r.tight()
		other, served := long(2, 1), make(chan struct{})
		s.download = func(_ context.Context, job events.DownloadJob) error {
			if job.Slot == events.SlotIDOf(other.ID, 0) {
				<-served
			}
			return nil
		}
		r.start()
		r.offer(64 * events.BlockSize)
		lost := r.hostAndLose(long(1, 1))[0]
		r.world.Post(other)
		r.mineUntil("it is tried twice", func() bool { return len(m.tried(lost)) >= 2 })
		promised, _ := other.Ask.CollateralPerSlot()
		if keep := m.tried(lost)[1]; keep != promised || r.count("SlotFilled") != 1 {
			r.Fatalf("%s must be left, want %s; the record holds %v", keep, promised, r.names())
		}
		close(served)
		r.mineUntil("both are filled", func() bool { return r.count("SlotFilled") == 3 })
		r.clean()
	})
}

// Of slots that are lost together, none waits for another one for which the tokens do not suffice either.
func TestSlotsThatAreFilledAgainDoNotWaitForEachOther(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := r.tight()
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 3)
		q.Ask.MaxSlotLoss = 3
		lost := r.hostAndLose(q)
		r.mineUntil("all are filled", func() bool { return r.count("SlotFilled") == 6 })
		waited := 0
		for _, slot := range lost {
			waited += len(m.tried(slot)) - 1
		}
		if waited == 0 {
			r.Error("none was counted for another one")
		}
		r.clean()
	})
}
