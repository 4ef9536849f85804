package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file makes the calls of a sale on the world, in the order of its life, but for proofs and the fill.

// errWaits ends an effect that has nothing to do until the state changes.
var errWaits = errors.New("nothing to do until something changes")

// perform makes one call on the world for a sale and says what to report. An
// error is a call that failed for a reason that may pass, or errWaits. It runs
// outside of the mailbox and touches nothing of the agent but its constants. by is the
// event that what it asks of the ledger is to name.
func (s *Agent) perform(ctx context.Context, st sale.State, by events.EventID, e sale.Effect) (sale.Command, error) {
	switch e := e.(type) {
	case sale.ReserveCapacity:
		return s.reserveCapacity(ctx, st, by)
	case sale.ReserveSlot:
		return s.reserveSlot(ctx, st)
	case sale.Download:
		return s.download(ctx, st, by, e)
	case sale.ProveInitial:
		return s.proveInitial(ctx, st)
	case sale.Fill:
		return s.fill(ctx, st, e)
	case sale.Extend:
		return s.extend(ctx, e)
	case sale.SubmitProof:
		return s.submitProof(ctx, st, e.Duty)
	case sale.Repair:
		return s.repair(ctx, st, e)
	case sale.ReadCollateral:
		return s.readCollateral(ctx, st, e)
	case sale.Free:
		return s.free(ctx, st)
	case sale.DeleteData:
		return s.deleteData(ctx, st, by, e)
	case sale.Settle:
		return s.settle(ctx, st, by, e)
	}
	panic(fmt.Sprintf("selling: unknown effect %T", e))
}

func (s *Agent) reserveCapacity(ctx context.Context, st sale.State, by events.EventID) (sale.Command, error) {
	err := s.askLedger(ctx, s.reservation(st), s.cause(st.Attempt, "reserve"), by)
	var refusal *capacity.Refusal
	switch {
	case errors.As(err, &refusal):
		return sale.ReportNoCapacity{
			At: s.ChainTime(), Criterion: string(refusal.Criterion), Reason: refusal.Reason,
		}, nil
	case errors.Is(err, capacity.ErrSettled):
		return sale.GiveUp{At: s.ChainTime(), Reason: err.Error()}, nil
	case errors.Is(err, quarantine.ErrQuarantined) && !st.Adopted:
		return sale.ReportNoCapacity{
			At: s.ChainTime(), Criterion: slotqueue.CriterionQuarantined, Reason: err.Error(),
		}, nil
	case err != nil:
		return nil, err
	}
	r, err := s.reserved(ctx, st.Attempt)
	if err != nil {
		return nil, err
	}
	return sale.ReportCapacity{
		At: s.ChainTime(), Availability: r.Availability, Reservation: r.ID,
		Bytes: r.Bytes, Collateral: r.Collateral,
	}, nil
}

// reservation is what an attempt asks of the ledger.
func (s *Agent) reservation(st sale.State) capacity.Reserve {
	ask := s.AskOf(st.Request, st.EndsAt)
	if st.Adopted { // Its collateral is deposited already.
		ask.MaxAtRisk, ask.Quota = nil, 0
	}
	return capacity.Reserve{
		At: s.Clock.Now(), Slot: s.slot, RequestID: s.request, SlotIndex: s.index, Attempt: st.Attempt, Ask: ask,
		Adopted: st.Adopted,
	}
}

// reserved asks the ledger for the reservation of an attempt.
func (s *Agent) reserved(ctx context.Context, attempt uint32) (ledger.Found, error) {
	id := capacity.ReservationIDOf(s.slot, attempt)
	return shell.Ask[ledger.Found](s.Ledger, ledger.ReservationOf{ID: id}).Wait(ctx)
}

// askLedger submits a command to the ledger and waits until it is durable.
func (s *Agent) askLedger(ctx context.Context, cmd capacity.Command, cause string, by events.EventID) error {
	return ledger.Do(ctx, s.Ledger, ledger.Command{Cmd: cmd, Cause: cause, By: by})
}

func (s *Agent) cause(attempt uint32, what string) string {
	return fmt.Sprintf("sale:%s:%d:%s", s.slot, attempt, what)
}

// A slot's data is fetched in three steps: first the manifest that describes it, then the contract's
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

func (s *Agent) extend(ctx context.Context, e sale.Extend) (sale.Command, error) {
	_, err := shell.In(ctx, s.Disk, time.Time{}, func() (struct{}, error) {
		return struct{}{}, s.Repo.Extend(ctx, s.slot, e.Until)
	})
	if found := s.damageOf(err, "keeping the data"); found != nil {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("extend the lifetime of the data: %w", err)
	}
	return sale.ReportExtended{At: s.ChainTime(), Until: e.Until}, nil
}

