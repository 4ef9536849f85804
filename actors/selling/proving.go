package selling

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file makes proofs: the initial one and those that are owed.

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
