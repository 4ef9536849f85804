package chain_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

var amounts = cmp.Comparer(func(a, b events.Amount) bool { return a == b })

func TestRequestAndSlotIDsAreTheContracts(t *testing.T) {
	// The test vector of spec/marketplace.md §1.3.
	r := events.Request{
		Client: events.Address{19: 0xaa},
		Ask: events.Ask{
			ProofProbability:      events.NewAmount(4),
			PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte:     events.NewAmount(2),
			Slots:                 3, SlotSize: 65536, Duration: time.Hour, MaxSlotLoss: 1,
		},
		Expiry: 600 * time.Second,
	}
	r.Content.CID = "\x01\x55"
	for i := range 32 {
		r.Content.MerkleRoot[i], r.Nonce[i] = 0x11, 0x22
	}
	id, err := chain.RequestIDOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := "0xae5b0b4b5e0afbe7d388e0ba3acea91a94fa7120da5ddb2705fbc0a61e09ce97"; id.String() != want {
		t.Fatalf("request id is %s, want %s", id, want)
	}
	want := "0x5e630eb67da70df7a7b98de3cceacb71ab22a2186bcdc1c3c8b1266d2f8aa429"
	if slot := events.SlotIDOf(id, 2); slot.String() != want {
		t.Fatalf("slot id is %s, want %s", slot, want)
	}
}

func TestHostLivesThroughASaleAndIsPaidToTheSecond(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	call := callFor(r, 0)

	if got, err := m.Request(t.Context(), r.ID); err != nil || !cmp.Equal(got, r, amounts) {
		t.Fatalf("request reads back as %+v (%v), want %+v", got, err, r)
	}
	if receipt := w.reserve(m, "host", call); receipt.TxHash.Zero() || receipt.Fee.IsZero() {
		t.Fatalf("receipt of the reservation is %+v", receipt)
	}
	fill := w.fill(m, "host", call)
	if fill.Collateral != events.NewAmount(10_000) || fill.FilledAt.IsZero() {
		t.Fatalf("fill is %+v", fill)
	}
	facts, err := m.Slot(t.Context(), r.ID, 0)
	if err != nil || facts.Host != m.Account() || facts.SlotState != events.SlotFilled ||
		facts.Collateral != events.NewAmount(10_000) || facts.RequestState != events.RequestNew {
		t.Fatalf("slot after the fill is %+v (%v)", facts, err)
	}
	mine, err := m.MySlots(t.Context())
	if err != nil || len(mine) != 1 || mine[0].Slot != call.Slot || mine[0].Request.ID != r.ID {
		t.Fatalf("own slots are %+v (%v)", mine, err)
	}
	// With the second slot the request starts.
	second := callFor(r, 1)
	w.reserve(m, "host", second)
	w.fill(m, "host", second)
	if state, err := w.requester.RequestState(t.Context(), r.ID); err != nil || state != events.RequestStarted {
		t.Fatalf("request is %v (%v), want started", state, err)
	}
	w.proveNextPeriod(m, call)

	w.sealUntil(facts.RequestEnd.Add(time.Second))
	before, err := m.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var payout events.PayoutReceipt
	w.drive("host", func(ctx context.Context) (err error) {
		payout, err = m.FreeSlot(ctx, call)
		return err
	})
	seconds := uint64(facts.RequestEnd.Sub(fill.FilledAt) / time.Second)
	if payout.Paid != events.NewAmount(1000*seconds+10_000) || payout.Collateral != events.NewAmount(10_000) {
		t.Fatalf("payout is %s with collateral %s, want %d for %d s and 10000",
			payout.Paid, payout.Collateral, 1000*seconds+10_000, seconds)
	}
	after, err := m.Balance(t.Context())
	if err != nil || after.Tokens != before.Tokens.Add(payout.Paid) {
		t.Fatalf("balance went from %s to %s (%v), paid %s", before.Tokens, after.Tokens, err, payout.Paid)
	}
	w.repeatedPayout(m, call, payout)
	w.drive("client", func(ctx context.Context) error { return w.requester.WithdrawFunds(ctx, r.ID) })
	if err := w.requester.WithdrawFunds(t.Context(), r.ID); !errors.Is(err, chain.ErrNothingLeft) {
		t.Fatalf("once more: %v, want ErrNothingLeft", err)
	}
}

