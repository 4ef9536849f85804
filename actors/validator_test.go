package actors_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/messages"
)

// watchful is a validator's port that a test can disturb. It notes which proofs were
// asked about and marked.
type watchful struct {
	port.Validation
	mu     sync.Mutex
	asked  [][]events.SlotRef
	calls  []events.MissingProof
	before func(events.MissingProof) error // each marking
	after  func(events.MissingProof) error // each marking that succeeded
}

func (w *watchful) Missing(ctx context.Context, slots []events.SlotRef, period uint64) ([]events.SlotRef, error) {
	w.mu.Lock()
	w.asked = append(w.asked, slots)
	w.mu.Unlock()
	return w.Validation.Missing(ctx, slots, period)
}

func (w *watchful) MarkMissing(
	ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time,
) (events.Marking, error) {
	proof := events.MissingProof{SlotRef: slot, Period: period}
	w.mu.Lock()
	w.calls = append(w.calls, proof)
	before, after := w.before, w.after
	w.mu.Unlock()
	if before != nil {
		if err := before(proof); err != nil {
			return events.Marking{}, err
		}
	}
	m, err := w.Validation.MarkMissing(ctx, slot, period, deadline)
	if err == nil && after != nil {
		err = after(proof)
	}
	return m, err
}

func (w *watchful) marked() []events.MissingProof {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// validates makes the rig's host a validator.
func (r *rig) validates(s validation.Settings) *watchful {
	w := &watchful{Validation: r.world.Validation()}
	r.ports.Validation, r.cfg.Validator = w, s
	return w
}

// neglected posts a request whose slots another host fills and does not prove.
func (r *rig) neglected(number byte, slots uint64) events.Request {
	r.Helper()
	request := sim.Offer(number, slots)
	request.Ask.MaxSlotLoss, request.Ask.Duration, request.Expiry = slots, 4000*time.Second, 3900*time.Second
	r.world.Post(request)
	for i := range slots {
		if err := r.world.Rival(events.SlotIDOf(request.ID, i)); err != nil {
			r.Fatal(err)
		}
	}
	return request
}

// ofValidator returns the events of the validator's stream.
func (r *rig) ofValidator() (list []messages.ValidatorEvent) {
	r.Helper()
	codec := catalog.Codec()
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if events.Category(e.Stream) == events.CategoryValidator {
			list = append(list, events.Must(codec.Decode(e)).(messages.ValidatorEvent))
		}
	}
	return list
}

func (r *rig) validator() validator.Status {
	r.Helper()
	v := r.status().Validator
	if v == nil {
		r.Fatal("the host is no validator")
	}
	return *v
}

func TestSlotsThatMissProofsAreMarkedUntilTheyAreFreed(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{MaxSlots: 1000})
		r.start() // It has nothing on offer, and no quota.
		before := r.world.Tokens()
		request := r.neglected(1, 3)
		r.mineUntil("all slots are freed", func() bool { return r.count("ProofMarked") == 6 })
		reward := r.world.Reward(request)
		if got := r.world.Tokens().Sub(before); got != reward.MulSaturating(6) {
			r.Fatalf("six markings at %s brought %s", reward, got)
		}
		r.mine(3)
		v := r.validator()
		if v.Marked != 6 || v.Failed != 0 || v.Rewards != reward.MulSaturating(6) || v.Watching != 0 || !v.Ready {
			r.Fatalf("status %+v", v)
		}
		if calls := w.marked(); len(calls) != 6 {
			r.Fatalf("six proofs were marked with %d calls", len(calls))
		}
		proofs := r.world.Terms().Proofs
		for _, e := range r.ofValidator() {
			if m, ok := e.(*messages.ProofMarked); ok {
				at := events.TimeFromMessage(m.GetReceipt().GetTime())
				if !at.After(duty.End(proofs, m.GetPeriod())) || at.After(duty.LastMarking(proofs, m.GetPeriod())) {
					r.Fatalf("period %d was marked at %s", m.GetPeriod(), at)
				}
			}
		}
	})
}

