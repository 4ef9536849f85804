package porttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

func deadlinePassed(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	must(t, w, reserve(w, c))
	c.Deadline = head(t, w).Time.Add(-time.Second)
	if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("filling after the deadline: %v", err)
	}
	if f := facts(t, w, c); !f.Host.Zero() {
		t.Fatalf("the slot is filled: %+v", f)
	}
	c.Deadline = time.Time{}
	must(t, w, fill(w, c))
}

func proveTwice(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	host(t, w, c)
	_, number := nextPeriod(t, w)
	first := must(t, w, prove(w, c, number))
	if first.TxHash.Zero() {
		t.Fatalf("the receipt of the proof is %+v", first)
	}
	again, err := try(w, prove(w, c, number))
	if !errors.Is(err, events.ErrProofAlreadySubmitted) && (err != nil || again.TxHash != first.TxHash) {
		t.Fatalf("the second proof of a period: %+v, %v", again, err)
	}
	_, number = nextPeriod(t, w)
	_, err = try(w, func(ctx context.Context) (events.Receipt, error) {
		return w.Market.SubmitProof(ctx, c, number, w.WrongProof)
	})
	if !errors.Is(err, events.ErrInvalidProof) {
		t.Fatalf("a wrong proof: %v", err)
	}
	must(t, w, prove(w, c, number)) // A right proof is taken all the same.
	_, number = nextPeriod(t, w)
	c.Deadline = head(t, w).Time.Add(-time.Second)
	if _, err := try(w, prove(w, c, number)); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("proving after the deadline: %v", err)
	}
}

func takenProofs(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	host(t, w, c)
	taken := func(slot events.SlotID, from uint64) []events.TakenProof {
		t.Helper()
		return must(t, w, func(ctx context.Context) ([]events.TakenProof, error) {
			return w.Market.TakenProofs(ctx, slot, from)
		})
	}
	_, first := nextPeriod(t, w)
	want := []events.TakenProof{{Period: first, Receipt: must(t, w, prove(w, c, first))}}
	_, next := nextPeriod(t, w)
	if diff := cmp.Diff(want, taken(c.Slot, first), same); diff != "" {
		t.Fatalf("after one proof: %s", diff)
	}
	if again := taken(c.Slot, next); len(again) != 0 {
		t.Fatalf("before the second proof: %+v", again)
	}
	want = append(want, events.TakenProof{Period: next, Receipt: must(t, w, prove(w, c, next))})
	if diff := cmp.Diff(want, taken(c.Slot, first), same); diff != "" {
		t.Fatalf("after two proofs: %s", diff)
	}
	if diff := cmp.Diff(want[1:], taken(c.Slot, next), same); diff != "" {
		t.Fatalf("from the second period on: %s", diff)
	}
	if others := taken(events.SlotID{1}, 0); len(others) != 0 {
		t.Fatalf("of another slot: %+v", others)
	}
}

func notOurSlot(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	_, number := nextPeriod(t, w)
	if _, err := try(w, prove(w, c, number)); !errors.Is(err, events.ErrNotOurSlot) {
		t.Fatalf("proving a slot that nobody fills: %v", err)
	}
	must(t, w, reserve(w, c))
	w.Rival(c)
	_, number = nextPeriod(t, w)
	if _, err := try(w, prove(w, c, number)); !errors.Is(err, events.ErrNotOurSlot) {
		t.Fatalf("proving a slot of a rival: %v", err)
	}
}

func runningSlot(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	host(t, w, c)
	if _, err := try(w, free(w, c)); !errors.Is(err, events.ErrReverted) {
		t.Fatalf("freeing a slot that runs: %v", err)
	}
	if f := facts(t, w, c); f.Host != w.Market.Account() || f.SlotState != events.SlotFilled {
		t.Fatalf("the slot is gone: %+v", f)
	}
}

func mySlots(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 1)
	own := func() []events.OwnedSlot {
		slots, err := w.Market.MySlots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slots
	}
	if n := len(own()); n != 0 {
		t.Fatalf("a new host owns %d slots", n)
	}
	host(t, w, c)
	want := []events.OwnedSlot{{Slot: c.Slot, Request: r, Index: 1}}
	if diff := cmp.Diff(want, own(), same); diff != "" {
		t.Fatalf("own slots: %s", diff)
	}
	expiry := facts(t, w, c).RequestExpiry
	proveUntil(t, w, c, expiry)
	w.Warp(expiry.Add(time.Second))
	must(t, w, free(w, c))
	if slots := own(); len(slots) != 0 {
		t.Fatalf("after the payout the host owns %+v", slots)
	}
}

