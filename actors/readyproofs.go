package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file is what the owner does with proofs that other members left in the event store because they reach
// nobody who sends them. Each is sent as if its member had asked: with the same key, so that it counts once,
// however often it is read and asked for.

// readReadyProofs reads what was left before this member had the term. What comes later is read with
// everything else that other members write.
func (s *supervisor) readReadyProofs(a *shell.Turn) {
	now := s.ChainTime()
	known, _ := s.owner.state()
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "ready proofs")
		for _, p := range known.Members() {
			if p.Member == s.Member {
				continue
			}
			var left []members.Ready
			err := s.ask(ctx, func() (err error) {
				left, err = s.ready.HandedOver(ctx, p.Member, now.Add(-s.Terms.Proofs.Period))
				return err
			})
			if err != nil && ctx.Err() == nil {
				s.Log.Warnf("the proofs that member %s left are not known: %v", p.Member, err)
			}
			for _, r := range left {
				s.root.Tell(r)
			}
		}
	})
}

// onReadyProof sends a proof that another member left, if this member is the owner and the proof is of use:
// it is of a slot that the other one sells, and of a period that is not over. Whether the slot is hosted still,
// and lacks the proof, the contract is asked before it is sent.
func (s *supervisor) onReadyProof(a *shell.Turn, r members.Ready) {
	log := s.Log.WithField("slot", r.Slot.String()).WithField("period", r.Period)
	ag, now := s.agents[r.Slot], s.ChainTime()
	period := duty.Period(s.Terms.Proofs, now)
	switch {
	case !s.term.owns, r.Member == s.Member, ag == nil: // Its sale sends its own; a sale may be over.
		return
	case ag.far != r.Member:
		log.Warnf("member %s left a proof of a slot that it does not sell; it is not sent", r.Member)
		return
	case now.After(r.Deadline), r.Period < period, r.Period > period+1: // The other one may know a newer block.
		return
	}
	call := events.SlotCall{
		Request: ag.request, Slot: r.Slot, Index: ag.index, Attempt: ag.state.Attempt, Deadline: r.Deadline,
		Challenge: r.Challenge,
	}
	task := fmt.Sprintf("proof of %s, %s, %d", r.Member, r.Slot.Short(), r.Period)
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, task)
		err := s.RT.Guarded("proof of another member", func() error {
			return s.Retry(ctx, task, func(error) {}, isFinal, func(ctx context.Context) error {
				_, err := shell.In(ctx, s.proofTxs, r.Deadline, func() (events.Receipt, error) {
					return s.Ports.Market.SubmitProof(ctx, call, r.Period, r.Proof)
				})
				return err
			})
		})
		switch {
		case ctx.Err() != nil:
		case err == nil:
			log.Infof("the proof that member %s left was sent", r.Member)
		case !errors.Is(err, events.ErrProofAlreadySubmitted):
			log.Warnf("the proof that member %s left was not sent: %v", r.Member, err)
		}
	})
}

// isFinal: another try to send a proof of another member is no use. Its member goes on trying.
func isFinal(err error) bool {
	return !members.Unanswered(err) || errors.Is(err, events.ErrNotOwner)
}
