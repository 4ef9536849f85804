package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file makes proofs, the initial one and those that are owed, and the fill, the one call that
// puts collateral at stake: the deadline and the unknown outcomes of a fill are handled with care.

// errMoved: the challenge that a proof was to answer is gone.
var errMoved = errors.New("the challenge is gone")

// prove makes a proof when the prover has a place, and measures how long it takes, by the chain's
// clock if that runs more slowly than the machine's. What it
// answers is asked in its turn, because a proof can wait longer than a challenge lasts. It fails
// with errMoved if that is not wanted. So does a proof for a fill whose challenge goes while it is
// made, if the prover can stop; one that is owed ends with its duty.
func (s *Agent) prove(
	ctx context.Context, st sale.State, j proofs.Job, wanted func(events.Head, uint64, events.Challenge) bool,
) (r events.ProofResult, err error) {
	var head events.Head
	err = s.Provers.Run(ctx, j, func(ctx context.Context) error {
		s.Yield(ctx, s.slot.String()+"/prove")
		head = s.View.Now()
		period, challenge, err := s.challengeAt(ctx, s.slot, head)
		if err != nil {
			return err
		}
		if !wanted(head, period, challenge) {
			return errMoved
		}
		if j.Window != nil {
			same := func(h events.Head) bool { return s.asks(h, period, challenge) }
			var cancel context.CancelFunc
			ctx, cancel = s.View.While(ctx, same, errMoved)
			defer cancel()
		}
		r, err = s.Prover.Prove(ctx, events.ProofJob{
			Slot: s.slot, SlotIndex: s.index, DataSetRoot: st.Request.Content.MerkleRoot, Challenge: challenge,
		})
		if err != nil && errors.Is(context.Cause(ctx), errMoved) {
			return errMoved
		}
		return err
	})
	if err == nil {
		s.Load.Measured(min(r.Took, s.ChainTime().Sub(head.Time)+s.BlockTime()))
	}
	return r, err
}

