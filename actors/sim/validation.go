package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// fakeValidation is the Validation port of the host's account over the world.
type fakeValidation struct{ *world }

// Validation returns the validator's port of the host's account. From then on nobody else marks
// missing proofs in this world.
func (w *World) Validation() port.Validation {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.unwatched = true
	return fakeValidation{w.w}
}

// Mark makes another validator mark a missing proof in the next block.
func (w *World) Mark(slot events.SlotID, period uint64) error {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return w.w.seal(&transaction{apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
		_, logs, err := c.mark(m, slot, period, events.Address{4, 5, 6})
		return logs, err
	}})
}

// Own makes the host's account fill a slot, without a host. The slot is never proven.
func (w *World) Own(slot events.SlotID) error {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return w.w.seal(&transaction{apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
		if _, err := c.reserve(m, slot, me); err != nil {
			return nil, err
		}
		_, challenge := c.challenge(m, slot)
		return c.fill(m, slot, me, proofFor(slot, challenge))
	}})
}

// Tokens is what the host's account holds.
func (w *World) Tokens() events.Amount {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return w.w.tip().state.tokens[me]
}

// Reward is what the marking of a missing proof of a request's slot pays.
func (w *World) Reward(r events.Request) events.Amount {
	return rewardFor(market, r.Ask)
}

// Terms is the contract's configuration.
func (w *World) Terms() events.MarketConfig { return market }

func (f fakeValidation) Missing(
	ctx context.Context, slots []events.SlotRef, period uint64,
) ([]events.SlotRef, error) {
	return do(ctx, f.bus, fmt.Sprintf("validation.missing %d", period), locked(f.world, func() ([]events.SlotRef, error) {
		var missing []events.SlotRef
		c := f.tip().state
		for _, ref := range slots {
			s := c.slots[ref.Slot]
			if c.mayMark(f.next(), s, period) == nil && s.host != f.me {
				missing = append(missing, ref)
			}
		}
		return missing, nil
	}))
}

func (f fakeValidation) MarkMissing(
	ctx context.Context, ref events.SlotRef, period uint64, deadline time.Time,
) (events.Marking, error) {
	call := fmt.Sprintf("validation.mark %s %d", ref.Slot.Short(), period)
	name := fmt.Sprintf("%s %s", f.me, call)
	return do(ctx, f.bus, call, sending(ctx, f.world, name, func() (events.Marking, error) {
		proof := events.MissingProof{SlotRef: ref, Period: period}
		if m, marked := f.marked[proof]; marked && f.canonical(m.Receipt.Block) {
			return m, nil
		}
		if !slices.Contains(f.intended, proof) {
			f.intended = append(f.intended, proof)
		}
		next, last := f.next(), duty.LastMarking(f.tip().state.cfg.Proofs, period)
		switch s := f.tip().state.slots[ref.Slot]; {
		case next.time.After(last) || !deadline.IsZero() && next.time.After(deadline):
			return events.Marking{}, events.ErrDeadlinePassed
		case s != nil && s.host == f.me:
			return events.Marking{}, fmt.Errorf("%w: the slot is our own", events.ErrNotMissing)
		}
		var reward events.Amount
		_, err := f.send(ctx, name, &transaction{
			apply: func(c *contract, m blockContext) (logs []messages.MarketEvent, err error) {
				reward, logs, err = c.mark(m, ref.Slot, period, f.me)
				return logs, err
			},
			mined: func(head events.Head, _ *contract) {
				f.marked[proof] = events.Marking{Receipt: receiptIn(head), Reward: reward}
			},
		})
		if err != nil {
			return events.Marking{}, err
		}
		return f.marked[proof], nil
	}))
}

func (f fakeValidation) Sent(ctx context.Context) ([]events.MissingProof, error) {
	return do(ctx, f.bus, "validation.sent", locked(f.world, func() ([]events.MissingProof, error) {
		return slices.Clone(f.intended), nil
	}))
}