// proveNextPeriod submits a proof in the next period, twice.
func (w *world) proveNextPeriod(m *chain.Market, call events.SlotCall) {
	w.t.Helper()
	const period = 20
	number := uint64(w.chain.Head().Time.Unix())/period + 1
	w.sealUntil(events.Unix(number * period))
	var first, again events.Receipt
	w.drive("host", func(ctx context.Context) (err error) {
		first, err = m.SubmitProof(ctx, call, number, goodProof(2))
		return err
	})
	nonce := w.nonce("host")
	w.drive("host", func(ctx context.Context) (err error) {
		again, err = m.SubmitProof(ctx, call, number, goodProof(2))
		return err
	})
	if diff := cmp.Diff(first, again, amounts); diff != "" || w.nonce("host") != nonce {
		w.t.Fatalf("the repeated proof brought another receipt (-first +again):\n%s", diff)
	}
	// A host that proves again after a crash makes another proof of the same statement.
	again, err := m.SubmitProof(w.t.Context(), call, number, goodProof(3))
	if diff := cmp.Diff(first, again, amounts); diff != "" || err != nil || w.nonce("host") != nonce {
		w.t.Fatalf("another proof for the period brought another receipt, or an error (%v):\n%s", err, diff)
	}
	_, err = m.SubmitProof(w.t.Context(), call, number-1, goodProof(3))
	if !errors.Is(err, events.ErrDeadlinePassed) {
		w.t.Fatalf("a proof for the last period: %v, want ErrDeadlinePassed", err)
	}
	w.seal(period)
	_, err = m.SubmitProof(w.t.Context(), call, number+1, events.Proof{})
	if !errors.Is(err, events.ErrInvalidProof) {
		w.t.Fatalf("a wrong proof: %v, want ErrInvalidProof", err)
	}
}

// repeatedPayout checks that freeing a paid slot again reports the payment, with and without a
// record.
func (w *world) repeatedPayout(m *chain.Market, call events.SlotCall, first events.PayoutReceipt) {
	w.t.Helper()
	first.AlreadyFree = true
	again, err := m.FreeSlot(w.t.Context(), call)
	if diff := cmp.Diff(first, again, amounts); err != nil || diff != "" {
		w.t.Fatalf("freed again: %v (-first +again):\n%s", err, diff)
	}
	if err := m.Close(); err != nil {
		w.t.Fatal(err)
	}
	blank := w.dialed("host", func(*chain.Config) {})
	again, err = blank.FreeSlot(w.t.Context(), call)
	if diff := cmp.Diff(first, again, amounts); err != nil || diff != "" {
		w.t.Fatalf("freed again without a record: %v (-first +again):\n%s", err, diff)
	}
}

