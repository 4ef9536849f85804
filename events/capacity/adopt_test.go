package capacity

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestTheAvailabilityOfAnAdoptedSlotGoesWithIt(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	adopted := []Command{SetQuota{At: at, Bytes: 5000}, reserveFor(1, true)}
	settle := Settle{At: at, Slot: renewedSlot, Attempt: 1, CollateralReturned: events.NewAmount(3000)}

	s := ledgerOf(t, append(adopted, settle)...)
	if _, there := s.Availability(AdoptedAvailability(renewedSlot, 1)); there || s.Book().Unallocated != 5000 {
		t.Fatalf("the slot is settled; book %s", s.Book())
	}

	sold := true
	kept := ledgerOf(t, append(adopted, Update{
		At: at, ID: AdoptedAvailability(renewedSlot, 1), Enabled: &sold,
	}, settle)...)
	if a, there := kept.Availability(AdoptedAvailability(renewedSlot, 1)); !there || a.Free() != 1000 {
		t.Fatalf("an operator has put it up for sale; book %s", kept.Book())
	}
}
