package porttest

import (
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file tests the contract's rules that a host relies on (spec/marketplace.md §4 to §6), as
// far as the port shows them. The real contract has more tests of its own; these make sure that
// no fake is kinder than the contract.

func terms(t *testing.T, w MarketWorld) events.MarketConfig {
	t.Helper()
	cfg, err := w.Market.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func fullCollateral(t *testing.T, r events.Request) events.Amount {
	t.Helper()
	full, ok := r.Ask.CollateralPerSlot()
	if !ok {
		t.Fatal("the collateral does not fit")
	}
	return full
}

func part(of events.Amount, percent uint8) events.Amount {
	return of.MulSaturating(uint64(percent)).Div(100)
}

func senselessRequests(t *testing.T, w MarketWorld) {
	good := w.Post()
	for name, change := range map[string]func(*events.Request){
		"no expiry":            func(r *events.Request) { r.Expiry = 0 },
		"expiry at the end":    func(r *events.Request) { r.Expiry = r.Ask.Duration },
		"no slots":             func(r *events.Request) { r.Ask.Slots = 0 },
		"more loss than slots": func(r *events.Request) { r.Ask.MaxSlotLoss = r.Ask.Slots + 1 },
		"no proofs":            func(r *events.Request) { r.Ask.ProofProbability = events.Amount{} },
		"no collateral":        func(r *events.Request) { r.Ask.CollateralPerByte = events.Amount{} },
		"no price":             func(r *events.Request) { r.Ask.PricePerBytePerSecond = events.Amount{} },
		"no content":           func(r *events.Request) { r.Content.CID = "" },
		"too long": func(r *events.Request) {
			r.Ask.Duration = terms(t, w).RequestDurationLimit + time.Second
		},
	} {
		r := good
		r.Nonce[31], r.ID[31] = r.Nonce[31]+1, r.ID[31]+1
		change(&r)
		if _, err := w.TryPost(r); err == nil {
			t.Errorf("a request with %s was taken", name)
		}
	}
	if _, err := w.TryPost(good); err == nil {
		t.Error("the same request was taken twice")
	}
}

func reservationsRunOut(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	most := int(terms(t, w).MaxReservations)
	for n := 1; n <= most; n++ {
		if !facts(t, w, c).CanReserve {
			t.Fatalf("with %d reservations there is no room", n-1)
		}
		w.Compete(c, n)
	}
	if holds(t, w, c) {
		t.Fatal("a reservation of others is told as ours")
	}
	if facts(t, w, c).CanReserve {
		t.Fatalf("with %d reservations there is room for another", most)
	}
	if _, err := try(w, reserve(w, c)); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("reserving a slot with %d reservations: %v", most, err)
	}
}

func reservationIsOurs(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	if holds(t, w, c) {
		t.Fatal("a slot that nobody reserved is reserved by us")
	}
	for n := 1; n < int(terms(t, w).MaxReservations); n++ {
		w.Compete(c, n)
	}
	must(t, w, reserve(w, c))
	if !holds(t, w, c) {
		t.Fatal("our reservation, the last one, is not told")
	}
	if other := call(events.Request{ID: events.RequestID{0xee}}, 0); holds(t, w, other) {
		t.Fatal("an unknown request is reserved by us")
	}
}

// holds asks whether a reservation for the slot is ours.
func holds(t *testing.T, w MarketWorld, c events.SlotCall) bool {
	t.Helper()
	newest, err := w.Market.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held, at, err := w.Market.HoldsReservation(t.Context(), c.Request, c.Index)
	if err != nil {
		t.Fatal(err)
	}
	if at.Number < newest.Number {
		t.Fatalf("it answers of block %d when the newest is %d", at.Number, newest.Number)
	}
	return held
}

func reservationIsNeeded(t *testing.T, w MarketWorld) {
	r := w.Post()
	if _, err := try(w, fill(w, call(r, 0))); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("filling without a reservation: %v", err)
	}
	w.Rival(call(r, 0))
	if facts(t, w, call(r, 0)).CanReserve {
		t.Fatal("a filled slot takes reservations")
	}
	if _, err := try(w, reserve(w, call(r, 0))); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("reserving a filled slot: %v", err)
	}
}

func expiryIsStrict(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 0)
	expiry := facts(t, w, c).RequestExpiry
	w.Warp(expiry)
	if f := facts(t, w, c); !f.At.Time.Equal(expiry) || f.RequestState != events.RequestNew || !f.CanReserve {
		t.Fatalf("in the second of its expiry: %+v", f)
	}
	w.Warp(expiry.Add(time.Second))
	f := facts(t, w, c)
	if f.RequestState != events.RequestCancelled || !f.RequestEnd.Equal(expiry) {
		t.Fatalf("a second later: %+v", f)
	}
	if f.SlotState != events.SlotFree { // Nobody ever filled the slot.
		t.Fatalf("a slot that was never filled is %s", f.SlotState)
	}
	if _, err := try(w, reserve(w, c)); err == nil { // The contract allows that.
		if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrSlotNotFree) {
			t.Fatalf("filling a cancelled request: %v", err)
		}
	}
}