func TestReservationIsFoundAgainWithoutAnyRecord(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call := callFor(w.request(), 0)
	first := w.reserve(m, "host", call)
	nonce := w.nonce("host")
	if again := w.reserve(m, "host", call); !cmp.Equal(first, again, amounts) {
		t.Fatalf("the same call brought %+v, first %+v", again, first)
	}
	other := call
	other.Attempt = 2
	if again := w.reserve(m, "host", other); !again.TxHash.Zero() {
		t.Fatalf("the next attempt brought %+v, want the zero receipt", again)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	blank := w.host("host", t.TempDir(), storetest.NewMemory())
	if again := w.reserve(blank, "host", call); !again.TxHash.Zero() {
		t.Fatalf("without a record the call brought %+v, want the zero receipt", again)
	}
	if got := w.nonce("host"); got != nonce {
		t.Fatalf("%d transactions were sent again", got-nonce)
	}
	facts, err := blank.Slot(t.Context(), call.Request, call.Index)
	if err != nil || facts.CanReserve {
		t.Fatalf("facts %+v (%v), want a slot that we cannot reserve twice", facts, err)
	}
}

func TestUnknownRequestIsNotReservedAlthoughTheContractWould(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	unknown := events.Request{ID: events.RequestID{1, 2, 3}}
	_, err := m.ReserveSlot(t.Context(), callFor(unknown, 0))
	if !errors.Is(err, events.ErrUnknownRequest) || w.nonce("host") != 0 {
		t.Fatalf("error %v after %d transactions, want ErrUnknownRequest and none", err, w.nonce("host"))
	}
	if _, err := m.Request(t.Context(), unknown.ID); !errors.Is(err, events.ErrUnknownRequest) {
		t.Fatalf("error %v, want ErrUnknownRequest", err)
	}
	facts, err := m.Slot(t.Context(), unknown.ID, 0)
	if err != nil || facts.RequestKnown || !facts.RequestEnd.IsZero() {
		t.Fatalf("facts of nothing: %+v (%v)", facts, err)
	}
}

func TestSlotOfAnotherHostCannotBeTaken(t *testing.T) {
	w := newWorld(t)
	first, second := w.newHost("first"), w.newHost("second")
	call := callFor(w.request(), 0)
	w.reserve(first, "first", call)
	w.reserve(second, "second", call)
	w.fill(first, "first", call)
	if _, err := second.FillSlot(t.Context(), call, goodProof(1)); !errors.Is(err, events.ErrSlotNotFree) {
		t.Fatalf("fill: %v, want ErrSlotNotFree", err)
	}
	if _, err := second.FreeSlot(t.Context(), call); !errors.Is(err, events.ErrNotOurSlot) {
		t.Fatalf("free: %v, want ErrNotOurSlot", err)
	}
	period := uint64(w.chain.Head().Time.Unix()) / 20
	_, err := second.SubmitProof(t.Context(), call, period, goodProof(1))
	if !errors.Is(err, events.ErrNotOurSlot) {
		t.Fatalf("proof: %v, want ErrNotOurSlot", err)
	}
	late := w.newHost("late")
	if _, err := late.ReserveSlot(t.Context(), call); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("reserve: %v, want ErrReservationNotAllowed", err)
	}
	empty := callFor(events.Request{ID: call.Request}, 1)
	if _, err := late.FillSlot(t.Context(), empty, goodProof(1)); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("fill without a reservation: %v, want ErrReservationNotAllowed", err)
	}
}

// Both fills are mined in one block. In the state before it, the second would have succeeded.
func TestAFillLostToAFasterHostInTheSameBlockSaysSo(t *testing.T) {
	w := newWorld(t)
	hosts := map[string]*chain.Market{"first": w.newHost("first"), "second": w.newHost("second")}
	call := callFor(w.request(), 0)
	for name, m := range hosts {
		w.reserve(m, name, call)
	}
	ended := make(chan error, len(hosts))
	for _, m := range hosts {
		go func() {
			_, err := m.FillSlot(t.Context(), call, goodProof(1))
			ended <- err
		}()
	}
	for _, what := range []string{"approvals", "fills"} { // Each host's first fill needs one.
		w.await("both "+what+" are in the pool", func() bool { return w.chain.Pending() == 2 })
		w.seal(1)
	}
	var lost []error
	for range hosts {
		w.sealUntilHolds("one has ended", func() bool {
			select {
			case err := <-ended:
				if err != nil {
					lost = append(lost, err)
				}
				return true
			default:
				return false
			}
		})
	}
	if len(lost) != 1 || !errors.Is(lost[0], events.ErrSlotNotFree) || !strings.Contains(lost[0].Error(), "was first") {
		t.Fatalf("lost are %v, want one to a transaction in the same block", lost)
	}
}

func TestRunningSlotIsNeverFreed(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call := callFor(w.request(), 0)
	if _, err := m.FreeSlot(t.Context(), call); !errors.Is(err, events.ErrSlotIsFree) {
		t.Fatalf("error %v, want ErrSlotIsFree", err)
	}
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	nonce := w.nonce("host")
	_, err := m.FreeSlot(t.Context(), call)
	if !errors.Is(err, events.ErrReverted) || w.nonce("host") != nonce || w.waiting("host") {
		t.Fatalf("error %v, want ErrReverted and nothing sent", err)
	}
}

