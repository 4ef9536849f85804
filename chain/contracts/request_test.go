package contracts_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// bigInts lets cmp compare numbers by value.
func bigInts() cmp.Option {
	return cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
}

// The faults are in the order in which the contract checks. Each request has all faults from one
// on, so the first one must decide.
func TestFirstFaultOfARequestDecidesTheError(t *testing.T) {
	m := newMarket(t)
	const limit = 30 * 24 * 60 * 60
	spoils := []struct {
		want  string
		spoil func(*bindings.Request)
	}{
		{"Marketplace_InvalidClientAddress", func(r *bindings.Request) {
			r.Client = m.chain.address(stranger)
		}},
		{"Marketplace_InvalidExpiry", func(r *bindings.Request) { r.Expiry = 0 }},
		{"Marketplace_InsufficientSlots", func(r *bindings.Request) { r.Ask.Slots = 0 }},
		{"Marketplace_InvalidMaxSlotLoss", func(r *bindings.Request) {
			r.Ask.MaxSlotLoss = r.Ask.Slots + 1
		}},
		{"Marketplace_InsufficientProofProbability", func(r *bindings.Request) {
			r.Ask.ProofProbability = new(big.Int)
		}},
		{"Marketplace_InsufficientCollateral", func(r *bindings.Request) {
			r.Ask.CollateralPerByte = new(big.Int)
		}},
		{"Marketplace_InsufficientReward", func(r *bindings.Request) {
			r.Ask.PricePerBytePerSecond = new(big.Int)
		}},
		{"Marketplace_InvalidCid", func(r *bindings.Request) { r.Content.Cid = nil }},
		{"Marketplace_DurationExceedsLimit", func(r *bindings.Request) {
			r.Ask.Duration = limit + 1
		}},
		{"ERC20InsufficientAllowance", func(*bindings.Request) {}},
	}
	for first := range spoils {
		request := newRequest()
		for i := len(spoils) - 1; i >= first; i-- {
			spoils[i].spoil(&request)
		}
		m.refuses(client, pack.PackRequestStorage(request), spoils[first].want)
	}
}

func TestExpiryMustLieBeforeTheEnd(t *testing.T) {
	m := newMarket(t)
	request := newRequest()
	request.Expiry = request.Ask.Duration
	m.refuses(client, pack.PackRequestStorage(request), "Marketplace_InvalidExpiry")
	request.Ask.Duration, request.Expiry = 0, 0
	m.refuses(client, pack.PackRequestStorage(request), "Marketplace_InvalidExpiry")
	m.fund(client, price)
	request.Ask.Duration, request.Expiry = requestDuration, requestDuration-1
	m.accepts(client, pack.PackRequestStorage(request))
}

func TestRequestOverflowingSlotSecondsPanics(t *testing.T) {
	m := newMarket(t)
	request := newRequest()
	request.Ask.Slots = math.MaxUint64 / 2
	m.refuses(client, pack.PackRequestStorage(request), "Panic(0x11)")
}

func TestRequestOfEmptySlotsOrWithAnImpossibleRootIsAccepted(t *testing.T) {
	m := newMarket(t)
	empty := newRequest()
	empty.Ask.SlotSize = 0
	m.accepts(client, pack.PackRequestStorage(empty))

	root := newRequest()
	for i := range root.Content.MerkleRoot {
		root.Content.MerkleRoot[i] = 0xff
	}
	m.fund(client, price)
	m.accepts(client, pack.PackRequestStorage(root))
}

