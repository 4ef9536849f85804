package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file makes proofs: the initial one and those that are owed.

// prove makes a proof when the prover has a place, and measures how long it takes.
func (s *Agent) prove(
	ctx context.Context, st sale.State, c events.Challenge, initial bool, deadline time.Time,
) (r events.ProofResult, err error) {
	err = s.Provers.Run(ctx, initial, deadline, func(ctx context.Context) (err error) {
		r, err = s.Prover.Prove(ctx, events.ProofJob{
			Slot: s.slot, SlotIndex: s.index, DataSetRoot: st.Request.Content.MerkleRoot, Challenge: c,
		})
		return err
	})
	if err == nil {
		s.Load.Measured(r.Took)
	}
	return r, err
}

// proofFor returns the proof that a duty demands: the one that was made for it, if it must only be sent again.
func (s *Agent) proofFor(ctx context.Context, st sale.State, d sale.Duty) (events.ProofResult, error) {
	if d.Spoil {
		return events.ProofResult{Challenge: d.Challenge}, nil
	}
	if made := s.made.Load(); made != nil && made.Challenge == d.Challenge {
		return *made, nil
	}
	r, err := s.prove(ctx, st, d.Challenge, false, d.Deadline)
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
		if !errors.Is(err, proofs.ErrYields) {
			return report, err
		}
	}
}

// proveInitialOnce waits for a challenge that lasts long enough, and proves it.
func (s *Agent) proveInitialOnce(ctx context.Context, st sale.State) (sale.Command, error) {
	// Wait for the window only when the prover is free; Run is called again for the proof.
	err := s.Provers.Run(ctx, true, fillDeadline(st), func(context.Context) error { return nil })
	if err != nil {
		return nil, err
	}
	head, err := s.View.Wait(ctx, func(h events.Head) bool {
		return duty.StableForFill(s.Terms.Proofs, s.slot, h, s.Margin())
	})
	if err != nil {
		return nil, err
	}
	s.Yield(ctx, s.slot.String()+"/prove-initial")
	_, challenge, err := s.challengeAt(ctx, s.slot, head)
	if err != nil {
		return nil, err
	}
	r, err := s.prove(ctx, st, challenge, true, fillDeadline(st))
	if found := s.damageOf(err, "the initial proof"); found != nil {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("make the initial proof: %w", err)
	}
	return sale.ReportInitialProof{At: s.ChainTime(), Challenge: challenge, Proof: r.Proof, Took: r.Took}, nil
}
