package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// perform makes one call on the world for a sale and says what to report. An
// error is a call that failed for a reason that may pass, or errWaits. It runs
// outside of the mailbox and touches nothing of the agent but its constants.
func (s *salesAgent) perform(ctx context.Context, st sale.State, e sale.Effect) (sale.Command, error) {
	switch e := e.(type) {
	case sale.ReserveCapacity:
		return s.reserveCapacity(ctx, st)
	case sale.ReserveSlot:
		return s.reserveSlot(ctx, st)
	case sale.Download:
		return s.download(ctx, st, e)
	case sale.ProveInitial:
		return s.proveInitial(ctx, st)
	case sale.Fill:
		return s.fill(ctx, st, e)
	case sale.Extend:
		return s.extend(ctx, e)
	case sale.SubmitProof:
		return s.submitProof(ctx, st, e.Duty)
	case sale.ReadCollateral:
		return s.readCollateral(ctx, e)
	case sale.Free:
		return s.free(ctx, st)
	case sale.DeleteData:
		_, err := in(ctx, s.disk, time.Time{}, func() (struct{}, error) {
			return struct{}{}, s.Repo.Delete(ctx, s.slot)
		})
		if err != nil {
			return nil, fmt.Errorf("delete the slot's data: %w", err)
		}
		return sale.ReportDeleted{At: s.chainTime()}, nil
	case sale.Settle:
		return s.settle(ctx, e)
	}
	panic(fmt.Sprintf("actors: unknown effect %T", e))
}

func (s *salesAgent) call(st sale.State, deadline time.Time) events.SlotCall {
	return events.SlotCall{
		Request: s.request, Slot: s.slot, Index: s.index, Attempt: st.Attempt, Deadline: deadline,
	}
}

// askLedger submits a command to the ledger and waits until it is durable.
// take is called in the ledger's turn and copies what the caller needs.
func (s *salesAgent) askLedger(ctx context.Context, cmd capacity.Command, cause string,
	take func(capacity.State),
) error {
	done := make(chan error, 1)
	s.ledger.tell(ledgerCommand{cmd, cause, func(r result[capacity.State, capacity.Event]) {
		if r.err == nil && take != nil {
			take(r.state)
		}
		done <- r.err
	}})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *salesAgent) cause(st sale.State, what string) string {
	return fmt.Sprintf("sale:%s:%d:%s", s.slot, st.Attempt, what)
}

