package contracts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (d *deal) packMark(index, periodNumber uint64) []byte {
	return pack.PackMarkProofAsMissing(d.slot(index), periodNumber)
}

// cannotMark checks that the transaction and the view fail with the same error.
func (d *deal) cannotMark(index, periodNumber uint64, name string) {
	d.t.Helper()
	d.refuses(validator, d.packMark(index, periodNumber), name)
	d.refuses(validator, pack.PackCanMarkProofAsMissing(d.slot(index), periodNumber), name)
}

func (d *deal) missed(index uint64) uint64 {
	d.t.Helper()
	return view(d.market, pack.PackMissingProofs(d.slot(index)), pack.UnpackMissingProofs)
}

// miss lets a period pass without a proof, up to where it can be marked, and returns the period's
// number.
func (d *deal) miss(index uint64) uint64 {
	d.t.Helper()
	d.goTo(d.t, nextPeriod(d.now(d.t)))
	missed := d.now(d.t) / period
	d.goTo(d.t, (missed+1)*period)
	d.leaveDowntimeOfNextBlock(index, missed)
	return missed
}

// leaveDowntimeOfNextBlock leaves the downtime for the transaction's own block, too.
func (d *deal) leaveDowntimeOfNextBlock(index, periodNumber uint64) {
	d.t.Helper()
	d.mine(d.t, 1)
	for p := d.wantPointer(index, periodNumber); p < downtime || p == 255; {
		d.mine(d.t, 1)
		p = d.wantPointer(index, periodNumber)
	}
}