// paysOnce frees a slot twice and checks the payout.
func paysOnce(t *testing.T, w MarketWorld, c events.SlotCall, earned, collateral events.Amount) {
	t.Helper()
	before := tokens(t, w)
	paid := must(t, w, free(w, c))
	if paid.Collateral != collateral || paid.Paid != earned.Add(collateral) || paid.AlreadyFree {
		t.Fatalf("paid %s with collateral %s (already: %t), want %s and %s",
			paid.Paid, paid.Collateral, paid.AlreadyFree, earned.Add(collateral), collateral)
	}
	if after := tokens(t, w); after != before.Add(paid.Paid) {
		t.Fatalf("the balance went from %s to %s, paid %s", before, after, paid.Paid)
	}
	again := must(t, w, free(w, c))
	if !again.AlreadyFree || again.Paid != paid.Paid || again.Collateral != paid.Collateral {
		t.Fatalf("freed again: %+v after %+v", again, paid)
	}
	if after := tokens(t, w); after != before.Add(paid.Paid) {
		t.Fatalf("it was paid twice: %s", after)
	}
}

func price(t *testing.T, r events.Request, from, to time.Time) events.Amount {
	t.Helper()
	perSecond, ok := r.Ask.PricePerSecond()
	if !ok {
		t.Fatal("the price does not fit")
	}
	return perSecond.MulSaturating(uint64(to.Sub(from) / time.Second))
}

func payout(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 0)
	filled := host(t, w, c)
	for index := uint64(1); index < r.Ask.Slots; index++ { // With all slots filled the request starts.
		w.Rival(call(r, index))
	}
	f := facts(t, w, c)
	if f.RequestState != events.RequestStarted {
		t.Fatalf("with all slots filled the request is %s", f.RequestState)
	}
	seconds := proveUntil(t, w, c, f.RequestEnd)
	w.Warp(f.RequestEnd.Add(time.Second))
	if f = facts(t, w, c); f.SlotState != events.SlotFinished {
		t.Fatalf("the slot is %s after %d s", f.SlotState, seconds)
	}
	paysOnce(t, w, c, price(t, r, filled.FilledAt, f.RequestEnd), filled.Collateral)
	if s := facts(t, w, c).SlotState; s != events.SlotPaid {
		t.Fatalf("after the payout the slot is %s", s)
	}
}

// proveUntil keeps proving a slot, in case a validator marks missing proofs.
func proveUntil(t *testing.T, w MarketWorld, c events.SlotCall, end time.Time) (periods int) {
	t.Helper()
	for {
		cfg, number := nextPeriod(t, w)
		if !head(t, w).Time.Add(cfg.Period).Before(end) {
			return periods
		}
		must(t, w, prove(w, c, number))
		periods++
	}
}

func cancelled(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 0)
	filled := host(t, w, c)
	f := facts(t, w, c)
	proveUntil(t, w, c, f.RequestExpiry)
	w.Warp(f.RequestExpiry.Add(time.Second))
	if f = facts(t, w, c); f.SlotState != events.SlotCancelled || f.RequestState != events.RequestCancelled {
		t.Fatalf("the slot is %s, the request %s", f.SlotState, f.RequestState)
	}
	paysOnce(t, w, c, price(t, r, filled.FilledAt, f.RequestExpiry), filled.Collateral)
}

func endedContext(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range map[string]func() error{
		"head":    func() error { _, err := w.Market.Head(ctx); return err },
		"slot":    func() error { _, err := w.Market.Slot(ctx, c.Request, 0); return err },
		"reserve": func() error { _, err := w.Market.ReserveSlot(ctx, c); return err },
		"free":    func() error { _, err := w.Market.FreeSlot(ctx, c); return err },
	} {
		if err := f(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", name, err)
		}
	}
	if f := facts(t, w, c); !f.CanReserve {
		t.Error("a call with an ended context reserved the slot")
	}
}
