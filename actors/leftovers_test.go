package actors_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

func TestDataWithoutASaleGoesWhenTheChainIsFinal(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := events.SlotIDOf(sim.Offer(7, 1).ID, 0)
		r.world.Put(slot, 8*events.BlockSize, time.Now())
		r.start()
		r.mine(int(r.cfg.FinalBlocks) - 1)
		if len(r.world.Stored()) != 1 {
			r.Fatal("it is gone although a reorganisation may give the slot back")
		}
		r.mine(2)
		if n := len(r.world.Stored()); n != 0 {
			r.Fatalf("%d slots are still on disk", n)
		}
	})
}

// TestDataOfASaleThatBeginsMeanwhileStays: while the host waits, it sells the slot.
func TestDataOfASaleThatBeginsMeanwhileStays(t *testing.T) {
	inWorld(t, func(r *rig) {
		request := sim.Offer(1, 1)
		slot := events.SlotIDOf(request.ID, 0)
		r.world.Put(slot, request.Ask.SlotSize/2, time.Now())
		s := r.disturb()
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(request)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		r.mine(2 * int(r.cfg.FinalBlocks))
		if slices.Contains(s.noted(), "delete") {
			r.Fatalf("the data of a living sale was deleted: %v", s.noted())
		}
		r.mineUntil("it is settled", r.has("SaleSettled"))
		r.clean()
	})
}

// TestASaleBeginsAfterWhatWasLeftBehindIsGone: both need the same directory.
func TestASaleBeginsAfterWhatWasLeftBehindIsGone(t *testing.T) {
	inWorld(t, func(r *rig) {
		request := sim.Offer(1, 1)
		slot := events.SlotIDOf(request.ID, 0)
		r.world.Put(slot, events.BlockSize, time.Now())
		s := r.disturb()
		deleting := make(chan struct{})
		s.deletes = func() { <-deleting }
		r.start()
		r.offer(64 * events.BlockSize)
		r.mine(int(r.cfg.FinalBlocks) + 2)
		r.world.Post(request)
		r.mine(3)
		if r.count("SaleStarted") != 0 {
			r.Fatal("the sale has begun while its directory is deleted")
		}
		close(deleting)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		if calls := s.noted(); slices.Index(calls, "delete") > slices.Index(calls, "download") {
			r.Fatalf("deleted after the download: %v", calls)
		}
	})
}