func (s *Agent) submitProof(ctx context.Context, st sale.State, d sale.Duty) (sale.Command, error) {
	if s.View.Now().Time.Add(time.Second).After(d.Deadline) {
		return nil, errWaits // The scheduler closes the period.
	}
	result, err := s.proofFor(ctx, st, d)
	if errors.Is(err, errMoved) {
		return nil, errWaits // The scheduler says what is due instead, if anything.
	}
	if found := s.damageOf(err, fmt.Sprintf("the proof of period %d", d.Period)); found != nil {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("prove period %d: %w", d.Period, err)
	}
	period, challenge, err := s.challengeAt(ctx, s.slot, s.View.Now())
	if err != nil {
		return nil, err
	}
	if period != d.Period || challenge != d.Challenge {
		return nil, errWaits // The scheduler says what is due instead, if anything.
	}
	call := s.call(st, d.Deadline)
	call.Challenge = d.Challenge
	receipt, err := shell.In(ctx, s.ProofTxs, d.Deadline, func() (events.Receipt, error) {
		return s.Market.SubmitProof(ctx, call, d.Period, result.Proof)
	})
	switch {
	case errors.Is(err, events.ErrProofAlreadySubmitted):
		return sale.ReportProofSubmitted{At: s.ChainTime(), Period: d.Period, Took: result.Took}, nil
	case errors.Is(err, events.ErrDeadlinePassed), errors.Is(err, events.ErrInvalidProof) && d.Spoil:
		return nil, errWaits
	case errors.Is(err, events.ErrNotOurSlot):
		return s.askChain(ctx, st)
	case err != nil:
		if errors.Is(err, events.ErrInvalidProof) {
			s.made.Store(nil)
		}
		return nil, fmt.Errorf("submit the proof of period %d: %w", d.Period, err)
	}
	return sale.ReportProofSubmitted{
		At: s.ChainTime(), Period: d.Period, Took: result.Took, Receipt: receipt,
	}, nil
}

// readCollateral waits until the miss can no longer be marked, then reads what is left of the
// collateral. A slot that is no longer ours is left to ReportChain.
func (s *Agent) readCollateral(ctx context.Context, st sale.State, e sale.ReadCollateral) (sale.Command, error) {
	closes := duty.End(s.Terms.Proofs, e.Period).Add(s.Terms.Proofs.Timeout)
	if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Time.After(closes) }); err != nil {
		return nil, err
	}
	report, err := s.askChain(ctx, st)
	if err != nil {
		return nil, err
	}
	facts := report.(sale.ReportChain).Facts
	if facts.Host != s.Me {
		return report, nil
	}
	return sale.ReportCollateral{At: facts.At.Time, Period: e.Period, Collateral: facts.Collateral}, nil
}

func (s *Agent) free(ctx context.Context, st sale.State) (sale.Command, error) {
	for {
		head := s.View.Now()
		payout, err := shell.In(ctx, s.Transactions, time.Time{}, func() (events.PayoutReceipt, error) {
			return s.Market.FreeSlot(ctx, s.call(st, time.Time{}))
		})
		if err == nil {
			err = events.CheckPayout(st.Request, payout)
		}
		switch {
		case err == nil:
			return sale.ReportFreed{At: s.ChainTime(), Payout: payout}, nil
		case errors.Is(err, events.ErrSlotIsFree), errors.Is(err, events.ErrNotOurSlot):
			return s.whyNotOurs(ctx, st, err)
		case !errors.Is(err, events.ErrTooEarly):
			return nil, fmt.Errorf("free the slot: %w", err)
		}
		if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Number > head.Number }); err != nil {
			return nil, err
		}
	}
}

// whyNotOurs finds out why the contract has no slot of ours to free, although the record does:
// a reorganisation may have taken back the fill, or the slot was lost. A node that lags behind
// says the same; then the call is tried again.
func (s *Agent) whyNotOurs(ctx context.Context, st sale.State, refused error) (sale.Command, error) {
	report, err := s.askChain(ctx, st)
	if err != nil {
		return nil, err
	}
	if found, err := s.Decide(st, report); err != nil || len(found) > 0 {
		return report, nil //nolint:nilerr // The journal decides once more, and tells.
	}
	return nil, fmt.Errorf("free the slot: %w", refused)
}

// What follows takes a last look at a slot before its data is deleted. A reorganisation may have
// given the slot back. And a slot that was taken from us is in repair: filling it again costs
// less collateral than another slot, and there is nothing to fetch.

// deleteData removes the slot from the disk, unless the chain has something better
// for it.
func (s *Agent) deleteData(
	ctx context.Context, st sale.State, by events.EventID, e sale.DeleteData,
) (sale.Command, error) {
	if e.WhenFinal {
		if instead, err := s.lastLook(ctx, st, by); err != nil || instead != nil {
			return instead, err
		}
	}
	_, err := shell.In(ctx, s.Disk, time.Time{}, func() (struct{}, error) {
		return struct{}{}, s.Repo.Delete(ctx, s.slot)
	})
	if err != nil {
		return nil, fmt.Errorf("delete the slot's data: %w", err)
	}
	return sale.ReportDeleted{At: s.ChainTime()}, nil
}

