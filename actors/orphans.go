package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
)

// releaseOrphans settles reservations whose sales do not live: their streams were lost, or an
// older build forgot them. Nobody else would ever settle them. The data is deleted first, as
// always. A slot that the contract calls ours keeps its reservation and its data: it is being
// adopted. Nothing is released if the list of living sales is incomplete.
//
// A sale's absence from the list is only the reason to look: before anything is deleted, the
// sale's own stream and the contract are asked about the slot.
func (s *supervisor) releaseOrphans(m bootReport) {
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
				s.releaseOrphan(ctx, r)
			}
		}
		// What is left are the stored slots for which no sale, no reservation and no slot on chain is known.
		left := slices.DeleteFunc(slices.Clone(m.stored), func(st events.StoredSlot) bool { return known[st.Slot] })
		s.clearLeftovers(ctx, left)
	})
}

// overlookedSale is a living sale that the list did not show.
type overlookedSale livingSale

// onOverlooked resumes a living sale that the list did not show.
func (s *supervisor) onOverlooked(a *shell.Turn, l overlookedSale) {
	if s.agents[l.slot] != nil || s.beginning[l.slot] != nil {
		return
	}
	s.agents[l.slot] = newAgent(l.slot, l.request, l.index)
	s.family.Run(a, &s.agents[l.slot].Child)
}

// errLives: what looked like an orphan belongs to somebody.
var errLives = errors.New("it is still needed")

// orphaned asks the sale's own stream and the contract whether a reservation is still needed.
// errLives: it is.
func (s *supervisor) orphaned(ctx context.Context, r capacity.Reservation) error {
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

// readSale folds a sale's own stream.
func (s *supervisor) readSale(ctx context.Context, slot events.SlotID) (sale.State, error) {
	var f shell.Fold[sale.State]
	err := shell.ReadOn(ctx, s.Base, &f, events.SaleStream(s.Me, slot), sale.Evolve)
	return f.State, err
}

// isTaken reports whether an error is a final answer, which asking again would not change.
func isTaken(err error) bool { return errors.Is(err, errLives) || errors.Is(err, shell.ErrUnreadable) }

func (s *supervisor) releaseOrphan(ctx context.Context, r capacity.Reservation) {
	entry := s.Log.WithField("slot", r.Slot.String())
	key := "orphan/" + r.Slot.String()
	err := s.untilDone(ctx, key+"/look", entry, "check whether the sale still lives, will try again", isTaken,
		func(ctx context.Context) error { return s.orphaned(ctx, r) })
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, errLives):
		entry.Errorf("the list of living sales did not show this sale, which goes on: %v", err)
		s.root.Tell(overlookedSale{slot: r.Slot, request: r.RequestID, index: r.SlotIndex})
		return
	case err != nil:
		entry.Errorf("the ledger holds %d bytes and %s of collateral for attempt %d, and whether its sale lives "+
			"cannot be read, so both are left alone: %v", r.Bytes, r.Collateral, r.Attempt, err)
		return
	}
	entry.Warnf("the ledger holds %d bytes and %s of collateral for attempt %d, which has no living sale: "+
		"they are released",
		r.Bytes, r.Collateral, r.Attempt)
	const note = "release the reservation, will try again"
	err = s.held(ctx, r.Slot, func() error {
		return s.untilDone(ctx, key+"/data", entry, note, never, func(ctx context.Context) error {
			return s.Repo.Delete(ctx, r.Slot)
		})
	})
	if err == nil || errors.Is(err, errLives) { // errLives: the data belongs to a new sale now.
		err = s.untilDone(ctx, key, entry, note, never, func(ctx context.Context) error {
			cmd := capacity.Settle{At: s.Clock.Now(), Reservation: r.ID, CollateralReturned: r.Collateral}
			return ledger.Do(ctx, s.ledger, ledger.Command{Cmd: cmd, Cause: "orphan:" + r.Slot.String()})
		})
	}
	if err != nil && ctx.Err() == nil {
		entry.Errorf("releasing the reservation failed: %v", err)
	}
}

// never: no error is a final answer.
func never(error) bool { return false }

// untilDone repeats a step until it succeeds or fails for good, and waits while the event store is away.
func (s *supervisor) untilDone(ctx context.Context, key string, entry *logrus.Entry, note string,
	final func(error) bool, do func(context.Context) error,
) error {
	return s.Retry(ctx, key, func(err error) { entry.Warnf("%s: %v", note, err) }, final,
		func(ctx context.Context) error {
			if err := s.StoreWatch.Wait(ctx, key); err != nil {
				return err
			}
			return do(ctx)
		})
}
