package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
)

// This file brings together what the record, the chain and the disk have: slots that the contract counts as ours
// although no sale runs for them are adopted, reservations whose sales do not live are settled, and leftover data is
// deleted.
//
// Slots are adopted at a start, and after a reorganisation that brings back a slot whose sale was settled while the
// slot was gone. In a host of several members, handout.go says which of them adopts a slot.
//
// Leftover data belongs to no sale: the sale's stream was lost, or an older build left the data behind. Nobody else
// would ever delete it, and it counts against the limit.

// askOwnedEvery is the least number of blocks between two questions for our slots, so that a
// chain with many reorganisations is not asked after each of them.
const askOwnedEvery = 8

// adoption begins sales of slots that are ours on chain and have none.
type adoption struct {
	*beginnings
	asking bool
	asked  uint64 // the block of the last question which slots are ours
}

// ownedSlots is the answer; failed means that there was none.
type ownedSlots struct {
	slots  []events.OwnedSlot
	failed bool
}

// ask asks once after a reorganisation which slots are ours, as soon as the newest block
// is known again.
func (s *adoption) ask(a *shell.Turn, head events.Head) {
	if !s.askOwned || s.asking || head.Number < s.asked+askOwnedEvery && head.Number >= s.asked {
		return
	}
	s.askOwned, s.asking, s.asked = false, true, head.Number
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "our slots after a reorganisation")
		slots, err := chainview.Patiently(ctx, s.Base, s.Patience(), s.Market.MySlots)
		if err != nil && ctx.Err() == nil {
			s.Log.Warnf("ask which slots are ours after a reorganisation, will ask again: %v", err)
		}
		if ctx.Err() == nil {
			s.root.Tell(ownedSlots{slots, err != nil})
		}
	})
}

func (s *adoption) onOwned(a *shell.Turn, m ownedSlots, owns bool) {
	s.asking = false
	s.askOwned = s.askOwned || m.failed
	s.adopt(a, m.slots, owns)
}

// adopt begins a sale for each slot of ours that has none, if this process has the term. A slot whose sale has ended
// but is not settled yet still has one, so the question is repeated later: a reorganisation may have given the slot
// back.
func (s *adoption) adopt(a *shell.Turn, owned []events.OwnedSlot, owns bool) {
	for _, o := range owned {
		ag := s.agents[o.Slot]
		if ag != nil && ag.state.Ended() && !ag.state.OnChain {
			s.askOwned = true
		}
		if ag == nil && owns {
			s.Log.WithField("slot", o.Slot.String()).
				Warn("the chain says that this slot is ours, and the record has no sale of it: adopting it")
			s.candidate(a, o.Slot, o.Request.ID, o.Index, shell.Ref{}, events.EventID{})
		}
	}
}

// orphans are reservations and data that no sale needs. What is done about them runs beside the supervisor.
type orphans struct {
	*chainview.Chain
	repo         port.Repo
	root, ledger *shell.Part
	finalBlocks  uint64
}

// releaseAll settles reservations whose sales do not live: their streams were lost, or an
// older build forgot them. Nobody else would ever settle them. The data is deleted first, as
// always. A slot that the contract calls ours keeps its reservation and its data: it is being
// adopted. Nothing is released if the list of living sales is incomplete.
//
// A sale's absence from the list is only the reason to look: before anything is deleted, the
// sale's own stream and the contract are asked about the slot.
func (s *orphans) releaseAll(m bootReport) {
	if m.living.incomplete {
		return
	}
	living := map[events.SlotID]bool{}
	for _, l := range m.living.inOrder() {
		living[l.slot] = true
	}
	for _, o := range m.owned {
		living[o.Slot] = true
	}
	// Asked in this turn, before a new sale can ask for a reservation.
	asked := shell.Ask[[]capacity.Reservation](s.ledger, ledger.All{})
	s.RT.Do("orphans", func(ctx context.Context) {
		reserved, err := asked.Wait(ctx)
		if err != nil { // A later answer would have reservations of new sales, which would look like orphans.
			if ctx.Err() == nil {
				s.Log.Warnf("reservations and data without a sale are released at the next start: %v", err)
			}
			return
		}
		known := maps.Clone(living)
		for _, r := range reserved {
			known[r.Slot] = true
			if !living[r.Slot] {
				s.release(ctx, r)
			}
		}
		// What is left are the stored slots for which no sale, no reservation and no slot on chain is known.
		left := slices.DeleteFunc(slices.Clone(m.stored), func(st events.StoredSlot) bool { return known[st.Slot] })
		s.clearLeftovers(ctx, left)
	})
}

// unlistedSale is a living sale that the list did not show.
type unlistedSale livingSale

// onUnlisted resumes a living sale that the list did not show.
func (s *roster) onUnlisted(a *shell.Turn, l unlistedSale) {
	if s.agents[l.slot] != nil || s.beginning[l.slot] != nil {
		return
	}
	ag := newAgent(l.slot, l.request, l.index)
	s.put(ag)
	s.family.Run(a, &ag.Child)
}