// The numbers are those of the published example.
func TestMissedProofsCostCollateralAndThenTheSlot(t *testing.T) {
	d := newMarket(t).started()
	before := d.balanceOf(host)
	first := d.send(validator, d.packMark(0, d.miss(0)))
	if diff := cmp.Diff([]string{"Transfer"}, d.eventNames(first)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	if got := d.collateral(0); got != 8000 {
		t.Fatalf("collateral is %d, want 8000", got)
	}
	if got := d.balanceOf(validator); got != 400 {
		t.Fatalf("validator has %d, want 400", got)
	}
	if got := d.missed(0); got != 1 {
		t.Fatalf("%d missed, want 1", got)
	}

	second := d.send(validator, d.packMark(0, d.miss(0)))
	if diff := cmp.Diff([]string{"Transfer", "SlotFreed"}, d.eventNames(second)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	if got := d.collateral(0); got != 0 {
		t.Fatalf("collateral is %d, want 0", got)
	}
	if got := d.balanceOf(validator); got != 800 {
		t.Fatalf("validator has %d, want 800", got)
	}
	if got := d.missed(0); got != 0 {
		t.Fatalf("%d missed, want the counter reset", got)
	}
	d.wantSlots(slotRepair, slotFilled, slotFilled)
	if got := d.slotsOf(host); len(got) != 0 {
		t.Fatalf("host still has slots %x", got)
	}
	if got := d.balanceOf(host); got != before {
		t.Fatalf("host has %d, want %d", got, before)
	}

	d.fill(fourthHost, 0)
	if got := d.balanceOf(fourthHost); got != 1000 {
		t.Fatalf("repairing host kept %d, want 1000", got)
	}
	if got := d.collateral(0); got != 10000 {
		t.Fatalf("collateral is %d, want 10000", got)
	}
}

func TestSlashingCanFailTheRequest(t *testing.T) {
	d := newMarket(t).started()
	d.send(otherHost, pack.PackFreeSlot(d.slot(1)))
	d.send(validator, d.packMark(0, d.miss(0)))
	receipt := d.send(validator, d.packMark(0, d.miss(0)))
	want := []string{"Transfer", "SlotFreed", "RequestFailed"}
	if diff := cmp.Diff(want, d.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	d.wantState(requestFailed)
}

func TestSlashedHostIsPaidButGetsLessBack(t *testing.T) {
	d := newMarket(t).started()
	d.send(validator, d.packMark(0, d.miss(0)))
	d.goTo(t, d.endsAt+1)
	before := d.balance(d.address)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	paid := before - d.balance(d.address)
	if got := d.balanceOf(host); got != paid || paid%pricePerSecond != 0 || paid < 8000 {
		t.Fatalf("host got %d, marketplace paid %d", got, paid)
	}
	if got := d.collateral(0); got != 8000 {
		t.Fatalf("collateral reads %d after payment, want it unchanged at 8000", got)
	}
}

func TestMissCanBeMarkedOnlyInItsWindow(t *testing.T) {
	d := newMarket(t).started()
	missed := d.miss(0)
	d.send(validator, d.packMark(0, missed)) // By time alone the window is open.

	next := missed + 1
	end := (next + 1) * period
	d.goTo(t, end-1)
	d.cannotMark(0, next, "Proofs_PeriodNotEnded")
	d.goTo(t, end)
	d.cannotMark(0, next, "Proofs_PeriodNotEnded")
	d.leaveDowntimeOfNextBlock(0, next)
	d.goTo(t, end+timeout-1)
	d.leaveNoDoubt(0, next, end+timeout-1)
	d.accepts(validator, d.packMark(0, next))
	d.accepts(validator, pack.PackCanMarkProofAsMissing(d.slot(0), next))
	d.goTo(t, end+timeout)
	d.cannotMark(0, next, "Proofs_ValidationTimedOut")
}

// leaveNoDoubt checks that not the pointer decides but the time.
func (d *deal) leaveNoDoubt(index, periodNumber, timestamp uint64) {
	d.t.Helper()
	if d.now(d.t) != timestamp || d.wantPointer(index, periodNumber) < downtime {
		d.t.Fatalf("at %d the pointer is %d", d.now(d.t), d.wantPointer(index, periodNumber))
	}
}

func TestMissCanBeMarkedInTheFirstSecondAfterItsPeriod(t *testing.T) {
	d := newMarket(t).started()
	d.goTo(t, nextPeriod(d.now(t)))
	number := d.now(t) / period
	d.leaveDowntime(0, number) // Takes less than a period.
	for d.wantPointer(0, number) > 250 {
		d.mine(t, 1)
		d.leaveDowntime(0, number)
	}
	d.goTo(t, (number+1)*period)
	d.cannotMark(0, number, "Proofs_PeriodNotEnded")
	d.mine(t, 1)
	d.leaveNoDoubt(0, number, (number+1)*period+1)
	d.accepts(validator, d.packMark(0, number))
}

func TestOnlyRealMissesCanBeMarked(t *testing.T) {
	manyBlocks(t)
	t.Run("free", func(t *testing.T) {
		d := newMarket(t).ask()
		d.cannotMark(0, d.now(t)/period, "Marketplace_SlotNotAcceptingProofs")
	})
	t.Run("received", func(t *testing.T) {
		d := newMarket(t).started()
		d.goTo(t, nextPeriod(d.now(t)))
		d.submit(host, 0)
		number := d.now(t) / period
		d.goTo(t, nextPeriod(d.now(t)))
		d.leaveDowntimeOfNextBlock(0, number)
		d.cannotMark(0, number, "Proofs_ProofNotMissing")
	})
	t.Run("twice", func(t *testing.T) {
		d := newMarket(t).started()
		missed := d.miss(0)
		d.send(validator, d.packMark(0, missed))
		d.cannotMark(0, missed, "Proofs_ProofAlreadyMarkedMissing")
	})
	t.Run("in the downtime", func(t *testing.T) {
		d := newMarket(t).started()
		d.goTo(t, nextPeriod(d.now(t)))
		number := d.now(t) / period
		// Go on until the next block after the period is in the downtime.
		for d.wantPointer(0, number) >= downtime-4 {
			d.mine(t, 1)
		}
		d.goTo(t, (number+1)*period)
		d.mine(t, 1)
		d.cannotMark(0, number, "Proofs_ProofNotRequired")
	})
	t.Run("in the period of filling", func(t *testing.T) {
		m := newMarket(t)
		m.goTo(t, nextPeriod(m.now(t)))
		d := m.ask()
		d.fill(host, 0)
		before := d.now(t)/period - 1
		d.leaveDowntime(0, before)
		d.cannotMark(0, before, "Proofs_ProofNotRequired")
	})
	t.Run("cancelled", func(t *testing.T) {
		d := newMarket(t).ask()
		d.fill(host, 0)
		d.goTo(t, d.expiresAt+1)
		d.cannotMark(0, d.now(t)/period-1, "Marketplace_SlotNotAcceptingProofs")
	})
	t.Run("at the end of time", func(t *testing.T) {
		d := newMarket(t).started()
		d.cannotMark(0, ^uint64(0), "Panic(0x11)")
	})
}
