package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

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
	panic(fmt.Sprintf("actors: unknown effect %T", e))
}

func (s *Agent) call(st sale.State, deadline time.Time) events.SlotCall {
	return events.SlotCall{
		Request: s.request, Slot: s.slot, Index: s.index, Attempt: st.Attempt, Deadline: deadline,
		Refill: st.Refills > 0,
	}
}

// askLedger submits a command to the ledger and waits until it is durable.
func (s *Agent) askLedger(ctx context.Context, cmd capacity.Command, cause string, by events.EventID) error {
	return ledger.Do(ctx, s.Ledger, ledger.Command{Cmd: cmd, Cause: cause, By: by})
}

func (s *Agent) cause(attempt uint32, what string) string {
	return fmt.Sprintf("sale:%s:%d:%s", s.slot, attempt, what)
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

// challengeAt is the period, and the slot's challenge, in the block after head.
func (e *Deps) challengeAt(ctx context.Context, slot events.SlotID, head events.Head,
) (uint64, events.Challenge, error) {
	period, number, ok := duty.Asked(e.Terms.Proofs, slot, head)
	if !ok {
		return period, events.Challenge{}, fmt.Errorf("block %d is too low for a challenge", head.Number)
	}
	hash, err := chainview.Patiently(ctx, e.Base, e.Patience(), func(ctx context.Context) (events.Hash, error) {
		return e.View.LookUp(ctx, number)
	})
	if err != nil {
		return period, events.Challenge{}, fmt.Errorf("read block %d: %w", number, err)
	}
	return period, duty.Challenge(hash), nil
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

// reserved asks the ledger for the reservation of an attempt.
func (s *Agent) reserved(ctx context.Context, attempt uint32) (ledger.Found, error) {
	id := capacity.ReservationIDOf(s.slot, attempt)
	return shell.Ask[ledger.Found](s.Ledger, ledger.ReservationOf{ID: id}).Wait(ctx)
}
