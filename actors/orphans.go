package actors

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// releaseOrphans settles what the ledger holds for sales that do not live: their
// streams were lost, or an older program forgot them. Nobody else would ever. The
// data goes first, as always. A slot that the contract calls ours keeps its
// reservation and its data: it is being adopted. A survey that could not read the
// beginning of some sale knows too little.
func (s *supervisor) releaseOrphans(a *turn, m bootReport) {
	if m.survey.blind {
		return
	}
	living := map[events.SlotID]bool{}
	for _, l := range m.survey.living() {
		living[l.slot] = true
	}
	for _, o := range m.owned {
		living[o.Slot] = true
	}
	// Asked in this turn, before any new sale can ask for a reservation.
	found := make(chan []capacity.Reservation, 1)
	s.ledger.tell(ledgerQuery{func(l capacity.State) {
		var orphans []capacity.Reservation
		for r := range l.Reservations() {
			if !living[r.Slot] {
				orphans = append(orphans, r)
			}
		}
		found <- orphans
	}})
	a.rt.do(func(ctx context.Context) {
		select {
		case orphans := <-found:
			for _, r := range orphans {
				s.releaseOrphan(ctx, r)
			}
		case <-ctx.Done():
		}
	})
}

func (s *supervisor) releaseOrphan(ctx context.Context, r capacity.Reservation) {
	entry := s.log.WithField("slot", r.Slot.String())
	entry.Warnf("the ledger holds %d bytes and %s of collateral for attempt %d, and no sale lives: they are given back",
		r.Bytes, r.Collateral, r.Attempt)
	err := s.retry(ctx, "orphan/"+r.Slot.String(),
		func(err error) { entry.Warnf("giving it back is tried again: %v", err) },
		func(error) bool { return false },
		func(ctx context.Context) error {
			if err := s.record.wait(ctx, "orphan/"+r.Slot.String()); err != nil {
				return err
			}
			if err := s.Repo.Delete(ctx, r.Slot); err != nil {
				return fmt.Errorf("delete the data: %w", err)
			}
			done := make(chan error, 1)
			s.ledger.tell(ledgerCommand{
				capacity.Settle{At: s.Clock.Now(), Reservation: r.ID, CollateralReturned: r.Collateral},
				"start", func(r result[capacity.State, capacity.Event]) { done <- r.err },
			})
			select {
			case err := <-done:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	if err != nil && ctx.Err() == nil {
		entry.Errorf("giving it back failed: %v", err)
	}
}
