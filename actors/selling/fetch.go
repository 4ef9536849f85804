package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file fetches a slot's data: first the manifest that describes it, then the contract's
// reservation, then the data. A client whose data does not come, or is not what the request
// names, costs a worker's time and no more.

// reserveSlot asks the contract for a slot reservation. Nothing is sent before the slot's
// manifest was compared with the request, so that a false manifest costs no gas. When the
// dispersal policy says to wait, the sale ends for now, to free its worker.
func (s *Agent) reserveSlot(ctx context.Context, st sale.State) (sale.Command, error) {
	now := s.ChainTime()
	may := s.Permits(st.Request, st.Index, st.Repair, st.ExpiresAt, st.EndsAt, now)
	if !may.Open(now) {
		return sale.GiveUp{
			At: now, Reason: may.Reason, LetGo: true, Reprocess: true, Criterion: slotqueue.CriterionDispersal,
		}, nil
	}
	end, err := s.fetch(ctx, st, s.Reads, st.ExpiresAt, func(ctx context.Context) error {
		return s.Content.Inspect(ctx, s.downloadJob(st))
	})
	if end != nil || err != nil {
		return end, err
	}
	receipt, err := shell.In(ctx, s.Transactions, st.ExpiresAt, func() (events.Receipt, error) {
		return s.Market.ReserveSlot(ctx, s.call(st, fillDeadline(st)))
	})
	switch {
	case errors.Is(err, events.ErrReservationNotAllowed):
		return sale.ReportNotReservable{
			At: s.ChainTime(), Reason: "the contract takes no further reservation for the slot",
			Criterion: slotqueue.CriterionReservation,
		}, nil
	case errors.Is(err, events.ErrDeadlinePassed):
		return s.askChain(ctx, st)
	case err != nil:
		return nil, fmt.Errorf("reserve the slot: %w", err)
	}
	return sale.ReportSlotReserved{At: s.ChainTime(), Receipt: receipt}, nil
}

func (s *Agent) downloadJob(st sale.State) events.DownloadJob {
	return events.DownloadJob{
		Request: st.Request, Slot: s.slot, Index: s.index, Until: st.ExpiresAt,
		Arrived: func(missing events.Bytes) { s.watchdog.arrived(s.instant(), missing) },
	}
}

func (s *Agent) download(
	ctx context.Context, st sale.State, by events.EventID, e sale.Download,
) (sale.Command, error) {
	job := s.downloadJob(st)
	job.Until = e.Until
	job.Grant = func(ctx context.Context, total events.Bytes) error {
		err := s.askLedger(ctx, capacity.Release{
			At: s.Clock.Now(), Reservation: st.Reservation, TotalStored: total,
		}, s.cause(st.Attempt, "store"), by)
		if err == nil {
			s.watchdog.granted(s.Clock.Now(), total)
		}
		return err
	}
	if !st.Adopted {
		s.watchdog.measure(st.Attempt, s.paceOf(st))
	}
	var content events.SlotContent
	end, err := s.fetch(ctx, st, s.Downloads, e.Until, func(ctx context.Context) (err error) {
		content, err = s.Content.Download(ctx, job)
		return err
	})
	if end != nil || err != nil {
		return end, err
	}
	return sale.ReportStored{At: s.ChainTime(), Bytes: content.Bytes, Root: content.Root}, nil
}

// paceOf measures a download by its deadline: the last time at which proving and filling can
// still be done.
func (s *Agent) paceOf(st sale.State) sale.PaceMeter {
	last := st.ExpiresAt
	if st.Repair {
		last = st.EndsAt
	}
	took, _ := s.Load.ProofTime()
	by := last.Add(-s.TimeToFill() - took)
	return sale.PaceMeter{Interval: sale.PaceInterval(s.JudgePace, s.ChainTime(), by), By: by}
}

// fetch runs one try to fetch content. The end is not nil when the sale is given up: the
// content is wrong, nothing new came for too long, or it comes too slowly to be of use. A slot
// that the contract counts as ours is never given up: a source may recover.
func (s *Agent) fetch(ctx context.Context, st sale.State, p *shell.Pool, deadline time.Time,
	try func(context.Context) error,
) (end sale.Command, err error) {
	stalled := false
	_, err = shell.In(ctx, p, deadline, func() (struct{}, error) {
		stalled, err = s.watchdog.watch(ctx, s.Deps, st.Attempt, try)
		return struct{}{}, err
	})
	if err == nil {
		return nil, nil
	}
	err = fmt.Errorf("fetch the slot: %w", err)
	if st.Adopted || ctx.Err() != nil {
		return nil, err
	}
	give := sale.GiveUp{At: s.ChainTime(), Reason: err.Error()}
	switch {
	case errors.Is(err, events.ErrDiskFull), errors.Is(err, events.ErrDiskAway):
		// Our fault, whatever else went wrong.
		s.Room.Set(s.Clock.Now(), 0, err)
		give.LetGo, give.Reprocess, give.Criterion = true, true, slotqueue.CriterionDisk
	case errors.Is(err, events.ErrContentMismatch):
		give.Criterion = slotqueue.CriterionWrong
	case errors.Is(err, events.ErrQuotaExceeded):
	case errors.Is(err, capacity.ErrUnknownReservation):
		give.Reason = "its reservation is not in the ledger any more, so nothing more may be stored for it: " +
			err.Error()
	case errors.Is(err, errSlow):
		give.Criterion = slotqueue.CriterionSlow
		give.Reason = "the data comes too slowly: " + s.watchdog.tooSlow()
	case stalled && s.watchdog.reachesNobody():
		give.LetGo, give.Reprocess, give.Criterion = true, true, slotqueue.CriterionSources
		give.Reason = fmt.Sprintf("no source of content could be reached for %s: %v", s.GiveUpDownload, err)
	case stalled:
		give.Criterion = slotqueue.CriterionWithheld
		give.Reason = fmt.Sprintf("no new byte of the slot's data came for %s: %v", s.GiveUpDownload, err)
	default:
		return nil, err
	}
	return give, nil
}
