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
	k, deadline := proofKey{proof.Slot, proof.Period}, duty.LastMarking(v.Terms.Proofs, proof.Period)
	w := v.effects.Begin(a, markingCause(proof), events.EventID{}, func(ctx context.Context) (events.Marking, error) {
		v.Yield(ctx, markingCause(proof))
		return shell.In(ctx, v.pool, deadline, func() (events.Marking, error) {
			return v.Validation.MarkMissing(ctx, proof.SlotRef, proof.Period, deadline)
		})
	})
	if w == nil {
		return
	}
	if v.open[k] == nil {
		v.open[k] = &marking{proof: proof}
	}
	v.open[k].tries++
	w.Data = v.open[k]
}

// onMarked records the outcome of a marking.
func (v *Validator) onMarked(a *shell.Turn, w *shell.Work[*marking], m events.Marking, err error) {
	proof := w.Data.proof
	log := v.Log.WithField("slot", proof.Slot.String()).WithField("period", proof.Period)
	switch {
	case a.RT.Context().Err() != nil: // The host stops.
	case err == nil:
		log.Infof("marked a missing proof for %s base units", m.Reward)
		v.settle(a, w, validation.ReportMarked{At: v.ChainTime(), Proof: proof, Marking: m})
	case errors.Is(err, events.ErrNotMissing), errors.Is(err, events.ErrDeadlinePassed),
		errors.Is(err, events.ErrReverted) && w.Data.tries >= maxReverts:
		v.settle(a, w, validation.ReportFailed{At: v.ChainTime(), Proof: proof, Reason: err.Error()})
	default: // It is tried again at the next block, until the window is closed.
		log.Warnf("mark a missing proof: %v", err)
		v.effects.Forget(w)
	}
}

// settle records the outcome of a marking, and only then forgets the marking.
func (v *Validator) settle(a *shell.Turn, w *shell.Work[*marking], cmd validation.Command) {
	v.effects.Report(a, w, func(done func(changed bool)) {
		v.journal.Submit(a, cmd, w.Key, func(r shell.Result[validation.State, validation.Event]) {
			if r.Err == nil {
				delete(v.open, proofKey{w.Data.proof.Slot, w.Data.proof.Period})
			} else {
				v.Log.WithField("slot", w.Data.proof.Slot.String()).Warnf(
					"a marking could not be recorded yet: %v", r.Err)
			}
			done(r.Err == nil)
		})
	})
}

// markingCause names a marking as the cause of the events about it.
func markingCause(p events.MissingProof) string { return events.MarkCause(p.Slot, p.Period) }
