package sim

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// live is the state of a running host.
type live struct {
	status actors.Status
	// ledger and queue are nil while that part is down.
	ledger *capacity.Snapshot
	queue  *slotqueue.Snapshot
	// sectors are those that are not over.
	sectors []sectors.Standing
}

// checkLive: the replay of the record equals the state of the running host. It checks only
// streams whose stored appends have all been acknowledged to the host.
func (s *simulator) checkLive(ctx context.Context) error {
	h := s.running()
	if h == nil || s.stopping || h.Err() != nil {
		return nil
	}
	now, err := s.look(ctx, h)
	if now == nil || err != nil {
		if h.Err() != nil { // The question itself ended it.
			return nil
		}
		return err
	}
	if now.ledger != nil && s.acknowledged(events.CapacityStream(me)) {
		diff := difference(s.audit.ledger.Snapshot(), *now.ledger)
		if !s.lags("Reservations", events.CapacityStream(me), diff) && diff != "" {
			return fmt.Errorf("the ledger lives (+) otherwise than it replays (-):\n%s", diff)
		}
	}
	if now.queue != nil && s.acknowledged(events.SlotQueueStream(me)) {
		diff := difference(s.audit.queue.Snapshot(), *now.queue)
		if !s.lags("SlotQueue", events.SlotQueueStream(me), diff) && diff != "" {
			return fmt.Errorf("the queue lives (+) otherwise than it replays (-):\n%s", diff)
		}
	}
	if err := s.checkLiveSectors(now.sectors); err != nil {
		return err
	}
	return s.checkLiveSales(now.status)
}

// look asks a host for its state; nil while the host is loading, because then the answer waits
// for the simulator.
func (s *simulator) look(ctx context.Context, h *actors.Host) (*live, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		live *live
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		now := &live{}
		var err error
		if now.status, err = h.Status(ctx); err != nil || !now.status.Booted {
			done <- answer{nil, err}
			return
		}
		ledger, errLedger := h.ViewLedger(ctx)
		if errLedger == nil {
			now.ledger = &ledger
		}
		queue, errQueue := h.ViewQueue(ctx)
		if errQueue == nil {
			now.queue = &queue
		}
		var errSectors error
		if s.Sectors.Begin > 0 {
			now.sectors, errSectors = h.Sectors(ctx)
		}
		for _, err := range []*error{&errLedger, &errQueue, &errSectors} {
			if errors.Is(*err, shell.ErrPartDown) {
				*err = nil
			}
		}
		done <- answer{now, errors.Join(errLedger, errQueue, errSectors)}
	}()
	synctest.Wait()
	select {
	case a := <-done:
		return a.live, a.err
	default:
		return nil, nil
	}
}

func (s *simulator) checkLiveSales(status actors.Status) error {
	hosting, due := 0, 0
	for _, live := range status.Sales {
		due += len(live.State.Duties)
		if live.State.Hosting() {
			hosting++
		}
	}
	if hosting != status.Hosting || due != status.ProofsDue {
		return fmt.Errorf("the host counts %d hosted slots and %d proofs due, and has %d and %d",
			status.Hosting, status.ProofsDue, hosting, due)
	}
	for _, live := range status.Sales {
		if live.Quarantined != "" {
			if s.spoils(live.State.Slot) {
				continue
			}
			return broken(NothingQuarantined, "slot %s: %s", live.State.Slot.Short(), live.Quarantined)
		}
		slot := live.State.Slot
		if live.State.Phase == sale.Unknown || s.spoils(slot) || !s.acknowledged(events.SaleStream(me, slot)) {
			continue
		}
		diff := difference(s.audit.sales[slot], live.State)
		if !s.lags("SalesAgent "+slot.Short(), events.SaleStream(me, slot), diff) && diff != "" {
			return fmt.Errorf("slot %s lives (+) otherwise than it replays (-):\n%s", slot.Short(), diff)
		}
	}
	return nil
}

func (s *simulator) checkLiveSectors(all []sectors.Standing) error {
	for _, live := range all {
		n := live.Number
		if live.Quarantined != "" {
			return broken(NothingQuarantined, "sector %d: %s", n, live.Quarantined)
		}
		st, stream := s.audit.sectors[n], events.SectorStream(me, n)
		if live.Info.State == sector.Undefined || !s.acknowledged(stream) { // It is not read yet.
			continue
		}
		diff := difference(st, live.Info)
		if !s.lags(fmt.Sprintf("Sector %d", n), stream, diff) && diff != "" {
			return fmt.Errorf("sector %d lives (+) otherwise than it replays (-):\n%s", n, diff)
		}
	}
	return nil
}
