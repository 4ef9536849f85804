package contracts_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestFillingTakesExactlyTheCollateral(t *testing.T) {
	d := newMarket(t).ask()
	d.fund(host, collateral+7)
	d.reserve(host, 0)
	before := d.balance(d.address)
	d.send(host, d.packFill(0))
	if got := d.balanceOf(host); got != 7 {
		t.Fatalf("host has %d left, want 7", got)
	}
	if got := d.balance(d.address) - before; got != collateral {
		t.Fatalf("marketplace got %d, want %d", got, collateral)
	}
	if got := d.collateral(0); got != collateral {
		t.Fatalf("collateral is %d, want %d", got, collateral)
	}
	if got := d.host(0); got != d.chain.address(host) {
		t.Fatalf("host is %v", got)
	}
	active := view(d.market, pack.PackGetActiveSlot(d.slot(0)), pack.UnpackGetActiveSlot)
	want := bindings.ActiveSlot{Request: d.request, SlotIndex: 0}
	if diff := cmp.Diff(want, active, bigInts()); diff != "" {
		t.Fatalf("active slot differs (-want +got):\n%s", diff)
	}
}

func TestFillingNeedsReservationProofAndAllowance(t *testing.T) {
	d := newMarket(t).ask()
	d.refuses(host, pack.PackFillSlot(d.id, slots, goodProof()), "Marketplace_InvalidSlot")
	d.refuses(host, d.packFill(0), "Marketplace_ReservationRequired")
	d.reserve(host, 0)
	d.refuses(host, pack.PackFillSlot(d.id, 0, badProof()), "Proofs_InvalidProof")
	d.toToken(host, packToken.PackMint(d.chain.address(host), bigInt(collateral)))
	d.toToken(host, packToken.PackApprove(d.address, bigInt(collateral-1)))
	d.refuses(host, d.packFill(0), "ERC20InsufficientAllowance")
	d.toToken(host, packToken.PackApprove(d.address, bigInt(collateral)))
	d.accepts(host, d.packFill(0))
}

func TestFillingEmitsItsEventsInOrder(t *testing.T) {
	d := newMarket(t).ask()
	first := d.fill(host, 0)
	want := []string{"ProofSubmitted", "Transfer", "SlotFilled"}
	if diff := cmp.Diff(want, d.eventNames(first)); diff != "" {
		t.Fatalf("events of the first slot differ (-want +got):\n%s", diff)
	}
	proof, err := pack.UnpackProofSubmittedEvent(first.Logs[0])
	if err != nil || proof.Id != d.slot(0) {
		t.Fatalf("proof event is %+v, %v", proof, err)
	}
	filled, err := pack.UnpackSlotFilledEvent(first.Logs[2])
	if err != nil || filled.RequestId != d.id || filled.SlotIndex != 0 {
		t.Fatalf("filled event is %+v, %v", filled, err)
	}

	d.fill(otherHost, 1)
	last := d.fill(thirdHost, 2)
	want = append(want, "RequestFulfilled")
	if diff := cmp.Diff(want, d.eventNames(last)); diff != "" {
		t.Fatalf("events of the last slot differ (-want +got):\n%s", diff)
	}
	fulfilled, err := pack.UnpackRequestFulfilledEvent(last.Logs[3])
	if err != nil || fulfilled.RequestId != d.id {
		t.Fatalf("fulfilled event is %+v, %v", fulfilled, err)
	}
}

