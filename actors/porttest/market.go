package porttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// MarketWorld is a chain with a marketplace in which a test can make things happen. Each
// belongs to one test. A hook that cannot do what it should fails the test by itself.
type MarketWorld struct {
	// Market is the port, of a host with gas and with tokens for two slots.
	Market port.Market
	// Post puts a request of at least two slots on the market.
	Post func() events.Request
	// Drive runs a call and seals the blocks that it waits for.
	Drive func(call func(context.Context) error) error
	// Proof returns a proof that the contract takes for a slot in the next block.
	Proof func(events.SlotID) events.Proof
	// WrongProof is a proof that it never takes.
	WrongProof events.Proof
	// Warp seals blocks until the newest is not before a time of the chain.
	Warp func(to time.Time)
	// Rival makes another host reserve and fill a slot.
	Rival func(events.SlotCall)
	// Compete makes one of several other hosts, numbered from 1, reserve a slot.
	Compete func(c events.SlotCall, n int)
	// Mark makes a validator mark the missing proof of a period. It returns what the contract
	// says: ErrNotMissing, ErrTooEarly, or nil.
	Mark func(c events.SlotCall, period uint64) error
	// Withdraw makes the client of a request collect what is left of it; an error when the
	// contract refuses.
	Withdraw func(events.Request) error
	// TryPost puts a request on the market, or returns why the contract refuses it. The request
	// gets another id if the contract computes ids.
	TryPost func(events.Request) (events.Request, error)
}

// same compares values of the ports.
var same = cmp.Comparer(func(a, b events.Amount) bool { return a == b })