func TestFillThatMightComeTooLateIsNotSent(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	call := callFor(r, 0)
	w.reserve(m, "host", call)
	facts, err := m.Slot(t.Context(), r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	withDeadline := call
	withDeadline.Deadline = w.chain.Head().Time
	sent := w.gate.sent()
	if _, err := m.FillSlot(t.Context(), withDeadline, goodProof(1)); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("past the deadline: %v, want ErrDeadlinePassed", err)
	}
	w.sealUntil(facts.RequestExpiry.Add(-time.Second))
	if _, err := m.FillSlot(t.Context(), call, goodProof(1)); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("at the expiry: %v, want ErrDeadlinePassed", err)
	}
	if got := w.gate.sent(); got != sent {
		t.Fatalf("%d transactions were sent", got-sent)
	}
}

func TestFillWithoutTokensOrWithAWrongProofIsRefusedBeforeItCosts(t *testing.T) {
	w := newWorld(t)
	w.fund("poor")
	poor := w.host("poor", t.TempDir(), storetest.NewMemory())
	call := callFor(w.request(), 0)
	w.reserve(poor, "poor", call)
	if _, err := poor.FillSlot(t.Context(), call, goodProof(1)); !errors.Is(err, events.ErrInsufficientFunds) {
		t.Fatalf("fill without tokens: %v, want ErrInsufficientFunds", err)
	}
	w.mint("poor", 10_000)
	nonce := w.nonce("poor")
	err := w.try("poor", func(ctx context.Context) error {
		_, err := poor.FillSlot(ctx, call, events.Proof{})
		return err
	})
	if !errors.Is(err, events.ErrInvalidProof) || w.nonce("poor") != nonce {
		t.Fatalf("fill with a wrong proof: %v after %d transactions, want ErrInvalidProof and none",
			err, w.nonce("poor")-nonce)
	}
	w.fill(poor, "poor", call)
}

func TestAccountWithoutGasLearnsSo(t *testing.T) {
	w := newWorld(t)
	broke := w.host("broke", t.TempDir(), storetest.NewMemory())
	_, err := broke.ReserveSlot(t.Context(), callFor(w.request(), 0))
	if !errors.Is(err, events.ErrInsufficientFunds) {
		t.Fatalf("error %v, want ErrInsufficientFunds", err)
	}
}

func TestCancelledRequestPaysUntilItsExpiry(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	call := callFor(r, 1)
	w.reserve(m, "host", call)
	fill := w.fill(m, "host", call)
	facts, err := m.Slot(t.Context(), r.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.sealUntil(facts.RequestExpiry.Add(time.Second))
	var payout events.PayoutReceipt
	w.drive("host", func(ctx context.Context) (err error) {
		payout, err = m.FreeSlot(ctx, call)
		return err
	})
	seconds := uint64(facts.RequestExpiry.Sub(fill.FilledAt) / time.Second)
	if payout.Paid != events.NewAmount(1000*seconds+10_000) || payout.AlreadyFree {
		t.Fatalf("payout is %+v, want %d", payout, 1000*seconds+10_000)
	}
}

func TestWrongContractIsNamedWithAHint(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("host")
	cfg.Marketplace = events.Address{1, 2, 3}
	_, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	var wrong *rpc.IdentityError
	if !errors.As(err, &wrong) || !errors.Is(err, rpc.ErrNoContract) || wrong.Hint() == "" {
		t.Fatalf("error %v, want ErrNoContract with a hint", err)
	}
	cfg = w.config("host")
	cfg.Genesis = events.Hash{1}
	if _, err := w.dial(cfg, storetest.NewMemory(), t.TempDir()); !errors.Is(err, rpc.ErrWrongChain) {
		t.Fatalf("error %v, want ErrWrongChain", err)
	}
}