func TestAHostValidatesBesideHosting(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{MaxSlots: 1000})
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 2))
		r.neglected(2, 1)
		r.mineUntil("both slots are settled", func() bool { return r.count("SaleSettled") == 2 })
		if r.count("ProofMissed") != 0 || r.count("ProofMarked") == 0 {
			r.Fatalf("the record holds %v", r.names())
		}
		for _, p := range w.marked() {
			if p.Request == sim.Offer(1, 2).ID {
				r.Fatalf("a slot of our own was marked: %v", p)
			}
		}
	})
}

func TestOnlyTheSlotsOfTheGroupAreMarked(t *testing.T) {
	inWorld(t, func(r *rig) {
		settings := validation.Settings{Groups: 2, GroupIndex: 1}
		w := r.validates(settings)
		r.start()
		request := r.neglected(1, 8)
		r.mine(200)
		mine := 0
		for i := range uint64(8) {
			if settings.Mine(events.SlotIDOf(request.ID, i)) {
				mine++
			}
		}
		for _, p := range w.marked() {
			if !settings.Mine(p.Slot) {
				r.Fatalf("slot %s is of the other group", p.Slot)
			}
		}
		if mine == 0 || mine == 8 || r.count("ProofMarked") != 2*mine {
			r.Fatalf("%d markings of %d slots", r.count("ProofMarked"), mine)
		}
	})
}

func TestSlotsBeyondTheLimitWaitUntilThereIsRoom(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{MaxSlots: 1})
		r.start()
		request := r.neglected(1, 2)
		r.mine(1)
		if v := r.validator(); v.Watching != 1 || v.Skipped != 1 {
			r.Fatalf("status %+v", v)
		}
		r.mineUntil("both are freed", func() bool { return r.count("ProofMarked") == 4 })
		first, second := events.SlotIDOf(request.ID, 0), events.SlotIDOf(request.ID, 1)
		var order []events.SlotID
		for _, p := range w.marked() {
			order = append(order, p.Slot)
		}
		if !slices.Equal(order, []events.SlotID{first, first, second, second}) {
			r.Fatalf("marked in the order %v", order)
		}
	})
}

func TestTheHistoryIsReadAtTheStart(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start() // Without validating, so that the market's stream exists.
		r.neglected(1, 2)
		r.mine(3)
		if err := r.host.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.validates(validation.Settings{})
		r.start()
		r.mine(1)
		if v := r.validator(); v.Watching != 2 {
			r.Fatalf("status %+v", v)
		}
		r.mineUntil("they are marked", func() bool { return r.count("ProofMarked") == 4 })
	})
}

func TestWhatWasMarkedBeforeACrashIsRecordedOnce(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{})
		r.start()
		request := r.neglected(1, 1)
		lost := errors.New("the answer was lost")
		w.mu.Lock()
		w.after = func(events.MissingProof) error { return lost }
		w.mu.Unlock()
		r.mineUntil("a marking was sent", func() bool { return len(w.marked()) > 0 })
		r.host.Kill()
		if r.count("ProofMarked") != 0 {
			r.Fatal("it was recorded although nobody heard of it")
		}
		w.mu.Lock()
		w.after = nil
		w.mu.Unlock()
		r.start()
		r.mine(1)
		if r.count("ProofMarked") != 1 {
			r.Fatalf("the record holds %v", r.names())
		}
		r.host.Kill()
		r.start()
		r.mine(2)
		want := r.world.Reward(request)
		if v := r.validator(); r.count("ProofMarked") != 1 || v.Marked != 1 || v.Rewards != want || r.count("ValidationStarted") != 1 {
			r.Fatalf("after another start: %+v, the record holds %v", v, r.names())
		}
	})
}

func TestAnotherValidatorThatWasFasterIsANormalOutcome(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{})
		w.before = func(p events.MissingProof) error { return r.world.Mark(p.Slot, p.Period) }
		r.start()
		before := r.world.Tokens()
		r.neglected(1, 1)
		r.mineUntil("it failed", r.has("MarkingFailed"))
		if r.world.Tokens() != before || r.count("ProofMarked") != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
		r.mineUntil("and again in the next period", func() bool { return r.count("MarkingFailed") == 2 })
		r.mine(100)
		if r.count("MarkingFailed") != 2 || len(w.marked()) != 2 {
			r.Fatalf("%d failures, %d calls", r.count("MarkingFailed"), len(w.marked()))
		}
	})
}

