package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// These tests are about slots that the contract calls ours while the record knows no fill of
// them: what they owe is recorded all the same, before their end.

// adoptedWithoutData is a slot that was adopted, and whose data does not come.
func (r *rig) adoptedWithoutData(offer events.Request) events.SlotID {
	r.Helper()
	r.cfg.Quota = 1 << 30
	r.start()
	r.offer(64 * events.BlockSize)
	r.world.Post(offer)
	all := int(offer.Ask.Slots)
	r.mineUntil("it proves", func() bool { return r.count("ProofSubmitted") >= all && r.count("RequestStarted") == all })
	slot := events.SlotIDOf(offer.ID, offer.Ask.Slots-1)
	r.loseRecord()
	s := r.disturb()
	s.download = func(context.Context, events.DownloadJob) error { return errors.New("no peer has it") }
	r.start()
	r.mineUntil("it is adopted", func() bool { return r.count("CapacityReserved") == all })
	return slot
}

func (r *rig) wantMissed(slot events.SlotID, want []uint64, end, reason string) {
	r.Helper()
	got, reasons := r.missed(slot, end)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
	}
	if !strings.Contains(reasons, reason) {
		r.Errorf("the reasons: %s", reasons)
	}
	r.clean()
}

func TestAnAdoptedSlotThatIsLostBeforeItsDataWasHereTellsWhatItOwed(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.adoptedWithoutData(longer(1, 1))
		r.mineUntil("its miss is told, and what it cost", r.has("CollateralSlashed"))
		if !r.has("ProofMissed")() || r.has("SlotForfeited")() || r.has("SlotStored")() {
			r.Fatalf("the misses are not told in time: %v", r.names())
		}
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.wantMissed(slot, r.world.MissedPeriods(slot), "SlotForfeited", "its data was not here")
		if u := stored[*messages.SlotForfeited](r)[0].GetUnjudged(); u != "" || r.count("SlotFilled") != 0 {
			r.Errorf("not known: %s; %v", u, r.names())
		}
	})
}

func TestAnAdoptedSlotThatIsLostWhileTheHostIsDownTellsWhatItOwed(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.adoptedWithoutData(longer(1, 1))
		r.downUntil("the slot is taken", r.lost(slot))
		want := r.world.MissedPeriods(slot)
		r.world.Mine(5 * period)
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.wantMissed(slot, want, "SlotForfeited", "its data was not here")
	})
}

func TestAnAdoptedSlotWhoseRequestFailsBeforeItsDataWasHereTellsWhatItOwed(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.adoptedWithoutData(longer(1, 3))
		r.mineUntil("a miss is marked", func() bool { return r.world.Slashed(slot) > 0 })
		for i := range uint64(2) {
			if err := r.world.TakeBack(events.SlotIDOf(longer(1, 3).ID, i)); err != nil {
				r.Fatal(err)
			}
		}
		r.mineUntil("it failed", r.has("SaleFailed"))
		r.wantMissed(slot, r.world.MissedPeriods(slot), "SaleFailed", "its data was not here")
		r.mineUntil("all is settled", func() bool { return r.count("SaleSettled") >= 3 })
		r.clean()
	})
}

// A fill that is found when its request is over, because the process was killed after sending
// it.
func TestAFillThatIsFoundWithItsEndTellsWhatItOwed(t *testing.T) {
	for _, remembered := range []bool{true, false} {
		inWorld(t, func(r *rig) {
			s := r.disturb()
			s.deaf.Store(true)
			r.start()
			r.offer(64 * events.BlockSize)
			offer := sim.Offer(1, 1)
			offer.Ask.Duration, offer.Expiry = 3*period*time.Second, 50*time.Second
			r.world.Post(offer)
			slot := events.SlotIDOf(offer.ID, 0)
			r.mineUntil("it is filled", func() bool { return r.world.State(slot) == events.SlotFilled })
			r.downUntil("the request is over", func() bool { return r.world.State(slot) == events.SlotFinished })
			want := r.world.MissedPeriods(slot)
			r.world.Mine(period)
			if r.has("SlotFilled")() {
				r.Fatalf("the fill is in the record: %v", r.names())
			}
			s.deaf.Store(false)
			s.forgets.Store(!remembered)
			r.start()
			r.mineUntil("it ended", r.has("RequestEnded"))
			r.wantMissed(slot, want, "RequestEnded", "the host did not run")
			if fills := stored[*messages.SlotFilled](r); len(fills) != 1 || (fills[0].GetReceipt() != nil) != remembered {
				r.Fatalf("remembered %t: the fills of the record: %v", remembered, fills)
			}
			r.mineUntil("it is settled", r.has("SaleSettled"))
			r.clean()
		})
	}
}
