package contracts_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts/contractstest"
)

// nextPeriod returns the first second of the period after that of t.
func nextPeriod(t uint64) uint64 { return (t/period + 1) * period }

func TestHostIsPaidForTheTimeItHosted(t *testing.T) {
	d := newMarket(t).ask()
	filledAt := [slots]uint64{}
	for i, account := range []int{host, otherHost, thirdHost} {
		d.goTo(t, d.now(t)+100)
		d.fill(account, uint64(i))
		filledAt[i] = d.now(t)
	}
	d.goTo(t, d.endsAt+1)
	for i, account := range []int{host, otherHost, thirdHost} {
		receipt := d.send(account, pack.PackFreeSlot(d.slot(uint64(i))))
		if diff := cmp.Diff([]string{"Transfer", "Transfer"}, d.eventNames(receipt)); diff != "" {
			t.Fatalf("events differ (-want +got):\n%s", diff)
		}
		want := int64(d.endsAt-filledAt[i])*pricePerSecond + collateral
		if got := d.balanceOf(account); got != want {
			t.Fatalf("host %d has %d, want %d", i, got, want)
		}
	}
}

func TestHostsOfACancelledRequestArePaidUntilTheExpiry(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	filledAt := d.now(t)
	d.goTo(t, d.expiresAt+1)
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	want := int64(d.expiresAt-filledAt)*pricePerSecond + collateral
	if got := d.balanceOf(host); got != want {
		t.Fatalf("host has %d, want %d", got, want)
	}
	if got := d.slotState(0); got != slotPaid {
		t.Fatalf("slot state is %d, want paid", got)
	}
	d.refuses(host, pack.PackFreeSlot(d.slot(0)), "Marketplace_AlreadyPaid")
}

func TestRewardAndCollateralCanGoToOthers(t *testing.T) {
	for name, end := range map[string]func(*deal) uint64{
		"finished":  func(d *deal) uint64 { d.fill(otherHost, 1); d.fill(thirdHost, 2); return d.endsAt },
		"cancelled": func(d *deal) uint64 { return d.expiresAt },
	} {
		t.Run(name, func(t *testing.T) {
			d := newMarket(t).ask()
			d.fill(host, 0)
			filledAt := d.now(t)
			until := end(d)
			d.goTo(t, until+1)
			reward, back := common.Address{0xaa}, common.Address{0xbb}
			d.send(host, pack.PackFreeSlotTo(d.slot(0), reward, back))
			if got, want := d.balance(reward), int64(until-filledAt)*pricePerSecond; got != want {
				t.Fatalf("reward is %d, want %d", got, want)
			}
			if got := d.balance(back); got != collateral {
				t.Fatalf("collateral returned is %d, want %d", got, collateral)
			}
			if got := d.balanceOf(host); got != 0 {
				t.Fatalf("host got %d itself", got)
			}
		})
	}
}

func TestOnlyTheHostFreesItsSlotAndIsPaidOnce(t *testing.T) {
	d := newMarket(t).started()
	d.refuses(otherHost, pack.PackFreeSlot(d.slot(0)), "Marketplace_InvalidSlotHost")
	d.goTo(t, d.endsAt+1)
	d.refuses(otherHost, pack.PackFreeSlot(d.slot(0)), "Marketplace_InvalidSlotHost")
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.refuses(host, pack.PackFreeSlot(d.slot(0)), "Marketplace_AlreadyPaid")
}

// At the last second the request still runs, so freeing forfeits everything.
func TestFreeingBeforeTheEndCostsEverything(t *testing.T) {
	d := newMarket(t).started()
	d.sendAt(d.endsAt-1, host, pack.PackFreeSlot(d.slot(0)))
	if got := d.balanceOf(host); got != 0 {
		t.Fatalf("host got %d, want nothing", got)
	}
	if got := d.slotState(0); got != slotRepair {
		t.Fatalf("slot state is %d, want repair", got)
	}
	d.goTo(t, d.endsAt+1)
	if got := d.slotState(0); got != slotFinished {
		t.Fatalf("slot state after the end is %d, want finished", got)
	}
	d.refuses(host, pack.PackFreeSlot(d.slot(0)), "Marketplace_InvalidSlotHost")
}