func TestAMarkingIsTriedAgainAsLongAsItsWindowIsOpenAndNotLonger(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{})
		down := errors.New("the node does not answer")
		w.before = func(p events.MissingProof) error { // The market knows when it is too late.
			if duty.LastMarking(r.world.Terms().Proofs, p.Period).Before(r.world.Head().Time) {
				return events.ErrDeadlinePassed
			}
			return down
		}
		r.start()
		r.neglected(1, 1)
		r.mineUntil("the window closed", r.has("MarkingFailed"))
		periods := map[uint64]int{}
		for _, p := range w.marked() {
			periods[p.Period]++
		}
		if len(periods) != 1 {
			r.Fatalf("tried %v", periods)
		}
		for period, tries := range periods {
			if tries < 2 {
				r.Fatalf("period %d was tried %d times in its window", period, tries)
			}
		}
		failed := r.ofValidator()[1].(*messages.MarkingFailed)
		if failed.GetReason() != events.ErrDeadlinePassed.Error() {
			r.Fatalf("the reason is %q", failed.GetReason())
		}
		w.mu.Lock()
		w.before = nil
		w.mu.Unlock()
		r.mineUntil("the next periods are marked", func() bool { return r.count("ProofMarked") == 2 })
	})
}

func TestAReorganisationInTheWindowIsFollowed(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.validates(validation.Settings{})
		r.start()
		request := r.neglected(1, 1)
		before := r.world.Tokens()
		proofs := r.world.Terms().Proofs
		r.world.Warp(r.world.Head().Time.Add(proofs.Period)) // Nothing is owed in the period of the fill.
		// Just before a window in which the proof is missing.
		slot := events.SlotIDOf(request.ID, 0)
		r.mineUntil("a window is about to open", func() bool {
			h := r.world.Head()
			period := duty.Period(proofs, h.Time)
			pointer := duty.Pointer(proofs, slot, h.Number+2, period)
			return h.Time.Add(time.Second).Equal(duty.End(proofs, period)) && pointer >= 64 && pointer < 240
		})
		r.world.Mine(1)
		r.world.Reorganize(2) // The end of the period is taken back, and comes again.
		r.mine(6)
		if r.count("ProofMarked") != 1 || r.count("MarkingFailed") != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
		if got := r.world.Tokens().Sub(before); got != r.world.Reward(request) {
			r.Fatalf("the account has %s more", got)
		}
	})
}

// proven is a feed in which a slot is proven in every block.
type proven struct {
	port.ChainFeed
	slot events.SlotID
}

func (f proven) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.ChainFeed.Follow(ctx, from, func(ctx context.Context, u events.ChainUpdate) error {
		if u.Reorganized == nil {
			u.Logs = append(slices.Clone(u.Logs), &messages.ChainProofSubmitted{
				SlotId: f.slot.String(), Log: &messages.ChainLog{
					Block: u.Head.Number, BlockHash: u.Head.Hash.String(), TxHash: u.Head.Hash.String(),
					Index: 99, Time: events.TimeToMessage(u.Head.Time),
				},
			})
		}
		return deliver(ctx, u)
	})
}

func TestProofsThatAreReceivedAreNotAskedAbout(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{})
		request := sim.Offer(1, 2)
		r.ports.Feed = proven{r.ports.Feed, events.SlotIDOf(request.ID, 0)}
		r.start()
		r.neglected(1, 2)
		r.mineUntil("the other slot is marked twice", func() bool { return r.count("ProofMarked") == 2 })
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, slots := range w.asked {
			for _, s := range slots {
				if s.Index == 0 {
					r.Fatalf("asked about the slot that is proven: %v", w.asked)
				}
			}
		}
	})
}

func TestASettledWindowLeavesNothingBehind(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.validates(validation.Settings{})
		r.start()
		r.neglected(1, 3)
		r.mine(200)
		synctest.Wait()
		if v := r.validator(); v.Marking != 0 {
			r.Fatalf("%d markings are open: %+v", v.Marking, v)
		}
	})
}
