package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// Replay implements Backend.
func (r *reader) Replay(ctx context.Context, q ReplayQuestion) (replay.Result, error) {
	views := r.views
	if r.projector == nil { // The names of streams are in the views.
		built, err := projections.ViewsAt(ctx, r.store, projections.Scope{}, nil)
		if err != nil {
			return replay.Result{}, err
		}
		views = built
	}
	known := streamsOf(views)
	name, err := replay.Find(q.Stream, known)
	if errors.Is(err, replay.ErrAmbiguous) {
		err = fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	if err != nil {
		return replay.Result{}, err
	}
	result, err := replay.Stream(ctx, r.store, name, q.At.until(), q.Events)
	switch {
	case errors.Is(err, replay.ErrUnknownStream):
		return result, replay.Unknown(q.Stream, known)
	case err != nil:
		return result, err
	case q.At.HasRevision && q.At.Revision > result.Last:
		return replay.Result{}, fmt.Errorf("%w: revision %d; %s ends with revision %d of %s", replay.ErrBeyond,
			q.At.Revision, name, result.Last, result.Recorded.Format(time.RFC3339))
	}
	head, err := r.store.Head(ctx)
	if err == nil && q.At.Position > head {
		err = fmt.Errorf("%w: log position %d; the last one is %d", replay.ErrBeyond, q.At.Position, head)
	}
	return result, err
}

// streamsOf are the streams that views know of.
func streamsOf(v viewer) []string {
	var names []string
	add := func(name ...string) { names = append(names, name...) }
	host := func(address string) {
		if a, err := events.ParseAddress(address); err == nil {
			add(events.HostStream(a), events.CapacityStream(a), events.SlotQueueStream(a), events.TxStream(a))
		}
	}
	for _, h := range v.Hosts().Hosts {
		host(h.Host)
		for _, run := range h.Runs {
			if contract, err := events.ParseAddress(run.Contract); err == nil {
				add(events.MarketStream(run.ChainID, contract))
			}
		}
	}
	for _, l := range v.Ledgers().Ledgers {
		host(l.Host)
		a, err := events.ParseAddress(l.Host)
		for _, one := range l.Members {
			if err == nil && !one.HostLedger {
				add(events.LedgerStream(a, one.Member))
			}
		}
	}
	for _, p := range v.Sectors().Providers {
		a, err := events.ParseAddress(p.Host)
		for _, s := range p.Sectors {
			if err == nil {
				add(events.SectorStream(a, s.SectorNumber))
			}
		}
	}
	for _, s := range v.Sales().Sales {
		a, err1 := events.ParseAddress(s.Host)
		slot, err2 := events.ParseSlotID(s.Slot)
		if err1 == nil && err2 == nil {
			add(events.SaleStream(a, slot))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