// Market runs the suite of the market's port.
func Market(t *testing.T, newWorld func(t *testing.T) MarketWorld) {
	for name, test := range map[string]func(*testing.T, MarketWorld){
		"blocks are told consistently":            blocksAreConsistent,
		"an unknown request is named so":          unknownRequest,
		"a request reads back as it was posted":   requestReadsBack,
		"a slot is reserved once":                 reserveTwice,
		"a fill is reported again, not repeated":  fillTwice,
		"a slot of a rival cannot be filled":      rivalWasFaster,
		"a wrong proof is refused":                wrongProof,
		"nothing is sent after its deadline":      deadlinePassed,
		"a proof counts once":                     proveTwice,
		"proofs that were taken are told again":   takenProofs,
		"only our own slots can be proven":        notOurSlot,
		"a slot that runs is not freed":           runningSlot,
		"a finished slot is paid out once":        payout,
		"a cancelled slot is paid until expiry":   cancelled,
		"a call ends with its context":            endedContext,
		"what is ours is listed while it is ours": mySlots,

		"a request must make sense":                                      senselessRequests,
		"a slot takes so many reservations and no more":                  reservationsRunOut,
		"a reservation of ours is told, whichever hosts have the others": reservationIsOurs,
		"a reservation outlives the fill of another":                     reservationIsNeeded,
		"a slot is free until the last second of its expiry":             expiryIsStrict,
		"a request runs until the last second of its end":                endIsStrict,
		"nothing is filled in the second of the expiry":                  fillAtExpiry,
		"a miss costs a part and pays who marks it":                      missCosts,
		"enough misses take the slot and its reservations":               slashedAway,
		"a slot in repair is filled with a discount":                     repairDiscount,
		"a slot is not filled from what must be left":                    mustBeLeft,
		"the balance is one from after what was paid":                    balanceAfterPayments,
		"a freed slot keeps the proofs of its period":                    refillInThePeriod,
		"too many empty slots fail the request, in the past":             requestFails,
		"a new request never fails":                                      newNeverFails,
		"a cancelled request is withdrawn once, hosts are paid":          withdrawCancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

func call(r events.Request, index uint64) events.SlotCall {
	return events.SlotCall{Request: r.ID, Slot: events.SlotIDOf(r.ID, index), Index: index, Attempt: 1}
}

// try runs a call that may fail, and drives the world meanwhile.
func try[T any](w MarketWorld, f func(context.Context) (T, error)) (v T, err error) {
	err = w.Drive(func(ctx context.Context) (err error) {
		v, err = f(ctx)
		return err
	})
	return v, err
}

// must runs a call that has to succeed.
func must[T any](t *testing.T, w MarketWorld, f func(context.Context) (T, error)) T {
	t.Helper()
	v, err := try(w, f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reserve(w MarketWorld, c events.SlotCall) func(context.Context) (events.Receipt, error) {
	return func(ctx context.Context) (events.Receipt, error) { return w.Market.ReserveSlot(ctx, c) }
}

func fill(w MarketWorld, c events.SlotCall) func(context.Context) (events.Fill, error) {
	return func(ctx context.Context) (events.Fill, error) {
		return w.Market.FillSlot(ctx, c, w.Proof(c.Slot))
	}
}

func prove(w MarketWorld, c events.SlotCall, period uint64) func(context.Context) (events.Receipt, error) {
	return func(ctx context.Context) (events.Receipt, error) {
		return w.Market.SubmitProof(ctx, c, period, w.Proof(c.Slot))
	}
}

func free(w MarketWorld, c events.SlotCall) func(context.Context) (events.PayoutReceipt, error) {
	return func(ctx context.Context) (events.PayoutReceipt, error) { return w.Market.FreeSlot(ctx, c) }
}

// host reserves and fills a slot.
func host(t *testing.T, w MarketWorld, c events.SlotCall) events.Fill {
	t.Helper()
	must(t, w, reserve(w, c))
	return must(t, w, fill(w, c))
}

func tokens(t *testing.T, w MarketWorld) events.Amount {
	t.Helper()
	b, err := w.Market.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.Tokens
}

func facts(t *testing.T, w MarketWorld, c events.SlotCall) events.SlotFacts {
	t.Helper()
	f, err := w.Market.Slot(t.Context(), c.Request, c.Index)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func head(t *testing.T, w MarketWorld) events.Head {
	t.Helper()
	h, err := w.Market.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// nextPeriod warps to the beginning of the next period and gives its number.
func nextPeriod(t *testing.T, w MarketWorld) (events.ProofConfig, uint64) {
	t.Helper()
	cfg, err := w.Market.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seconds := uint64(cfg.Proofs.Period / time.Second)
	number := uint64(head(t, w).Time.Unix())/seconds + 1
	w.Warp(events.Unix(number * seconds))
	return cfg.Proofs, number
}

func blocksAreConsistent(t *testing.T, w MarketWorld) {
	if w.Market.Account().Zero() {
		t.Fatal("the account is zero")
	}
	w.Post()
	h := head(t, w)
	again, err := w.Market.HeadAt(t.Context(), h.Number)
	if err != nil || !cmp.Equal(h, again) {
		t.Fatalf("block %d is %+v as the newest and %+v by its number (%v)", h.Number, h, again, err)
	}
	before, err := w.Market.HeadAt(t.Context(), h.Number-1)
	if err != nil || before.Hash != h.Parent || !before.Time.Before(h.Time) {
		t.Fatalf("block %d is %+v, the one before it %+v (%v)", h.Number, h, before, err)
	}
	if _, err := w.Market.HeadAt(t.Context(), h.Number+1000); err == nil {
		t.Fatal("a block of the future has a hash")
	}
}

func unknownRequest(t *testing.T, w MarketWorld) {
	unknown := events.RequestID{0xee}
	if _, err := w.Market.Request(t.Context(), unknown); !errors.Is(err, events.ErrUnknownRequest) {
		t.Fatalf("an unknown request: %v", err)
	}
	f, err := w.Market.Slot(t.Context(), unknown, 0)
	if err != nil || f.RequestKnown || !f.Host.Zero() || f.At.Number == 0 {
		t.Fatalf("a slot of an unknown request: %+v, %v", f, err)
	}
	_, err = try(w, reserve(w, call(events.Request{ID: unknown}, 0)))
	if !errors.Is(err, events.ErrReservationNotAllowed) && !errors.Is(err, events.ErrUnknownRequest) {
		t.Fatalf("reserving a slot of an unknown request: %v", err)
	}
}

func requestReadsBack(t *testing.T, w MarketWorld) {
	r := w.Post()
	got, err := w.Market.Request(t.Context(), r.ID)
	if err != nil || !cmp.Equal(got, r, same) {
		t.Fatalf("posted (-), read back (+), %v:\n%s", err, cmp.Diff(r, got, same))
	}
	f := facts(t, w, call(r, 0))
	if !f.RequestKnown || f.RequestState != events.RequestNew || f.SlotState != events.SlotFree || !f.CanReserve ||
		f.RequestEnd.Sub(f.RequestExpiry) != r.Ask.Duration-r.Expiry {
		t.Fatalf("the slot of a new request is %+v", f)
	}
}

func reserveTwice(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	first := must(t, w, reserve(w, c))
	if first.TxHash.Zero() {
		t.Fatalf("the receipt of the reservation is %+v", first)
	}
	before := head(t, w)
	again := must(t, w, reserve(w, c))
	if !again.TxHash.Zero() && again.TxHash != first.TxHash {
		t.Fatalf("reserved twice: %+v and %+v", first, again)
	}
	if h := head(t, w); h.Number != before.Number {
		t.Fatalf("the second call led to %d blocks", h.Number-before.Number)
	}
	if facts(t, w, c).CanReserve {
		t.Fatal("the contract would take another reservation of ours")
	}
}

func fillTwice(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	must(t, w, reserve(w, c))
	before := tokens(t, w)
	first := must(t, w, fill(w, c))
	after := tokens(t, w)
	if before.Sub(after) != first.Collateral || first.FilledAt.IsZero() || first.Block == 0 {
		t.Fatalf("the balance went from %s to %s by the fill %+v", before, after, first)
	}
	again := must(t, w, fill(w, c))
	if !again.FilledAt.Equal(first.FilledAt) || again.Collateral != first.Collateral || tokens(t, w) != after {
		t.Fatalf("filled again: %+v after %+v; the balance is %s, was %s", again, first, tokens(t, w), after)
	}
	f := facts(t, w, c)
	if f.Host != w.Market.Account() || f.SlotState != events.SlotFilled || f.Collateral != first.Collateral {
		t.Fatalf("the slot after the fill is %+v", f)
	}
}

func rivalWasFaster(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	must(t, w, reserve(w, c))
	before := tokens(t, w)
	w.Rival(c)
	if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrSlotNotFree) {
		t.Fatalf("filling a slot of a rival: %v", err)
	}
	if after := tokens(t, w); after != before {
		t.Fatalf("it cost %s", before.Sub(after))
	}
}

func wrongProof(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	must(t, w, reserve(w, c))
	_, err := try(w, func(ctx context.Context) (events.Fill, error) {
		return w.Market.FillSlot(ctx, c, w.WrongProof)
	})
	if !errors.Is(err, events.ErrInvalidProof) {
		t.Fatalf("filling with a wrong proof: %v", err)
	}
	if f := facts(t, w, c); !f.Host.Zero() {
		t.Fatalf("the slot is filled: %+v", f)
	}
	must(t, w, fill(w, c)) // A right proof is taken all the same.
}

func mustBeLeft(t *testing.T, w MarketWorld) {
	r := long(t, w, 1)
	c := call(r, 0)
	must(t, w, reserve(w, c))
	before, full := tokens(t, w), fullCollateral(t, r)
	c.Refill, c.Keep = true, before.Sub(full).Add(events.NewAmount(1))
	if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrInsufficientFunds) {
		t.Fatalf("filling a slot for %s while %s of %s must be left: %v", full, c.Keep, before, err)
	}
	if after := tokens(t, w); after != before {
		t.Fatalf("it cost %s", before.Sub(after))
	}
	c.Keep = before.Sub(full)
	for what, b := range foreignBlocks(t, w) {
		c.Paid = []events.Head{b}
		if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrBeforePayment) || tokens(t, w) != before {
			t.Fatalf("filling a slot although others have paid in %s: %v", what, err)
		}
	}
	now, err := w.Market.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Paid = []events.Head{now, {Number: now.Number}}
	must(t, w, fill(w, c))
}

// foreignBlocks are blocks that the node's chain does not have.
func foreignBlocks(t *testing.T, w MarketWorld) map[string]events.Head {
	now, err := w.Market.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := events.Head{Number: now.Number, Hash: events.Hash{1}}
	return map[string]events.Head{
		"a block that the node does not know yet":           {Number: now.Number + 1000},
		"a block that a reorganisation replaced by another": other,
	}
}

func balanceAfterPayments(t *testing.T, w MarketWorld) {
	paid := host(t, w, call(w.Post(), 0))
	if _, err := w.Market.Balance(t.Context(), paid.Receipt.Block); err != nil {
		t.Fatalf("the balance after block %d, in which a slot was filled: %v", paid.Block, err)
	}
	for what, b := range foreignBlocks(t, w) {
		if _, err := w.Market.Balance(t.Context(), paid.Receipt.Block, b); !errors.Is(err, events.ErrBeforePayment) {
			t.Fatalf("the balance after a payment in %s: %v", what, err)
		}
	}
}