func endIsStrict(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 0)
	for index := uint64(1); index < r.Ask.Slots; index++ {
		w.Rival(call(r, index))
	}
	host(t, w, c)
	end := facts(t, w, c).RequestEnd
	w.Warp(end)
	if f := facts(t, w, c); f.SlotState == events.SlotFinished || f.RequestState == events.RequestFinished {
		t.Fatalf("in the second of its end the slot is %s, the request %s", f.SlotState, f.RequestState)
	}
	w.Warp(end.Add(time.Second))
	if _, err := try(w, fill(w, call(r, 1))); err == nil {
		t.Fatal("a slot of a request that is over was filled")
	}
}

// fillAtExpiry: in that second the contract would take a fill, but never pay it or give its
// collateral back. So no market sends one, whatever its deadline.
func fillAtExpiry(t *testing.T, w MarketWorld) {
	c := call(w.Post(), 0)
	must(t, w, reserve(w, c))
	w.Warp(facts(t, w, c).RequestExpiry.Add(-time.Second)) // A fill would be mined a second later.
	before := tokens(t, w)
	if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("filling in the second of the expiry: %v", err)
	}
	if f := facts(t, w, c); !f.Host.Zero() || tokens(t, w) != before {
		t.Fatalf("the slot is filled: %+v", f)
	}
}

// missOne warps into the window after a period that demanded a proof, and has the missing proof
// marked.
func missOne(t *testing.T, w MarketWorld, c events.SlotCall) (period uint64) {
	t.Helper()
	for range 64 {
		cfg, number := nextPeriod(t, w)
		if err := w.Mark(c, number); !errors.Is(err, events.ErrTooEarly) {
			t.Fatalf("marking period %d before its end: %v", number, err)
		}
		end := duty.End(cfg, number)
		w.Warp(end)
		for head(t, w).Time.Before(end.Add(cfg.Timeout - 2*time.Second)) {
			switch err := w.Mark(c, number); {
			case err == nil:
				return number
			case !errors.Is(err, events.ErrNotMissing) && !errors.Is(err, events.ErrTooEarly):
				t.Fatalf("marking period %d: %v", number, err)
			}
			w.Warp(head(t, w).Time.Add(time.Second))
		}
	}
	t.Fatal("no proof of 64 periods could be marked")
	return 0
}