func TestFailedRequestCostsAllHostsEverything(t *testing.T) {
	d := newMarket(t).started()
	d.fail()
	for range 2 { // It can be repeated.
		d.send(thirdHost, pack.PackFreeSlot(d.slot(2)))
		if got := d.balanceOf(thirdHost); got != 0 {
			t.Fatalf("host got %d, want nothing", got)
		}
		if got := d.slotState(2); got != slotFailed {
			t.Fatalf("slot state is %d, want failed", got)
		}
		if got := d.slotsOf(thirdHost); len(got) != 0 {
			t.Fatalf("host still has slots %x", got)
		}
	}
	d.send(client, pack.PackWithdrawFunds(d.id))
	if got := d.balanceOf(client); got != price {
		t.Fatalf("client got %d, want all of %d", got, price)
	}
}

func TestWithdrawalsAreRefusedUntilTheRequestIsOver(t *testing.T) {
	d := newMarket(t).ask()
	withdraw := pack.PackWithdrawFunds(d.id)
	d.refuses(host, withdraw, "Marketplace_InvalidClientAddress")
	d.refuses(client, withdraw, "Marketplace_InvalidState")
	d.goTo(t, d.expiresAt)
	d.refuses(client, withdraw, "Marketplace_InvalidState")
	d.goTo(t, d.expiresAt+1)
	d.refuses(host, withdraw, "Marketplace_InvalidClientAddress")
	d.send(client, withdraw)
	d.refuses(client, withdraw, "Marketplace_NothingToWithdraw")

	d = newMarket(t).started()
	withdraw = pack.PackWithdrawFunds(d.id)
	d.refuses(client, withdraw, "Marketplace_InvalidState")
	d.goTo(t, d.endsAt)
	d.refuses(client, withdraw, "Marketplace_InvalidState")
	d.goTo(t, d.endsAt+1)
	d.accepts(client, withdraw)
}

func TestClientOfAFinishedRequestGetsWhatNobodyEarned(t *testing.T) {
	d := newMarket(t).started()
	d.goTo(t, d.endsAt+1)
	earned := int64(0)
	for i, account := range []int{host, otherHost, thirdHost} {
		d.send(account, pack.PackFreeSlot(d.slot(uint64(i))))
		earned += d.balanceOf(account) - collateral
	}
	d.send(client, pack.PackWithdrawFunds(d.id))
	if got := d.balanceOf(client); got != price-earned {
		t.Fatalf("client got %d, want %d", got, price-earned)
	}
	if got := d.balance(d.address); got != 0 {
		t.Fatalf("marketplace keeps %d, want nothing", got)
	}
}

