package porttest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// ValidationWorld is a chain on which hosts do not prove what they owe. Each belongs to one
// test.
type ValidationWorld struct {
	// Validation is the port, of an account with gas.
	Validation port.Validation
	// Again opens a port of the same account, as after a crash of the process.
	Again func() port.Validation
	// Neglected are at least three slots of one request, filled by another host that
	// proves nothing, in the same period. Their request asks for a proof in each.
	Neglected []events.SlotRef
	// Own is a slot that the account fills in the same period, and does not prove.
	Own events.SlotRef
	// Proofs is the contract's timing, Slashes is how many misses free a slot, and Reward is
	// what the marking of one of the slots pays.
	Proofs  events.ProofConfig
	Slashes int
	Reward  events.Amount
	// Drive runs a call and seals the blocks that it waits for.
	Drive func(call func(context.Context) error) error
	// Head is the newest block; Warp seals blocks until it is not before a time of the chain;
	// Mine seals some more.
	Head func() events.Head
	Warp func(to time.Time)
	Mine func(n int)
	// Tokens are what the account holds.
	Tokens func() events.Amount
	// Rival makes another validator mark.
	Rival func(slot events.SlotRef, period uint64)
}

// Validation runs the suite of the validator's port.
func Validation(t *testing.T, newWorld func(t *testing.T) ValidationWorld) {
	for name, test := range map[string]func(*testing.T, ValidationWorld){
		"nothing is missing while the period runs":      nothingIsMissingYet,
		"what is missing is told in the order asked":    missingInOrder,
		"our own slots are never missing, nor marked":   ownSlots,
		"a marking brings the reward to the unit":       markingPays,
		"marking twice reports the first":               markTwice,
		"a marking of before a crash is told again":     sentBeforeACrash,
		"another validator may be faster":               anotherWasFaster,
		"nothing is marked before the period is over":   markTooEarly,
		"nothing is marked after the window":            markTooLate,
		"nothing is marked after the deadline":          markAfterDeadline,
		"the last miss frees the slot, and is paid too": lastMissFrees,
		"no slots are no question":                      noSlots,
		"a question ends with its context":              endedQuestion,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

// open warps to the beginning of the next window in which the proofs of the slots can be marked
// for a while, and returns the period that is over then.
func (w ValidationWorld) open(t *testing.T, slots ...events.SlotRef) uint64 {
	t.Helper()
	const enough = 6 // blocks without a wrap of the pointer
	for range 100 {
		period := duty.Period(w.Proofs, w.Head().Time) + 1 // After that of the fill.
		w.Warp(duty.End(w.Proofs, period))
		fits := func(s events.SlotRef) bool {
			pointer := duty.Pointer(w.Proofs, s.Slot, w.Head().Number+1, period)
			return pointer >= w.Proofs.Downtime && int(pointer)+enough <= 255
		}
		misfit := func(s events.SlotRef) bool { return !fits(s) }
		if !slices.ContainsFunc(slots, misfit) {
			return period
		}
	}
	t.Fatal("no window in which all proofs can be marked")
	return 0
}

func (w ValidationWorld) missing(t *testing.T, period uint64, slots ...events.SlotRef) []events.SlotRef {
	t.Helper()
	missing, err := w.Validation.Missing(t.Context(), slots, period)
	if err != nil {
		t.Fatal(err)
	}
	return missing
}

func (w ValidationWorld) mark(v port.Validation, slot events.SlotRef, period uint64) (m events.Marking, err error) {
	err = w.Drive(func(ctx context.Context) (err error) {
		m, err = v.MarkMissing(ctx, slot, period, duty.LastMarking(w.Proofs, period))
		return err
	})
	return m, err
}

// gained is how much more the account has than before.
func (w ValidationWorld) gained(before events.Amount) events.Amount { return w.Tokens().Sub(before) }

func nothingIsMissingYet(t *testing.T, w ValidationWorld) {
	period := w.open(t, w.Neglected[0]) + 1
	if missing := w.missing(t, period, w.Neglected...); len(missing) > 0 {
		t.Fatalf("missing in a period that runs: %v", missing)
	}
}

func missingInOrder(t *testing.T, w ValidationWorld) {
	asked := []events.SlotRef{w.Neglected[2], w.Own, w.Neglected[0]}
	period := w.open(t, w.Neglected[0], w.Neglected[2])
	want := []events.SlotRef{w.Neglected[2], w.Neglected[0]}
	if diff := cmp.Diff(want, w.missing(t, period, asked...)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func ownSlots(t *testing.T, w ValidationWorld) {
	period, before := w.open(t, w.Own), w.Tokens()
	if missing := w.missing(t, period, w.Own); len(missing) > 0 {
		t.Fatalf("our own slot counts as missing: %v", missing)
	}
	if _, err := w.mark(w.Validation, w.Own, period); !errors.Is(err, events.ErrNotMissing) {
		t.Fatalf("marking our own slot: %v", err)
	}
	if got := w.Tokens(); got != before {
		t.Fatalf("we had %s, and have %s", before, got)
	}
}

func markingPays(t *testing.T, w ValidationWorld) {
	slot := w.Neglected[0]
	period, before := w.open(t, slot), w.Tokens()
	m, err := w.mark(w.Validation, slot, period)
	if err != nil {
		t.Fatal(err)
	}
	if m.Reward != w.Reward || w.gained(before) != w.Reward {
		t.Fatalf("the marking says %s, the account has %s more, want %s", m.Reward, w.gained(before), w.Reward)
	}
	if m.Receipt.TxHash.Zero() || m.Receipt.Block.Number == 0 || m.Receipt.Fee.IsZero() {
		t.Fatalf("receipt %+v", m.Receipt)
	}
	if missing := w.missing(t, period, slot); len(missing) > 0 {
		t.Fatal("it is missing still")
	}
}

func markTwice(t *testing.T, w ValidationWorld) {
	slot := w.Neglected[0]
	period, before := w.open(t, slot), w.Tokens()
	first, err := w.mark(w.Validation, slot, period)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.mark(w.Validation, slot, period)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, same); diff != "" {
		t.Fatalf("(-first +again):\n%s", diff)
	}
	if w.gained(before) != w.Reward {
		t.Fatalf("the account has %s more, want %s", w.gained(before), w.Reward)
	}
}

func sentBeforeACrash(t *testing.T, w ValidationWorld) {
	slot := w.Neglected[1]
	period := w.open(t, slot)
	first, err := w.mark(w.Validation, slot, period)
	if err != nil {
		t.Fatal(err)
	}
	w.Warp(duty.LastMarking(w.Proofs, period).Add(time.Second))
	later := w.Again()
	sent, err := later.Sent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]events.MissingProof{{SlotRef: slot, Period: period}}, sent); diff != "" {
		t.Fatalf("sent (-want +got):\n%s", diff)
	}
	again, err := w.mark(later, slot, period)
	if diff := cmp.Diff(first, again, same); diff != "" || err != nil {
		t.Fatalf("%v; (-first +again):\n%s", err, diff)
	}
}

func anotherWasFaster(t *testing.T, w ValidationWorld) {
	slot := w.Neglected[0]
	period, before := w.open(t, slot), w.Tokens()
	w.Rival(slot, period)
	if _, err := w.mark(w.Validation, slot, period); !errors.Is(err, events.ErrNotMissing) {
		t.Fatalf("marking what is marked: %v", err)
	}
	if w.Tokens() != before {
		t.Fatal("it was paid for")
	}
}

func markTooEarly(t *testing.T, w ValidationWorld) {
	period := w.open(t, w.Neglected[0]) + 1
	if _, err := w.mark(w.Validation, w.Neglected[0], period); !errors.Is(err, events.ErrTooEarly) {
		t.Fatalf("marking a period that runs: %v", err)
	}
}

func markTooLate(t *testing.T, w ValidationWorld) {
	period := w.open(t, w.Neglected[0])
	w.Warp(duty.LastMarking(w.Proofs, period))
	if missing := w.missing(t, period, w.Neglected[0]); len(missing) > 0 {
		t.Fatalf("missing after the window: %v", missing)
	}
	if _, err := w.mark(w.Validation, w.Neglected[0], period); !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("marking after the window: %v", err)
	}
}