// posted posts a request that outlives a few misses, even while it is new.
func posted(t *testing.T, w MarketWorld, maxSlotLoss uint64) events.Request {
	t.Helper()
	r := w.Post()
	r.Nonce[31], r.ID[31] = r.Nonce[31]+1, r.ID[31]+1
	r.Expiry, r.Ask.Duration, r.Ask.MaxSlotLoss = 2000*time.Second, 3000*time.Second, maxSlotLoss
	r, err := w.TryPost(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// long posts such a request; a rival fills the other slots and proves nothing.
func long(t *testing.T, w MarketWorld, maxSlotLoss uint64) events.Request {
	t.Helper()
	r := posted(t, w, maxSlotLoss)
	for index := uint64(1); index < r.Ask.Slots; index++ {
		w.Rival(call(r, index))
	}
	return r
}

func missCosts(t *testing.T, w MarketWorld) {
	r := long(t, w, 1)
	c := call(r, 0)
	host(t, w, c)
	cfg, full := terms(t, w), fullCollateral(t, r)
	missOne(t, w, c)
	if f := facts(t, w, c); f.Collateral != full.Sub(part(full, cfg.SlashPercentage)) {
		t.Fatalf("after a miss %s of %s is left", f.Collateral, full)
	}
	if f := facts(t, w, c); f.SlotState != events.SlotFilled || f.Host != w.Market.Account() {
		t.Fatalf("after a miss the slot is %+v", f)
	}
}

// slash misses proofs until the slot is gone.
func slash(t *testing.T, w MarketWorld, c events.SlotCall) {
	t.Helper()
	for range terms(t, w).MaxNumberOfSlashes {
		missOne(t, w, c)
	}
}

func slashedAway(t *testing.T, w MarketWorld) {
	r := long(t, w, 1)
	c := call(r, 0)
	host(t, w, c)
	slash(t, w, c)
	f := facts(t, w, c)
	if f.SlotState != events.SlotRepair || !f.Host.Zero() || !f.Collateral.IsZero() {
		t.Fatalf("after enough misses the slot is %+v", f)
	}
	if !f.CanReserve {
		t.Fatal("its reservations are still there")
	}
	if slots, err := w.Market.MySlots(t.Context()); err != nil || len(slots) != 0 {
		t.Fatalf("it is still listed: %+v, %v", slots, err)
	}
	c.Attempt++
	if _, err := try(w, fill(w, c)); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Fatalf("filling it without a new reservation: %v", err)
	}
}

func repairDiscount(t *testing.T, w MarketWorld) {
	r := long(t, w, 1)
	c := call(r, 0)
	if first := host(t, w, c); !first.RepairReward.IsZero() {
		t.Fatalf("the first fill tells of a reward for a repair of %s", first.RepairReward)
	}
	slash(t, w, c)
	nextPeriod(t, w)
	before, again := tokens(t, w), c
	again.Attempt = 2
	must(t, w, reserve(w, again))
	filled := must(t, w, fill(w, again))
	full := fullCollateral(t, r)
	pays := full.Sub(part(full, terms(t, w).RepairRewardPercentage))
	if after := tokens(t, w); before.Sub(after) != pays || filled.Collateral != full {
		t.Fatalf("repairing cost %s and holds %s; want %s and %s", before.Sub(after), filled.Collateral, pays, full)
	}
	if filled.RepairReward != full.Sub(pays) {
		t.Fatalf("the reward for the repair is told as %s, want %s", filled.RepairReward, full.Sub(pays))
	}
}

func refillInThePeriod(t *testing.T, w MarketWorld) {
	r := long(t, w, 1)
	c := call(r, 0)
	host(t, w, c)
	for range terms(t, w).MaxNumberOfSlashes - 1 {
		missOne(t, w, c)
	}
	// The last miss is marked in a period that has its proof already.
	for range 64 {
		cfg, number := nextPeriod(t, w)
		w.Warp(duty.End(cfg, number))
		must(t, w, prove(w, c, number+1))
		for head(t, w).Time.Before(duty.End(cfg, number).Add(cfg.Timeout - 2*time.Second)) {
			if err := w.Mark(c, number); err == nil {
				again := c
				again.Attempt = 2
				must(t, w, reserve(w, again))
				if _, err := try(w, fill(w, again)); !errors.Is(err, events.ErrProofAlreadySubmitted) {
					t.Fatalf("refilling in the period of a proof: %v", err)
				}
				nextPeriod(t, w)
				must(t, w, fill(w, again))
				return
			}
			w.Warp(head(t, w).Time.Add(time.Second))
		}
	}
	t.Fatal("no period was missed before one that has its proof")
}

func requestFails(t *testing.T, w MarketWorld) {
	r := long(t, w, 0) // One empty slot is too many.
	mine := call(r, 0)
	host(t, w, mine)
	slash(t, w, call(r, 1))
	f := facts(t, w, mine)
	if f.RequestState != events.RequestFailed || f.SlotState != events.SlotFailed {
		t.Fatalf("after the other slot was freed the request is %s, ours %s", f.RequestState, f.SlotState)
	}
	if !f.RequestEnd.Before(f.At.Time) {
		t.Fatalf("the failed request ends at %s, it is %s", f.RequestEnd, f.At.Time)
	}
	w.Warp(f.At.Time.Add(30 * time.Second))
	before := tokens(t, w)
	paid := must(t, w, free(w, mine))
	if !paid.Paid.IsZero() || tokens(t, w) != before {
		t.Fatalf("a failed slot brought %s", paid.Paid)
	}
	if slots, err := w.Market.MySlots(t.Context()); err != nil || len(slots) != 0 {
		t.Fatalf("a failed slot that was let go is listed: %+v, %v", slots, err)
	}
	if s := facts(t, w, mine).SlotState; s != events.SlotFailed {
		t.Fatalf("a failed slot that was let go is %s", s)
	}
}

func newNeverFails(t *testing.T, w MarketWorld) {
	c := call(posted(t, w, 0), 0)
	host(t, w, c)
	slash(t, w, c)
	if f := facts(t, w, c); f.RequestState != events.RequestNew || f.SlotState != events.SlotRepair {
		t.Fatalf("a new request that lost a slot is %s, the slot %s", f.RequestState, f.SlotState)
	}
}

func withdrawCancelled(t *testing.T, w MarketWorld) {
	r := w.Post()
	c := call(r, 0)
	filled := host(t, w, c)
	if err := w.Withdraw(r); err == nil {
		t.Fatal("the funds of a new request were withdrawn")
	}
	expiry := facts(t, w, c).RequestExpiry
	proveUntil(t, w, c, expiry)
	w.Warp(expiry.Add(time.Second))
	if err := w.Withdraw(r); err != nil {
		t.Fatalf("withdrawing the funds of a cancelled request: %v", err)
	}
	if err := w.Withdraw(r); err == nil {
		t.Fatal("the funds were withdrawn twice")
	}
	if f := facts(t, w, c); f.RequestState != events.RequestCancelled || f.SlotState != events.SlotCancelled {
		t.Fatalf("after the withdrawal the request is %s, the slot %s", f.RequestState, f.SlotState)
	}
	paysOnce(t, w, c, price(t, r, filled.FilledAt, expiry), filled.Collateral)
}