func (s *orphans) release(ctx context.Context, r capacity.Reservation) {
	entry := s.Log.WithField("slot", r.Slot.String())
	key := "orphan/" + r.Slot.String()
	err := untilDone(ctx, s.Base, key+"/look", entry, "check whether the sale still lives, will try again", isTaken,
		func(ctx context.Context) error { return s.orphaned(ctx, r) })
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, errLives):
		entry.Errorf("the list of living sales did not show this sale, which goes on: %v", err)
		s.root.Tell(unlistedSale{slot: r.Slot, request: r.RequestID, index: r.SlotIndex})
		return
	case err != nil:
		entry.Errorf("the ledger holds %d bytes and %s base units of collateral for attempt %d, and whether its sale "+
			"lives cannot be read, so both are left alone: %v", r.Bytes, r.Collateral, r.Attempt, err)
		return
	}
	entry.Warnf("the ledger holds %d bytes and %s base units of collateral for attempt %d, which has no living sale: "+
		"they are released",
		r.Bytes, r.Collateral, r.Attempt)
	const note = "release the reservation, will try again"
	err = s.locked(ctx, r.Slot, func() error {
		return untilDone(ctx, s.Base, key+"/data", entry, note, never, func(ctx context.Context) error {
			return s.repo.Delete(ctx, r.Slot)
		})
	})
	if err == nil || errors.Is(err, errLives) { // errLives: the data belongs to a new sale now.
		err = untilDone(ctx, s.Base, key, entry, note, never, func(ctx context.Context) error {
			cmd := capacity.Settle{At: s.Clock.Now(), Reservation: r.ID, CollateralReturned: r.Collateral}
			return ledger.Do(ctx, s.ledger, ledger.Command{Cmd: cmd, Cause: "orphan:" + r.Slot.String()})
		})
	}
	if err != nil && ctx.Err() == nil {
		entry.Errorf("releasing the reservation failed: %v", err)
	}
}

// orphaned asks the sale's own stream and the contract whether a reservation is still needed.
// errLives: it is.
func (s *orphans) orphaned(ctx context.Context, r capacity.Reservation) error {
	if err := s.noSale(ctx, r.Slot); err != nil {
		return err
	}
	facts, err := s.Market.Slot(ctx, r.RequestID, r.SlotIndex)
	if err != nil {
		return fmt.Errorf("read the slot: %w", err)
	}
	if facts.Host == s.Me && facts.SlotState != events.SlotPaid {
		return fmt.Errorf("%w: the contract says that the slot is ours", errLives)
	}
	return s.Confirm(ctx, r.RequestID, r.SlotIndex, facts)
}

// clearLeftovers deletes leftover data once the newest block is final: until then a
// reorganisation may give a slot back. A sale's absence from the list is only the reason to
// look.
func (s *orphans) clearLeftovers(ctx context.Context, all []events.StoredSlot) {
	if len(all) == 0 {
		return
	}
	from := s.View.Now().Number
	if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Number >= from+s.finalBlocks }); err != nil {
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

func (s *orphans) clearLeftover(ctx context.Context, st events.StoredSlot) {
	entry := s.Log.WithField("slot", st.Slot.String())
	err := s.locked(ctx, st.Slot, func() error {
		const note = "check data without a sale, will try again"
		return untilDone(ctx, s.Base, "leftover/"+st.Slot.String(), entry, note, isTaken,
			func(ctx context.Context) error {
				if err := s.confirmLeftover(ctx, st.Slot); err != nil {
					return err
				}
				return s.repo.Delete(ctx, st.Slot)
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
func (s *orphans) confirmLeftover(ctx context.Context, slot events.SlotID) error {
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
	// lockSlot asks that no sale of a slot begins until unlockSlot. The answer is false when
	// one lives or is beginning already.
	lockSlot   struct{ slot events.SlotID }
	unlockSlot struct{ slot events.SlotID }
)

// locked does something while no sale of a slot can begin. errLives: one has begun.
func (s *orphans) locked(ctx context.Context, slot events.SlotID, do func() error) error {
	free, err := shell.Ask[bool](s.root, lockSlot{slot}).Wait(ctx)
	if err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("%w: a sale of the slot has begun", errLives)
	}
	defer s.root.Tell(unlockSlot{slot})
	return do()
}

func (s *roster) onLock(a *shell.Turn, m lockSlot) {
	free := s.agents[m.slot] == nil && s.beginning[m.slot] == nil
	if free {
		s.beginning[m.slot] = &candidate{locked: true}
	}
	a.Asker()(free, nil)
}

// onUnlock begins the sale that was asked for while the slot was locked.
func (s *beginnings) onUnlock(a *shell.Turn, m unlockSlot) {
	c := s.beginning[m.slot]
	if c == nil || !c.locked {
		return
	}
	delete(s.beginning, m.slot)
	for _, w := range c.workers {
		s.candidate(a, m.slot, c.request, c.index, w, c.by)
		s.beginning[m.slot].member = c.member
	}
}

// noSale reads a sale's own stream. errLives: the sale is not over.
func (s *orphans) noSale(ctx context.Context, slot events.SlotID) error {
	var f shell.Fold[sale.State]
	err := shell.ReadOn(ctx, s.Base, &f, events.SaleStream(s.Me, slot), sale.Evolve)
	st := f.State
	if err == nil && st.Phase != sale.Unknown && !st.Over() {
		err = fmt.Errorf("%w: %s says that its sale is %s", errLives, events.SaleStream(s.Me, slot), st.Phase)
	}
	return err
}

// errLives: what looked like an orphan belongs to a sale.
var errLives = errors.New("it is still needed")

// isTaken reports whether an error is a final answer, which asking again would not change.
func isTaken(err error) bool { return errors.Is(err, errLives) || errors.Is(err, shell.ErrUnreadable) }

// never: no error is a final answer.
func never(error) bool { return false }

// untilDone repeats a step until it succeeds or fails for good, and waits while the event store is away.
func untilDone(ctx context.Context, b *shell.Base, key string, entry *logrus.Entry, note string,
	final func(error) bool, do func(context.Context) error,
) error {
	return b.Retry(ctx, key, func(err error) { entry.Warnf("%s: %v", note, err) }, final,
		func(ctx context.Context) error {
			if err := b.StoreWatch.Wait(ctx, key); err != nil {
				return err
			}
			return do(ctx)
		})
}