// asks reports whether, as far as is known, the block after head takes a proof for this challenge.
func (s *Agent) asks(head events.Head, period uint64, c events.Challenge) bool {
	now, number, _ := duty.Asked(s.Terms.Proofs, s.slot, head)
	hash, known := s.View.At(number)
	return now == period && (!known || duty.Challenge(hash) == c)
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

// proofFor returns the proof that a duty demands: the one that was made for it, if it must only be sent again.
func (s *Agent) proofFor(ctx context.Context, st sale.State, d sale.Duty) (events.ProofResult, error) {
	if d.Spoil {
		return events.ProofResult{Challenge: d.Challenge}, nil
	}
	if made := s.made.Load(); made != nil && made.Challenge == d.Challenge {
		return *made, nil
	}
	r, err := s.prove(ctx, st, proofs.Job{Deadline: d.Deadline},
		func(_ events.Head, period uint64, c events.Challenge) bool {
			return period == d.Period && c == d.Challenge
		})
	if err == nil {
		s.made.Store(&r)
	}
	return r, err
}

func (s *Agent) proveInitial(ctx context.Context, st sale.State) (sale.Command, error) {
	if st.Adopted || s.ours.Load() { // The record may be older than the fill, and proofs may be owed.
		return s.askChain(ctx, st)
	}
	for {
		report, err := s.proveInitialOnce(ctx, st)
		if !errors.Is(err, proofs.ErrYields) && !errors.Is(err, errMoved) {
			return report, err
		}
	}
}

// proveInitialOnce makes a proof in a window in which, by the measured time, it can also be mined.
func (s *Agent) proveInitialOnce(ctx context.Context, st sale.State) (sale.Command, error) {
	last := fillDeadline(st)
	window := func(h events.Head) bool {
		m := s.Margin()
		return duty.StableForFill(s.Terms.Proofs, s.slot, h, m) && !h.Time.Add(m.Total()).After(last)
	}
	r, err := s.prove(ctx, st, proofs.Job{Deadline: last, Window: window},
		func(h events.Head, _ uint64, _ events.Challenge) bool { return window(h) })
	if found := s.damageOf(err, "the initial proof"); found != nil {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("make the initial proof: %w", err)
	}
	return sale.ReportInitialProof{At: s.ChainTime(), Challenge: r.Challenge, Proof: r.Proof, Took: r.Took}, nil
}

// fillDeadline is the last second in which a fill may be mined: strictly before the request
// expires or ends, because a fill in that very block locks the collateral for ever
// (spec/marketplace.md §12).
func fillDeadline(st sale.State) time.Time {
	if st.Repair || st.Started {
		return st.EndsAt.Add(-time.Second)
	}
	return st.ExpiresAt.Add(-time.Second)
}

func (s *Agent) fill(ctx context.Context, st sale.State, e sale.Fill) (sale.Command, error) {
	report, err := s.askChain(ctx, st) // A fill sent before a crash may have been mined.
	if err != nil {
		return nil, err
	}
	facts, last := report.(sale.ReportChain).Facts, fillDeadline(st)
	if facts.Host == s.Me && facts.SlotState == events.SlotFilled {
		return s.foundOurs(ctx, st, e, report, last)
	}
	if facts.RequestState == events.RequestNew { // Also for a slot in repair: the request may expire.
		last = chainview.Earliest(last, st.ExpiresAt.Add(-time.Second))
	}
	head := s.View.Now()
	period, challenge, err := s.challengeAt(ctx, s.slot, head)
	if err != nil {
		return nil, err
	}
	if challenge != e.Challenge {
		// Nothing is sent after this deadline, but a fill sent before a crash is reported, even
		// if its slot is lost again by now.
		cmd, err := s.fillSlot(ctx, st, e, head.Time, head.Time)
		if _, unsent := cmd.(sale.ReportProofOutdated); unsent {
			cmd = s.outdated(e, fmt.Sprintf("in block %d of %s the slot has another challenge", head.Number,
				head.Time.UTC().Format(time.DateTime)))
		}
		return cmd, err
	}
	last = chainview.Earliest(last, s.lastBlockOf(period, head))
	return s.fillSlot(ctx, st, e, last, last)
}

// foundOurs reports a fill that the contract shows. Nothing is sent; the port knows its receipt. A member has to ask
// the owner for that; without an answer it reports what the contract shows, because the slot owes proofs by now.
func (s *Agent) foundOurs(
	ctx context.Context, st sale.State, e sale.Fill, shown sale.Command, deadline time.Time,
) (sale.Command, error) {
	if s.Member == "" {
		return s.fillSlot(ctx, st, e, deadline, deadline)
	}
	now := s.View.Now().Time
	filled, err := chainview.Patiently(ctx, s.Base, min(chainview.LookPatience, s.Patience()/2),
		func(ctx context.Context) (sale.Command, error) { return s.fillSlot(ctx, st, e, deadline, now) })
	if err != nil && ctx.Err() == nil {
		s.Log.WithField("slot", s.slot.String()).
			Warnf("the fill is recorded as the contract shows it, without its receipt: %v", err)
		return shown, nil
	}
	return filled, err
}

// filledMeanwhile looks whether a fill that had no answer was mined, while the event store does not answer. Then
// nothing is sent; but a slot that is filled owes proofs.
func (s *Agent) filledMeanwhile(ctx context.Context, st sale.State, e sale.Fill) (sale.Command, error) {
	report, err := s.askChain(ctx, st)
	if err != nil {
		return nil, err
	}
	if facts := report.(sale.ReportChain).Facts; facts.Host != s.Me || facts.SlotState != events.SlotFilled {
		return nil, errNotFilledYet
	}
	return s.foundOurs(ctx, st, e, report, fillDeadline(st))
}

// errNotFilledYet: a fill had no answer, the chain does not show it, and it is not sent again during an outage.
var errNotFilledYet = errors.New("the slot is not filled yet, and is not filled while the event store does not answer")

func (s *Agent) outdated(e sale.Fill, reason string) sale.Command {
	return sale.ReportProofOutdated{At: s.ChainTime(), Challenge: e.Challenge, Reason: reason}
}

// fillSlot has the slot filled, until the deadline. After known the chain shows whether it is.
func (s *Agent) fillSlot(
	ctx context.Context, st sale.State, e sale.Fill, deadline, known time.Time,
) (sale.Command, error) {
	call := s.call(st, deadline)
	call.Challenge = e.Challenge
	fill, err := shell.In(ctx, s.Transactions, deadline, func() (events.Fill, error) {
		if s.Member == "" {
			return s.Market.FillSlot(ctx, call, e.Proof)
		}
		// The owner may have filled the slot and its answer be lost. Then the chain is asked, and the call repeated.
		return chainview.Patiently(ctx, s.Base, s.Patience(), func(ctx context.Context) (events.Fill, error) {
			return s.fillInTime(ctx, call, e.Proof, known)
		})
	})
	if err == nil {
		err = events.CheckFill(st.Request, fill)
	}
	switch {
	case errors.Is(err, events.ErrSlotNotFree):
		return sale.ReportNotFree{At: s.ChainTime(), Reason: "another host filled the slot first"}, nil
	case errors.Is(err, events.ErrReservationNotAllowed): // The slot was freed, which clears its reservations.
		return sale.ReportNotFree{At: s.ChainTime(), Reason: "our reservation of the slot is gone"}, nil
	case errors.Is(err, events.ErrProofAlreadySubmitted):
		// A freed slot keeps the proof of its last host for this period, so it can be filled
		// from the next period on.
		if err := s.nextPeriod(ctx); err != nil {
			return nil, err
		}
		return s.outdated(e, "the period had its proof already"), nil
	case errors.Is(err, events.ErrInvalidProof), errors.Is(err, events.ErrDeadlinePassed):
		return s.outdated(e, "it could not be mined in time: "+err.Error()), nil
	case err != nil:
		return nil, fmt.Errorf("fill the slot: %w", err)
	}
	return sale.ReportFilled{At: s.ChainTime(), Fill: fill}, nil
}

// errNotInTime: a fill had no answer although the chain shows by now what became of it.
var errNotInTime = errors.New("no answer until the chain showed whether the slot is filled")

// fillInTime abandons a fill some time after the chain shows what became of it. A filled slot owes proofs, in chain
// time.
func (s *Agent) fillInTime(
	ctx context.Context, call events.SlotCall, proof events.Proof, known time.Time,
) (events.Fill, error) {
	if now := s.View.Now().Time; now.After(known) {
		known = now
	}
	inTime, cancel := s.View.Before(ctx, known.Add(s.Terms.Proofs.Period/6), errNotInTime)
	defer cancel()
	fill, err := s.Market.FillSlot(inTime, call, proof)
	if err != nil && ctx.Err() == nil && inTime.Err() != nil {
		err = context.Cause(inTime)
	}
	return fill, err
}

// nextPeriod waits for the first block of the next period.
func (s *Agent) nextPeriod(ctx context.Context) error {
	period := duty.Period(s.Terms.Proofs, s.View.Now().Time)
	_, err := s.View.Wait(ctx, func(h events.Head) bool { return duty.Period(s.Terms.Proofs, h.Time) > period })
	return err
}

// lastBlockOf is the last time at which the present challenge holds: the end of the period, or
// the wrap of the pointer if that comes first.
func (s *Agent) lastBlockOf(period uint64, head events.Head) time.Time {
	pointer := duty.Pointer(s.Terms.Proofs, s.slot, head.Number+1, period)
	wrap := head.Time.Add(time.Duration(256-int64(pointer)) * s.BlockTime())
	return chainview.Earliest(wrap, duty.Deadline(s.Terms.Proofs, period))
}

// unansweredFill looks, before a report ends a sale, for a fill whose answer was lost: the slot
// may have been filled, and lost again with its collateral. Nothing is sent, because the
// deadline is over.
func (s *Agent) unansweredFill(ctx context.Context, st sale.State, report sale.ReportChain) (sale.Command, error) {
	fill, mined, err := s.minedFill(ctx, st, report.Facts)
	switch {
	case err != nil:
		return nil, err
	case mined:
		return sale.ReportFilled{At: s.ChainTime(), Fill: fill}, nil
	}
	return report, nil
}
