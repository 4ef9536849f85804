package actors

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file deletes leftover data, which belongs to no sale: the sale's stream was lost, or an
// older build left the data behind. Nobody else would ever delete it, and it counts against the
// limit.

// clearLeftovers deletes leftover data once the newest block is final: until then a
// reorganisation may give a slot back. A sale's absence from the list is only the reason to
// look.
func (s *supervisor) clearLeftovers(ctx context.Context, all []events.StoredSlot) {
	if len(all) == 0 {
		return
	}
	from := s.View.Now().Number
	if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Number >= from+s.FinalBlocks }); err != nil {
		return
	}
	s.Yield(ctx, "data without a sale")
	if err := s.WaitFinal(ctx, from); err != nil {
		return // Not known yet: the next start looks again.
	}
	for _, st := range all {
		s.clearLeftover(ctx, st)
	}
}

func (s *supervisor) clearLeftover(ctx context.Context, st events.StoredSlot) {
	entry := s.Log.WithField("slot", st.Slot.String())
	err := s.held(ctx, st.Slot, func() error {
		const note = "check data without a sale, will try again"
		return s.untilDone(ctx, "leftover/"+st.Slot.String(), entry, note, isTaken,
			func(ctx context.Context) error {
				if err := s.confirmLeftover(ctx, st.Slot); err != nil {
					return err
				}
				return s.Repo.Delete(ctx, st.Slot)
			})
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		entry.Infof("the data of the slot is kept: %v", err)
	default:
		entry.Warnf("deleted %d bytes of a slot for which there is no sale, no reservation "+
			"and no slot of ours on chain",
			st.Data+st.Overhead)
	}
}

// confirmLeftover asks the sale's own stream and the contract whether the data of a slot is
// still needed. errLives: it is.
func (s *supervisor) confirmLeftover(ctx context.Context, slot events.SlotID) error {
	if err := s.noSale(ctx, slot); err != nil {
		return err
	}
	owned, err := chainview.Patiently(ctx, s.Base, s.Patience(), s.Market.MySlots)
	if err != nil {
		return fmt.Errorf("read our slots on chain: %w", err)
	}
	if slices.ContainsFunc(owned, func(o events.OwnedSlot) bool { return o.Slot == slot }) {
		return fmt.Errorf("%w: the contract says that the slot is ours", errLives)
	}
	return s.ConfirmNotOurs(ctx, slot)
}

// Messages about a slot whose leftovers are being deleted.
type (
	// holdSlot asks that no sale of a slot begins until releaseSlot. The answer is false when
	// one lives or is beginning already.
	holdSlot    struct{ slot events.SlotID }
	releaseSlot struct{ slot events.SlotID }
)

// held does something while no sale of a slot can begin. errLives: one has begun.
func (s *supervisor) held(ctx context.Context, slot events.SlotID, do func() error) error {
	free, err := shell.Ask[bool](s.root, holdSlot{slot}).Wait(ctx)
	if err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("%w: a sale of the slot has begun", errLives)
	}
	defer s.root.Tell(releaseSlot{slot})
	return do()
}

func (s *supervisor) onHold(a *shell.Turn, m holdSlot) {
	free := s.agents[m.slot] == nil && s.beginning[m.slot] == nil
	if free {
		s.beginning[m.slot] = &candidate{held: true}
	}
	a.Asker()(free, nil)
}

// onRelease begins the sale that was asked for while the slot was held.
func (s *supervisor) onRelease(a *shell.Turn, m releaseSlot) {
	c := s.beginning[m.slot]
	if c == nil || !c.held {
		return
	}
	delete(s.beginning, m.slot)
	for _, w := range c.workers {
		s.candidate(a, m.slot, c.request, c.index, w, c.by)
		s.beginning[m.slot].member = c.member
	}
}

// noSale reads a sale's own stream. errLives: the sale is not over.
func (s *supervisor) noSale(ctx context.Context, slot events.SlotID) error {
	st, err := s.readSale(ctx, slot)
	if err == nil && st.Phase != sale.Unknown && !st.Over() {
		err = fmt.Errorf("%w: %s says that its sale is %s", errLives, events.SaleStream(s.Me, slot), st.Phase)
	}
	return err
}