func TestRequestCostsItsFullPriceAndIsAnnounced(t *testing.T) {
	m := newMarket(t)
	request := newRequest()
	m.fund(client, price)
	receipt := m.send(client, pack.PackRequestStorage(request))
	want := []string{"Transfer", "StorageRequested"}
	if diff := cmp.Diff(want, m.eventNames(receipt)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	event, err := pack.UnpackStorageRequestedEvent(receipt.Logs[1])
	if err != nil {
		t.Fatalf("unpack: %v", err)
	}
	wantEvent := &bindings.MarketplaceStorageRequested{
		RequestId: requestID(request), Ask: request.Ask, Expiry: m.now(t) + request.Expiry,
	}
	ignored := cmpopts.IgnoreFields(bindings.MarketplaceStorageRequested{}, "Raw")
	if diff := cmp.Diff(wantEvent, event, bigInts(), ignored); diff != "" {
		t.Fatalf("event differs (-want +got):\n%s", diff)
	}
	if got := m.balance(m.address); got != price {
		t.Fatalf("marketplace holds %d, want %d", got, price)
	}
	if got := m.balanceOf(client); got != 0 {
		t.Fatalf("client has %d left, want none", got)
	}
}

func TestRequestCanBeReadBackAndListed(t *testing.T) {
	m := newMarket(t)
	first, second := m.ask(), m.ask()
	got := view(m, pack.PackGetRequest(first.id), pack.UnpackGetRequest)
	if diff := cmp.Diff(first.request, got, bigInts()); diff != "" {
		t.Fatalf("request differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][32]byte{first.id, second.id}, m.requestsOf(client)); diff != "" {
		t.Fatalf("requests differ (-want +got):\n%s", diff)
	}
	if got := m.requestsOf(host); len(got) != 0 {
		t.Fatalf("a stranger has requests: %v", got)
	}
	expiry := view(m, pack.PackRequestExpiry(first.id), pack.UnpackRequestExpiry)
	if expiry != first.expiresAt {
		t.Fatalf("expiry is %d, want %d", expiry, first.expiresAt)
	}
}

func TestSameRequestTwiceIsRefused(t *testing.T) {
	d := newMarket(t).ask()
	d.refuses(client, pack.PackRequestStorage(d.request), "Marketplace_RequestAlreadyExists")
	d.request.Nonce[0]++
	d.fund(client, price)
	d.accepts(client, pack.PackRequestStorage(d.request))
}

func TestUnknownIdsReadAsNothing(t *testing.T) {
	m := newMarket(t)
	unknown := [32]byte{0xde, 0xad}
	const name = "Marketplace_UnknownRequest"
	m.refuses(client, pack.PackGetRequest(unknown), name)
	m.refuses(client, pack.PackRequestState(unknown), name)
	m.refuses(client, pack.PackRequestEnd(unknown), name)
	m.refuses(client, pack.PackWithdrawFunds(unknown), name)
	m.refuses(host, pack.PackFillSlot(unknown, 0, goodProof()), name)
	m.refuses(host, pack.PackSubmitProof(unknown, goodProof()), name)
	m.refuses(host, pack.PackFreeSlot(unknown), "Marketplace_SlotIsFree")
	m.refuses(host, pack.PackGetActiveSlot(unknown), "Marketplace_SlotIsFree")

	if got := view(m, pack.PackSlotState(unknown), pack.UnpackSlotState); got != slotFree {
		t.Fatalf("slot state is %d, want free", got)
	}
	if got := view(m, pack.PackRequestExpiry(unknown), pack.UnpackRequestExpiry); got != 0 {
		t.Fatalf("expiry is %d, want 0", got)
	}
	got := view(m, pack.PackGetHost(unknown), pack.UnpackGetHost)
	if (got != common.Address{}) {
		t.Fatalf("host is %v, want none", got)
	}
	amount := view(m, pack.PackCurrentCollateral(unknown), pack.UnpackCurrentCollateral)
	if amount.Sign() != 0 {
		t.Fatalf("collateral is %v, want 0", amount)
	}
	if view(m, pack.PackIsProofRequired(unknown), pack.UnpackIsProofRequired) ||
		view(m, pack.PackWillProofBeRequired(unknown), pack.UnpackWillProofBeRequired) {
		t.Fatalf("a proof of an unknown slot is required")
	}
}

func TestDurationMayReachItsLimit(t *testing.T) {
	m := newMarket(t)
	const limit = 30 * 24 * 60 * 60
	request := newRequest()
	request.Ask.Duration = limit
	m.fund(client, slots*limit*pricePerSecond)
	m.accepts(client, pack.PackRequestStorage(request))
	request.Ask.Duration = limit + 1
	m.refuses(client, pack.PackRequestStorage(request), "Marketplace_DurationExceedsLimit")
}
