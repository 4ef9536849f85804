package validator

import (
	"context"
	"errors"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/validation"
)

// This file marks one missing proof, and records the outcome.

// mark sends the marking of a missing proof, unless it is under way.
func (v *Validator) mark(a *shell.Turn, proof events.MissingProof) {
	k := proofKey{proof.Slot, proof.Period}
	m := v.open[k]
	if m == nil {
		m = &marking{proof: proof}
		v.open[k] = m
	}
	if m.running || m.told {
		return
	}
	m.running = true
	m.tries++
	self, deadline := a.Self, duty.LastMarking(v.Terms.Proofs, proof.Period)
	a.Do(func(ctx context.Context) {
		v.Yield(ctx, markingCause(proof))
		marking, err := shell.In(ctx, v.pool, deadline, func() (events.Marking, error) {
			return v.Validation.MarkMissing(ctx, proof.SlotRef, proof.Period, deadline)
		})
		if ctx.Err() == nil {
			self.Tell(markingDone{proof, marking, err})
		}
	})
}

func (v *Validator) onDone(a *shell.Turn, m markingDone) {
	of := v.open[proofKey{m.proof.Slot, m.proof.Period}]
	if of == nil {
		return
	}
	of.running = false
	log := v.Log.WithField("slot", m.proof.Slot.String()).WithField("period", m.proof.Period)
	switch {
	case m.err == nil:
		log.Infof("marked a missing proof for %s base units", m.marking.Reward)
		v.settle(a, of, validation.ReportMarked{At: v.ChainTime(), Proof: m.proof, Marking: m.marking})
	case errors.Is(m.err, events.ErrNotMissing), errors.Is(m.err, events.ErrDeadlinePassed),
		errors.Is(m.err, events.ErrReverted) && of.tries >= maxReverts:
		v.settle(a, of, validation.ReportFailed{At: v.ChainTime(), Proof: m.proof, Reason: m.err.Error()})
	default: // It is tried again at the next block, until the window is closed.
		log.Warnf("mark a missing proof: %v", m.err)
	}
}

// settle records the outcome of a marking, and only then forgets the marking.
func (v *Validator) settle(a *shell.Turn, m *marking, cmd validation.Command) {
	m.told = true
	v.journal.Submit(a, cmd, markingCause(m.proof), func(r shell.Result[validation.State, validation.Event]) {
		if r.Err == nil {
			delete(v.open, proofKey{m.proof.Slot, m.proof.Period})
			return
		}
		m.told = false // It is settled again at the next block.
		v.Log.WithField("slot", m.proof.Slot.String()).Warnf("a marking could not be recorded yet: %v", r.Err)
	})
}

// markingCause names a marking as the cause of the events about it.
func markingCause(p events.MissingProof) string { return events.MarkCause(p.Slot, p.Period) }
