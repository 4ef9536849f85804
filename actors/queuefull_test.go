package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// unreachable makes all sources unreachable until reach is called.
func unreachable(s *script) (reach func()) {
	reached := make(chan struct{})
	s.download = func(context.Context, events.DownloadJob) error {
		select {
		case <-reached:
			return nil
		default:
			return errors.Join(events.ErrContentUnavailable, events.ErrNoSource)
		}
	}
	return func() { close(reached) }
}

// compete makes other hosts, by their numbers, reserve a slot.
func (r *rig) compete(slot events.SlotID, rivals ...int) {
	r.Helper()
	for _, n := range rivals {
		if err := r.world.Compete(slot, n); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
	}
}

// The contract says that all reservations of a slot are taken, and one of them is ours: only
// hosts without one are out.
func TestASlotWithAReservationOfOursStaysWhenAllAreTaken(t *testing.T) {
	for name, when := range map[string]struct{ before, whileWorking, whileQueued []int }{
		"ours is the last":              {before: []int{1, 2}},
		"the last is taken as we fetch": {before: []int{1}, whileWorking: []int{2}},
		"the last is taken as it waits": {before: []int{1}, whileQueued: []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				reach := unreachable(r.disturb())
				r.cfg.GiveUpDownload = time.Minute
				r.start()
				offer := sim.Offer(1, 1) // It expires before a slot is usually looked at again.
				slot := events.SlotIDOf(offer.ID, 0)
				r.world.Post(offer)
				r.mine(1)
				r.compete(slot, when.before...)
				r.offer(64 * events.BlockSize)
				r.mineUntil("the slot is reserved", r.has("SlotReserved"))
				r.compete(slot, when.whileWorking...)
				r.mineUntil("the worker lets go", r.has("SlotReleased"))
				r.compete(slot, when.whileQueued...)
				r.mineUntil("all places are taken", r.has("ChainSlotReservationsFull"))
				reach()
				r.mineUntil("the second attempt is filled", r.has("SlotFilled"))
			})
		})
	}
}

func TestASlotWhoseReservationsOthersHaveIsNotLookedAtAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		r.start()
		if err := r.host.Queue(r.Context(), slotqueue.Pause{At: time.Now(), Reason: "maintenance"}); err != nil {
			r.Fatal(err)
		}
		r.offer(64 * events.BlockSize)
		offer := sim.Offer(1, 1)
		r.world.Post(offer)
		r.mineUntil("it is queued", r.has("SlotsQueued"))
		r.compete(events.SlotIDOf(offer.ID, 0), 1, 2, 3)
		r.mineUntil("it is removed", r.has("SlotRemoved"))
		if calls := s.noted(); len(calls) > 0 {
			r.Fatalf("it was looked at: %v", calls)
		}
	})
}

// laggingReservations answers like a node that does not have the newest blocks yet.
type laggingReservations struct {
	port.Market
	left int
}

func (m *laggingReservations) HoldsReservation(
	ctx context.Context, id events.RequestID, index uint64,
) (bool, events.Head, error) {
	held, at, err := m.Market.HoldsReservation(ctx, id, index)
	if m.left--; m.left >= 0 {
		return false, events.Head{Number: at.Number - 100}, err
	}
	return held, at, err
}

func TestANodeThatLagsSaysNothingAboutOurReservation(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &laggingReservations{Market: r.ports.Market, left: 2}
		r.ports.Market = m
		reach := unreachable(r.disturb())
		r.cfg.GiveUpDownload = time.Minute
		r.start()
		r.offer(64 * events.BlockSize)
		offer := sim.Offer(1, 1)
		r.world.Post(offer)
		r.mineUntil("the slot is reserved", r.has("SlotReserved"))
		r.compete(events.SlotIDOf(offer.ID, 0), 1, 2)
		r.mineUntil("the worker lets go", r.has("SlotReleased"))
		reach()
		r.mineUntil("the second attempt is filled", r.has("SlotFilled"))
		if m.left >= 0 {
			r.Fatalf("the lagging node was asked %d times less than it lags", m.left+1)
		}
	})
}