func (s *salesAgent) reserveCapacity(ctx context.Context, st sale.State) (sale.Command, error) {
	ask := st.Request.Ask
	var r capacity.Reservation
	err := s.askLedger(ctx, capacity.Reserve{
		At: s.Clock.Now(), Slot: s.slot, RequestID: s.request, SlotIndex: s.index, Attempt: st.Attempt,
		Ask: askOf(st.Request, st.EndsAt, s.Overhead(ask.SlotSize)),
	}, s.cause(st, "reserve"), func(l capacity.State) {
		r, _ = l.Reservation(capacity.ReservationIDOf(s.slot, st.Attempt))
	})
	var refusal *capacity.Refusal
	switch {
	case errors.As(err, &refusal):
		return sale.ReportNoCapacity{
			At: s.chainTime(), Criterion: string(refusal.Criterion), Reason: refusal.Reason,
		}, nil
	case errors.Is(err, capacity.ErrSettled):
		return sale.GiveUp{At: s.chainTime(), Reason: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return sale.ReportCapacity{
		At: s.chainTime(), Availability: r.Availability, Reservation: r.ID,
		Bytes: r.Bytes, Collateral: r.Collateral,
	}, nil
}

func askOf(r events.Request, end time.Time, overhead events.Bytes) capacity.Ask {
	return capacity.Ask{
		SlotSize:              r.Ask.SlotSize,
		Duration:              r.Ask.Duration,
		PricePerBytePerSecond: r.Ask.PricePerBytePerSecond,
		CollateralPerByte:     r.Ask.CollateralPerByte,
		RequestEnd:            end,
		Overhead:              overhead,
	}
}

func (s *salesAgent) reserveSlot(ctx context.Context, st sale.State) (sale.Command, error) {
	if ok, reason := s.MayReserve(st.Request, s.index, s.view.now()); !ok {
		return nil, fmt.Errorf("the dispersal policy says to wait: %s", reason)
	}
	receipt, err := in(ctx, s.transactions, st.ExpiresAt, func() (events.Receipt, error) {
		return s.Market.ReserveSlot(ctx, s.call(st, fillDeadline(st)))
	})
	switch {
	case errors.Is(err, events.ErrReservationNotAllowed):
		return sale.ReportNotReservable{
			At: s.chainTime(), Reason: "the contract takes no further reservation for the slot",
		}, nil
	case errors.Is(err, events.ErrDeadlinePassed):
		return s.askChain(ctx)
	case err != nil:
		return nil, fmt.Errorf("reserve the slot: %w", err)
	}
	return sale.ReportSlotReserved{At: s.chainTime(), Receipt: receipt}, nil
}

func (s *salesAgent) download(ctx context.Context, st sale.State, e sale.Download) (sale.Command, error) {
	content, err := in(ctx, s.downloads, e.Until, func() (events.SlotContent, error) {
		return s.Content.Download(ctx, events.DownloadJob{
			Request: st.Request, Slot: s.slot, Index: s.index, Until: e.Until,
			Grant: func(ctx context.Context, total events.Bytes) error {
				return s.askLedger(ctx, capacity.Release{
					At: s.Clock.Now(), Reservation: st.Reservation, TotalStored: total,
				}, s.cause(st, "store"), nil)
			},
		})
	})
	switch {
	case errors.Is(err, events.ErrContentMismatch), errors.Is(err, events.ErrQuotaExceeded):
		if st.Adopted { // The collateral is at stake; a source may be mended.
			return nil, fmt.Errorf("download the slot: %w", err)
		}
		return sale.GiveUp{At: s.chainTime(), Reason: err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("download the slot: %w", err)
	}
	return sale.ReportStored{At: s.chainTime(), Bytes: content.Bytes, Root: content.Root}, nil
}

// challengeAt is the slot's period and challenge in the block after head.
func (e *env) challengeAt(ctx context.Context, slot events.SlotID, head events.Head) (uint64, events.Challenge, error) {
	period := duty.Period(e.terms.Proofs, head.Time.Add(time.Second))
	pointer := duty.Pointer(e.terms.Proofs, slot, head.Number+1, period)
	number, ok := duty.ChallengeBlock(head.Number+1, pointer)
	if !ok {
		return period, events.Challenge{}, fmt.Errorf("block %d is too low for a challenge", head.Number)
	}
	hash, err := e.view.lookUp(ctx, number)
	if err != nil {
		return period, events.Challenge{}, fmt.Errorf("read block %d: %w", number, err)
	}
	return period, duty.Challenge(hash), nil
}

func (s *salesAgent) prove(
	ctx context.Context, st sale.State, c events.Challenge, deadline time.Time,
) (events.ProofResult, error) {
	return in(ctx, s.proofs, deadline, func() (events.ProofResult, error) {
		return s.Prover.Prove(ctx, events.ProofJob{
			Slot: s.slot, SlotIndex: s.index, DataSetRoot: st.Request.Content.MerkleRoot, Challenge: c,
		})
	})
}

func (s *salesAgent) proveInitial(ctx context.Context, st sale.State) (sale.Command, error) {
	if st.Adopted {
		return s.askChain(ctx)
	}
	leave, err := s.proofs.enter(ctx, fillDeadline(st))
	if err != nil {
		return nil, err
	}
	leave() // Wait for the window only when the prover is free; it is asked again below.
	head, err := s.view.wait(ctx, func(h events.Head) bool {
		return duty.StableForFill(s.terms.Proofs, s.slot, h, s.Margin)
	})
	if err != nil {
		return nil, err
	}
	s.Turn(ctx, s.slot.String()+"/prove-initial")
	_, challenge, err := s.challengeAt(ctx, s.slot, head)
	if err != nil {
		return nil, err
	}
	r, err := s.prove(ctx, st, challenge, fillDeadline(st))
	switch {
	case errors.Is(err, events.ErrNoSuchSlot), errors.Is(err, events.ErrBitRot):
		return sale.GiveUp{At: s.chainTime(), Reason: "the stored slot cannot be proven: " + err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("make the initial proof: %w", err)
	}
	return sale.ReportInitialProof{At: s.chainTime(), Challenge: challenge, Proof: r.Proof, Took: r.Took}, nil
}

func (s *salesAgent) extend(ctx context.Context, e sale.Extend) (sale.Command, error) {
	_, err := in(ctx, s.disk, time.Time{}, func() (struct{}, error) {
		return struct{}{}, s.Repo.Extend(ctx, s.slot, e.Until)
	})
	if err != nil {
		return nil, fmt.Errorf("extend the lifetime of the data: %w", err)
	}
	return sale.ReportExtended{At: s.chainTime(), Until: e.Until}, nil
}

func (s *salesAgent) submitProof(ctx context.Context, st sale.State, d sale.Duty) (sale.Command, error) {
	if s.view.now().Time.Add(time.Second).After(d.Deadline) {
		return nil, errWaits // The scheduler closes the period.
	}
	result := events.ProofResult{Challenge: d.Challenge}
	if !d.Spoil {
		var err error
		if result, err = s.prove(ctx, st, d.Challenge, d.Deadline); err != nil {
			return nil, fmt.Errorf("prove period %d: %w", d.Period, err)
		}
	}
	period, challenge, err := s.challengeAt(ctx, s.slot, s.view.now())
	if err != nil {
		return nil, err
	}
	if period != d.Period || challenge != d.Challenge {
		return nil, errWaits // The scheduler says what is due instead, if anything.
	}
	receipt, err := in(ctx, s.transactions, d.Deadline, func() (events.Receipt, error) {
		return s.Market.SubmitProof(ctx, s.call(st, d.Deadline), d.Period, result.Proof)
	})
	switch {
	case errors.Is(err, events.ErrProofAlreadySubmitted):
		return sale.ReportProofSubmitted{At: s.chainTime(), Period: d.Period, Took: result.Took}, nil
	case errors.Is(err, events.ErrDeadlinePassed):
		return nil, errWaits
	case errors.Is(err, events.ErrInvalidProof) && d.Spoil:
		return nil, errWaits
	case errors.Is(err, events.ErrNotOurSlot):
		return s.askChain(ctx)
	case err != nil:
		return nil, fmt.Errorf("submit the proof of period %d: %w", d.Period, err)
	}
	return sale.ReportProofSubmitted{
		At: s.chainTime(), Period: d.Period, Took: result.Took, Receipt: receipt,
	}, nil
}

// readCollateral waits until the miss can no longer be marked, then reads what
// is left. A slot that is no longer ours is for ReportChain to judge.
func (s *salesAgent) readCollateral(ctx context.Context, e sale.ReadCollateral) (sale.Command, error) {
	closes := duty.End(s.terms.Proofs, e.Period).Add(s.terms.Proofs.Timeout)
	if _, err := s.view.wait(ctx, func(h events.Head) bool { return h.Time.After(closes) }); err != nil {
		return nil, err
	}
	report, err := s.askChain(ctx)
	if err != nil {
		return nil, err
	}
	facts := report.(sale.ReportChain).Facts
	if facts.Host != s.me {
		return report, nil
	}
	return sale.ReportCollateral{At: facts.At.Time, Period: e.Period, Collateral: facts.Collateral}, nil
}

func (s *salesAgent) free(ctx context.Context, st sale.State) (sale.Command, error) {
	for {
		head := s.view.now()
		payout, err := in(ctx, s.transactions, time.Time{}, func() (events.PayoutReceipt, error) {
			return s.Market.FreeSlot(ctx, s.call(st, time.Time{}))
		})
		switch {
		case err == nil:
			return sale.ReportFreed{At: s.chainTime(), Payout: payout}, nil
		case !errors.Is(err, events.ErrTooEarly):
			return nil, fmt.Errorf("free the slot: %w", err)
		}
		if _, err := s.view.wait(ctx, func(h events.Head) bool { return h.Number > head.Number }); err != nil {
			return nil, err
		}
	}
}

func (s *salesAgent) settle(ctx context.Context, e sale.Settle) (sale.Command, error) {
	returned, err := s.toReturn(ctx, e)
	if err != nil {
		return nil, err
	}
	err = s.askLedger(ctx, capacity.Settle{
		At: s.Clock.Now(), Slot: s.slot, Attempt: e.Attempt,
		CollateralReturned: returned, CollateralLost: e.Lost,
	}, fmt.Sprintf("sale:%s:%d:settle", s.slot, e.Attempt), nil)
	if err != nil {
		return nil, fmt.Errorf("settle with the ledger: %w", err)
	}
	return sale.ReportSettled{At: s.chainTime()}, nil
}

// toReturn is what goes back to the ledger. The sale may have ended before it
// learned that its reservation was made: then all of that goes back.
func (s *salesAgent) toReturn(ctx context.Context, e sale.Settle) (events.Amount, error) {
	done := make(chan events.Amount, 1)
	s.ledger.tell(ledgerQuery{func(l capacity.State) {
		r, ok := l.Reservation(capacity.ReservationIDOf(s.slot, e.Attempt))
		if !ok {
			r.Collateral = e.Returned.Add(e.Lost)
		}
		done <- r.Collateral.SubFloor(e.Lost)
	}})
	select {
	case returned := <-done:
		return returned, nil
	case <-ctx.Done():
		return events.Amount{}, ctx.Err()
	}
}
