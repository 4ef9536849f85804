package contracts_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const notAllowed = "SlotReservations_ReservationNotAllowed"

func (d *deal) canReserve(account int, index uint64) bool {
	d.t.Helper()
	data := pack.PackCanReserveSlot(d.id, index)
	return viewAs(d.market, account, data, pack.UnpackCanReserveSlot)
}

func TestReservationsAreFirstComeFirstServed(t *testing.T) {
	d := newMarket(t).ask()
	for i, account := range []int{host, otherHost, thirdHost} {
		if !d.canReserve(account, 0) {
			t.Fatalf("host %d cannot reserve", i)
		}
		receipt := d.send(account, pack.PackReserveSlot(d.id, 0))
		full := slices.Contains(d.eventNames(receipt), "SlotReservationsFull")
		if full != (i == 2) {
			t.Fatalf("after reservation %d of 3 full is %t", i+1, full)
		}
		if full {
			event, err := pack.UnpackSlotReservationsFullEvent(receipt.Logs[0])
			if err != nil || event.RequestId != d.id || event.SlotIndex != 0 {
				t.Fatalf("event is %+v, %v", event, err)
			}
		}
	}
	if d.canReserve(fourthHost, 0) {
		t.Fatalf("a fourth host can reserve")
	}
	d.refuses(fourthHost, pack.PackReserveSlot(d.id, 0), notAllowed)
	d.accepts(fourthHost, pack.PackReserveSlot(d.id, 1))
}

func TestHostReservesASlotOnlyOnce(t *testing.T) {
	d := newMarket(t).ask()
	d.reserve(host, 0)
	if d.canReserve(host, 0) {
		t.Fatalf("a host can reserve twice")
	}
	d.refuses(host, pack.PackReserveSlot(d.id, 0), notAllowed)
}

func TestFilledSlotCannotBeReserved(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	if d.canReserve(otherHost, 0) {
		t.Fatalf("a filled slot can be reserved")
	}
	d.refuses(otherHost, pack.PackReserveSlot(d.id, 0), notAllowed)
}

// Edge case that a host must know: the marketplace reserves slots that can never be filled.
func TestReservingWhatCannotBeFilledSucceeds(t *testing.T) {
	d := newMarket(t).ask()
	d.accepts(host, pack.PackReserveSlot([32]byte{0xde, 0xad}, 0))
	d.accepts(host, pack.PackReserveSlot(d.id, slots))
	d.goTo(t, d.expiresAt+1)
	d.reserve(host, 0)
	d.refuses(host, d.packFill(0), "Marketplace_SlotNotFree")
}

func TestReservationsAreForgottenWhenTheSlotIsFreed(t *testing.T) {
	d := newMarket(t).ask()
	d.reserve(otherHost, 0)
	d.reserve(thirdHost, 0)
	d.fill(host, 0)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	if got := d.slotState(0); got != slotRepair {
		t.Fatalf("slot state is %d, want repair", got)
	}
	for _, account := range []int{host, otherHost, thirdHost, fourthHost} {
		if !d.canReserve(account, 0) {
			t.Fatalf("account %d cannot reserve the freed slot", account)
		}
	}
	d.refuses(otherHost, d.packFill(0), "Marketplace_ReservationRequired")
}

func TestOneHostMayReserveAndFillEverySlot(t *testing.T) {
	d := newMarket(t).ask()
	want := [][32]byte{}
	for _, index := range []uint64{2, 0, 1} {
		d.fill(host, index)
		want = append(want, d.slot(index))
	}
	if diff := cmp.Diff(want, d.slotsOf(host)); diff != "" {
		t.Fatalf("slots are not in the order of filling (-want +got):\n%s", diff)
	}
	if got := d.state(); got != requestStarted {
		t.Fatalf("state is %d, want started", got)
	}
}