func markAfterDeadline(t *testing.T, w ValidationWorld) {
	slot := w.Neglected[0]
	period := w.open(t, slot)
	err := w.Drive(func(ctx context.Context) error {
		_, err := w.Validation.MarkMissing(ctx, slot, period, w.Head().Time)
		return err
	})
	if !errors.Is(err, events.ErrDeadlinePassed) {
		t.Fatalf("marking after the deadline: %v", err)
	}
}

func lastMissFrees(t *testing.T, w ValidationWorld) {
	slot, before, want := w.Neglected[0], w.Tokens(), events.Amount{}
	for range w.Slashes {
		period := w.open(t, slot)
		if _, err := w.mark(w.Validation, slot, period); err != nil {
			t.Fatal(err)
		}
		want = want.Add(w.Reward)
	}
	if w.gained(before) != want {
		t.Fatalf("the account has %s more, want %s", w.gained(before), want)
	}
	period := w.open(t, slot)
	if missing := w.missing(t, period, slot); len(missing) > 0 {
		t.Fatal("a slot that nobody hosts misses a proof")
	}
}

func noSlots(t *testing.T, w ValidationWorld) {
	if missing := w.missing(t, 1); len(missing) > 0 {
		t.Fatalf("missing: %v", missing)
	}
}

func endedQuestion(t *testing.T, w ValidationWorld) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Validation.Missing(ctx, w.Neglected, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("a question without a context: %v", err)
	}
}
