package contracts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (d *deal) wantState(want uint8) {
	d.t.Helper()
	if got := d.state(); got != want {
		d.t.Fatalf("request state is %d, want %d", got, want)
	}
}

func (d *deal) wantSlots(want ...uint8) {
	d.t.Helper()
	got := make([]uint8, len(want))
	for i := range want {
		got[i] = d.slotState(uint64(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Fatalf("slot states differ (-want +got):\n%s", diff)
	}
}

func (d *deal) wantEnd(want uint64) {
	d.t.Helper()
	if got := d.end(); got != want {
		d.t.Fatalf("end is %d, want %d", got, want)
	}
}

func TestRequestIsCancelledAfterItsExpiry(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	d.wantState(requestNew)
	d.wantEnd(d.endsAt)
	d.wantSlots(slotFilled, slotFree, slotFree)

	d.goTo(t, d.expiresAt)
	d.wantState(requestNew)
	d.goTo(t, d.expiresAt+1)
	d.wantState(requestCancelled)
	d.wantEnd(d.expiresAt)
	d.wantSlots(slotCancelled, slotFree, slotFree)

	d.goTo(t, d.endsAt+1)
	d.wantState(requestCancelled)
	d.send(client, pack.PackWithdrawFunds(d.id))
	d.wantState(requestCancelled)
	d.wantEnd(d.expiresAt)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.wantSlots(slotPaid, slotFree, slotFree)
}

func TestRequestIsFinishedAfterItsEnd(t *testing.T) {
	d := newMarket(t).started()
	d.wantState(requestStarted)
	d.wantEnd(d.endsAt)
	d.wantSlots(slotFilled, slotFilled, slotFilled)

	d.goTo(t, d.expiresAt+1)
	d.wantState(requestStarted)
	d.goTo(t, d.endsAt)
	d.wantState(requestStarted)
	d.wantSlots(slotFilled, slotFilled, slotFilled)
	d.goTo(t, d.endsAt+1)
	d.wantState(requestFinished)
	d.wantSlots(slotFinished, slotFinished, slotFinished)
	d.goTo(t, d.endsAt+100)
	d.wantEnd(d.endsAt)

	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.wantState(requestFinished)
	d.wantSlots(slotPaid, slotFinished, slotFinished)
	d.wantEnd(d.endsAt)
}

func TestRequestFailsWhenItLosesMoreSlotsThanItCanBear(t *testing.T) {
	d := newMarket(t).started()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.wantState(requestStarted)
	d.wantSlots(slotRepair, slotFilled, slotFilled)

	receipt := d.send(otherHost, pack.PackFreeSlot(d.slot(1)))
	failedAt := d.now(t)
	if diff := cmp.Diff([]string{"SlotFreed", "RequestFailed"}, d.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	failed, err := pack.UnpackRequestFailedEvent(receipt.Logs[1])
	if err != nil || failed.RequestId != d.id {
		t.Fatalf("event is %+v, %v", failed, err)
	}
	d.wantState(requestFailed)
	d.wantEnd(failedAt - 1)
	d.wantSlots(slotFailed, slotFailed, slotFailed)

	d.goTo(t, d.endsAt+1)
	d.wantState(requestFailed)
	d.wantEnd(failedAt - 1)
}

func TestNewRequestNeverFails(t *testing.T) {
	d := newMarket(t).ask()
	for i, account := range []int{host, otherHost} {
		d.fill(account, uint64(i))
	}
	for i, account := range []int{host, otherHost} {
		d.send(account, pack.PackFreeSlot(d.slot(uint64(i))))
		d.wantState(requestNew)
	}
	d.wantSlots(slotRepair, slotRepair, slotFree)
	d.goTo(t, d.expiresAt+1)
	d.wantState(requestCancelled)
	d.wantSlots(slotCancelled, slotCancelled, slotFree)
}

func TestFreedSlotOfANewRequestCanBeRefilledAndStartsIt(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.goTo(t, nextPeriod(d.now(t)))
	d.fillAll()
	d.wantState(requestStarted)
	d.wantSlots(slotFilled, slotFilled, slotFilled)
}