func TestRepairDoesNotFulfilTheRequestAgain(t *testing.T) {
	d := newMarket(t).started()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.goTo(t, nextPeriod(d.now(t)))
	receipt := d.fill(fourthHost, 0)
	want := []string{"ProofSubmitted", "Transfer", "SlotFilled"}
	if diff := cmp.Diff(want, d.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	if got := d.state(); got != requestStarted {
		t.Fatalf("state is %d, want started", got)
	}
}

func TestRepairIsDiscountedAndHeldInFull(t *testing.T) {
	d := newMarket(t).started()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.goTo(t, nextPeriod(d.now(t)))
	d.fill(fourthHost, 0)
	if got := d.balanceOf(fourthHost); got != collateral/10 {
		t.Fatalf("repairing host kept %d, want %d", got, collateral/10)
	}
	if got := d.collateral(0); got != collateral {
		t.Fatalf("collateral is %d, want %d", got, collateral)
	}
}

// Edge case: the contract remembers that a proof was received, even when the slot changes hands.
func TestRepairInThePeriodOfAProofIsRefused(t *testing.T) {
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	d.fill(host, 0)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.fund(otherHost, collateral)
	d.reserve(otherHost, 0)
	d.refuses(otherHost, d.packFill(0), "Proofs_ProofAlreadySubmitted")
	d.goTo(t, nextPeriod(d.now(t)))
	d.accepts(otherHost, d.packFill(0))
}

func TestFillingIsRefusedUnlessTheSlotIsFree(t *testing.T) {
	const name = "Marketplace_SlotNotFree"
	reserved := func(d *deal) {
		d.reserve(fourthHost, 2)
		d.reserve(fourthHost, 0)
	}
	t.Run("filled", func(t *testing.T) {
		d := newMarket(t).ask()
		reserved(d)
		d.fill(host, 0)
		d.refuses(fourthHost, d.packFill(0), name)
	})
	t.Run("finished and paid", func(t *testing.T) {
		d := newMarket(t).ask()
		reserved(d)
		d.fillAll()
		d.goTo(t, d.endsAt+1)
		d.refuses(fourthHost, d.packFill(0), name)
		d.send(host, pack.PackFreeSlot(d.slot(0)))
		d.refuses(fourthHost, d.packFill(0), name)
	})
	t.Run("cancelled", func(t *testing.T) {
		d := newMarket(t).ask()
		reserved(d)
		d.goTo(t, d.expiresAt+1)
		d.refuses(fourthHost, d.packFill(2), name)
	})
	t.Run("failed", func(t *testing.T) {
		d := newMarket(t).ask()
		reserved(d)
		d.fillAll()
		d.fail()
		d.refuses(fourthHost, d.packFill(2), name)
	})
}

func TestFillingAtTheExpiryIsAcceptedAndLocksTheCollateral(t *testing.T) {
	d := newMarket(t).ask()
	d.fund(host, collateral)
	d.reserve(host, 0)
	d.sendAt(d.expiresAt, host, d.packFill(0))
	if got := d.state(); got != requestNew {
		t.Fatalf("state at the expiry is %d, want new", got)
	}
	d.goTo(t, d.expiresAt+1)
	d.refuses(host, pack.PackFreeSlot(d.slot(0)), "Marketplace_StartNotBeforeExpiry")
}

func TestRepairAtTheEndEarnsNothingAndIsRefused(t *testing.T) {
	d := newMarket(t).started()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.fund(fourthHost, collateral)
	d.reserve(fourthHost, 0)
	d.goTo(t, d.endsAt)
	d.refuses(fourthHost, d.packFill(0), "Marketplace_StartNotBeforeExpiry")
}

func TestHostOfAFreedSlotIsNobody(t *testing.T) {
	d := newMarket(t).started()
	receipt := d.send(host, pack.PackFreeSlot(d.slot(0)))
	if diff := cmp.Diff([]string{"SlotFreed"}, d.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	freed, err := pack.UnpackSlotFreedEvent(receipt.Logs[0])
	if err != nil || freed.RequestId != d.id || freed.SlotIndex != 0 {
		t.Fatalf("event is %+v, %v", freed, err)
	}
	if got := d.host(0); (got != common.Address{}) {
		t.Fatalf("host is %v, want none", got)
	}
	if got := d.collateral(0); got != 0 {
		t.Fatalf("collateral is %d, want 0", got)
	}
	if got := d.slotsOf(host); len(got) != 0 {
		t.Fatalf("host still has slots %x", got)
	}
	d.refuses(host, pack.PackFreeSlot(d.slot(0)), "Marketplace_InvalidSlotHost")
	d.accepts(stranger, pack.PackGetActiveSlot(d.slot(0)))
}