func TestClientOfACancelledRequestGetsAllButTheHostsShare(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	filledAt := d.now(t)
	d.goTo(t, d.expiresAt+1)
	receipt := d.send(client, pack.PackWithdrawFunds(d.id))
	want := []string{"RequestCancelled", "Transfer"}
	if diff := cmp.Diff(want, d.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	cancelled, err := pack.UnpackRequestCancelledEvent(receipt.Logs[0])
	if err != nil || cancelled.RequestId != d.id {
		t.Fatalf("event is %+v, %v", cancelled, err)
	}
	share := int64(d.expiresAt-filledAt) * pricePerSecond
	if got := d.balanceOf(client); got != price-share {
		t.Fatalf("client got %d, want %d", got, price-share)
	}
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	if got := d.balance(d.address); got != 0 {
		t.Fatalf("marketplace keeps %d, want nothing", got)
	}
}

func TestClientGetsThePayOfASlotThatNobodyRepaired(t *testing.T) {
	d := newMarket(t).started()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.goTo(t, d.endsAt+1)
	earned := int64(0)
	for i, account := range []int{otherHost, thirdHost} {
		d.send(account, pack.PackFreeSlot(d.slot(uint64(i+1))))
		earned += d.balanceOf(account) - collateral
	}
	d.send(client, pack.PackWithdrawFunds(d.id))
	if got := d.balanceOf(client); got != price-earned {
		t.Fatalf("client got %d, want %d", got, price-earned)
	}
	if got := d.balance(d.address); got != collateral {
		t.Fatalf("marketplace keeps %d, want the forfeited %d", got, collateral)
	}
}

func TestWithdrawalCanGoToAnother(t *testing.T) {
	d := newMarket(t).ask()
	d.goTo(t, d.expiresAt+1)
	recipient := common.Address{0xcc}
	d.send(client, pack.PackWithdrawFundsTo(d.id, recipient))
	if got := d.balance(recipient); got != price {
		t.Fatalf("recipient got %d, want %d", got, price)
	}
	if got := d.balanceOf(client); got != 0 {
		t.Fatalf("client got %d itself", got)
	}
}

func TestNothingIsLeftToWithdrawWhenAllWasFilledAtOnce(t *testing.T) {
	m := newMarket(t)
	request := newRequest()
	request.Ask.Slots = 1
	m.fund(client, price)
	m.fund(host, collateral)
	id := requestID(request)
	m.send(host, pack.PackReserveSlot(id, 0)) // Reservations need no request.
	ask := m.sign(t, client, &m.address, pack.PackRequestStorage(request), 2)
	fill := m.sign(t, host, &m.address, pack.PackFillSlot(id, 0, goodProof()), 1)
	m.both(t, ask, client, fill, host)

	m.goTo(t, m.now(t)+request.Ask.Duration+1)
	m.refuses(client, pack.PackWithdrawFunds(id), "Marketplace_NothingToWithdraw")
	m.send(host, pack.PackFreeSlot(slotID(id, 0)))
	want := int64(requestDuration*pricePerSecond + collateral)
	if got := m.balanceOf(host); got != want {
		t.Fatalf("host has %d, want %d", got, want)
	}
}

func TestListsLoseWhatIsSettled(t *testing.T) {
	m := newMarket(t)
	first, second, third := m.started(), m.started(), m.started()
	m.goTo(t, third.endsAt+1)
	// Settling the first one moves the last to its position.
	m.send(host, pack.PackFreeSlot(first.slot(0)))
	wantSlots := [][32]byte{third.slot(0), second.slot(0)}
	if diff := cmp.Diff(wantSlots, m.slotsOf(host)); diff != "" {
		t.Fatalf("slots differ (-want +got):\n%s", diff)
	}
	wantRequests := [][32]byte{third.id, second.id}
	if diff := cmp.Diff(wantRequests, m.requestsOf(client)); diff != "" {
		t.Fatalf("requests differ (-want +got):\n%s", diff)
	}
	m.send(client, pack.PackWithdrawFunds(second.id))
	m.send(client, pack.PackWithdrawFunds(first.id)) // No longer listed, still owed.
	if diff := cmp.Diff([][32]byte{third.id}, m.requestsOf(client)); diff != "" {
		t.Fatalf("requests differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantSlots, m.slotsOf(host)); diff != "" {
		t.Fatalf("a withdrawal changed the host's slots (-want +got):\n%s", diff)
	}
}

func TestTokenThatSaysNoIsATransferFailure(t *testing.T) {
	shared.grow(t)
	token := shared.create(t, common.FromHex(contractstest.RefusingTokenMetaData.Bin))
	verifier := shared.create(t, common.FromHex(contractstest.DummyVerifierMetaData.Bin))
	m := deployMarket(t, defaultConfig(""), token, verifier)
	refuse := func(yes bool) {
		m.toToken(stranger, contractstest.NewRefusingToken().PackSetRefuses(yes))
	}
	const name = "Marketplace_TransferFailed"
	request := newRequest()
	m.refuses(client, pack.PackRequestStorage(request), name)
	refuse(false)
	m.send(client, pack.PackRequestStorage(request))
	expiresAt := m.now(t) + request.Expiry
	id := requestID(request)
	m.send(host, pack.PackReserveSlot(id, 0))
	refuse(true)
	m.refuses(host, pack.PackFillSlot(id, 0, goodProof()), name)
	refuse(false)
	m.send(host, pack.PackFillSlot(id, 0, goodProof()))
	refuse(true)
	m.goTo(t, expiresAt+1)
	m.refuses(host, pack.PackFreeSlot(slotID(id, 0)), name)
	m.refuses(client, pack.PackWithdrawFunds(id), name)
}