// lastLook asks the chain about a slot of an ended sale when what ended it is final.
// A restart waits anew: that costs space for a while, and nothing else.
func (s *Agent) lastLook(ctx context.Context, st sale.State, by events.EventID) (sale.Command, error) {
	from := s.View.Now().Number
	if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Number >= from+s.FinalBlocks }); err != nil {
		return nil, err
	}
	s.Yield(ctx, s.slot.String()+"/last look")
	if err := s.WaitFinal(ctx, from); err != nil {
		return nil, err
	}
	report, err := s.askChain(ctx, st)
	if err != nil {
		return nil, err
	}
	if found, err := s.Decide(st, report); err != nil || len(found) > 0 {
		return report, nil
	}
	facts := report.(sale.ReportChain).Facts
	if err := s.Confirm(ctx, s.request, s.index, facts); err != nil {
		return nil, err
	}
	if worth, err := s.worthFilling(ctx, st, facts); err != nil || !worth {
		return nil, err
	}
	return s.refill(ctx, st, by, facts)
}

// worthFilling reports whether a slot that was taken from us can be filled again: it is in
// repair, the request runs long enough, and the account can pay. Whether an availability still
// takes it is for the ledger to say.
func (s *Agent) worthFilling(ctx context.Context, st sale.State, f events.SlotFacts) (bool, error) {
	last := f.RequestEnd
	switch {
	case !st.Refillable(), !f.RequestKnown, f.SlotState != events.SlotRepair:
		return false, nil
	case f.RequestState == events.RequestNew:
		last = f.RequestExpiry
	case f.RequestState != events.RequestStarted:
		return false, nil
	}
	if last.Sub(f.At.Time) < s.TimeToFill() {
		return false, nil
	}
	balance, err := s.Market.Balance(ctx)
	if err != nil {
		return false, fmt.Errorf("read the balance: %w", err)
	}
	collateral, _ := st.Request.Ask.CollateralPerSlot()
	return !balance.Tokens.Less(collateral) && !balance.Wei.Less(s.MinWei), nil
}

// refill settles the attempt that lost the slot and reserves for the next one.
// Nothing, when the ledger refuses that.
func (s *Agent) refill(
	ctx context.Context, st sale.State, by events.EventID, f events.SlotFacts,
) (sale.Command, error) {
	next := st
	next.Attempt, next.EndsAt = st.Attempt+1, f.RequestEnd
	reserve := s.reservation(next)
	returned, lost := st.Settlement()
	settle, err := s.settlement(ctx, sale.Settle{Attempt: st.Attempt, Returned: returned, Lost: lost})
	if err != nil {
		return nil, err
	}
	err = s.askLedger(ctx, capacity.Renew{Settle: settle, Reserve: reserve}, s.cause(st.Attempt, "settle"), by)
	var refusal *capacity.Refusal
	switch {
	case errors.As(err, &refusal):
		s.Log.WithField("slot", s.slot.String()).Infof(
			"the slot is in repair and its data is here, but no availability takes it: %s", refusal.Reason)
		return nil, nil //nolint:nilnil // The data is deleted.
	case errors.Is(err, capacity.ErrSettled):
		return nil, nil //nolint:nilnil // The data is deleted.
	case err != nil:
		return nil, fmt.Errorf("reserve for filling the slot again: %w", err)
	}
	r, err := s.reserved(ctx, next.Attempt)
	if err != nil {
		return nil, fmt.Errorf("read the reservation for filling the slot again: %w", err)
	}
	return sale.Refill{
		At: f.At.Time, ExpiresAt: f.RequestExpiry, EndsAt: f.RequestEnd,
		Capacity: sale.ReportCapacity{
			At: f.At.Time, Availability: r.Availability, Reservation: r.ID, Bytes: r.Bytes, Collateral: r.Collateral,
		},
	}, nil
}

func (s *Agent) settle(
	ctx context.Context, st sale.State, by events.EventID, e sale.Settle,
) (sale.Command, error) {
	cmd, err := s.settlement(ctx, e)
	if err != nil {
		return nil, err
	}
	err = s.askLedger(ctx, cmd, s.cause(e.Attempt, "settle"), by)
	if err == nil && st.Forfeited {
		err = s.settleUnused(ctx, e.Attempt+1, by)
	}
	if err != nil {
		return nil, fmt.Errorf("settle with the ledger: %w", err)
	}
	return sale.ReportSettled{At: s.ChainTime()}, nil
}

// settlement is what an attempt gives back to the ledger. If the sale ended before it learned of its
// reservation, that is all of the collateral.
func (s *Agent) settlement(ctx context.Context, e sale.Settle) (capacity.Settle, error) {
	r, err := s.reserved(ctx, e.Attempt)
	if err == nil && !r.Found {
		r.Collateral = e.Returned.Add(e.Lost)
	}
	return capacity.Settle{
		At: s.Clock.Now(), Slot: s.slot, Attempt: e.Attempt,
		CollateralReturned: r.Collateral.SubFloor(e.Lost), CollateralLost: e.Lost,
	}, err
}

// settleUnused gives back what was reserved for filling a slot again when that was
// not recorded any more: the host died in between, and then it was too late.
func (s *Agent) settleUnused(ctx context.Context, attempt uint32, by events.EventID) error {
	cmd, err := s.settlement(ctx, sale.Settle{Attempt: attempt})
	if err != nil {
		return err
	}
	return s.askLedger(ctx, cmd, s.cause(attempt-1, "settle"), by)
}
