package actors

import (
	"fmt"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file starts the validator. The host goes on without one that fails again and again.

// validatorTree is what the supervisor knows of the validator.
type validatorTree struct {
	ref      shell.Ref
	failures int
}

// validatorDue: it is time to start the validator again.
type validatorDue struct{}

// startValidator spawns the validator if this host is one.
func (s *supervisor) startValidator(a *shell.Turn) {
	if s.Validation == nil {
		return
	}
	v := validator.New(validator.Deps{
		Chain: s.Chain, Validation: s.Validation, Settings: s.Validator,
		Stream: events.MarketStream(s.ChainID, s.Contract), Reads: s.reads, Ours: s.slots(),
		Publish: func(now validator.Status) { s.validating.Store(&now) },
		Broken:  func(err error) { s.root.Tell(validatorBroken{err}) },
	})
	s.validator.ref = a.Spawn("Validator", v)
}

// validatorBroken: the validator's record, or that of the market, cannot be read.
type validatorBroken struct{ err error }

// onValidatorFailed restarts a validator that panicked. After maxFailures the host goes on
// without it.
func (s *supervisor) onValidatorFailed(err error) {
	s.validator.failures++
	if s.validator.failures > maxFailures {
		s.onValidatorBroken(err)
		return
	}
	s.Clock.After(s.Backoff("validator", s.validator.failures), func() { s.root.Tell(validatorDue{}) })
}

func (s *supervisor) onValidatorBroken(err error) {
	s.validator.ref.Stop()
	s.validator.ref = shell.Ref{}
	s.Log.Errorf("the validator was stopped; the host goes on without it: %v", err)
	s.Raise(health.AlertQuarantined, events.SlotID{}, 0,
		fmt.Sprintf("The validator was stopped: %v.", err), "Look at the log; the next start begins it again.")
	last := validator.Status{Settings: s.Validator}
	if known := s.validating.Load(); known != nil {
		last = *known
	}
	last.Ready, last.Trouble = false, err.Error()
	s.validating.Store(&last)
}

// tellValidator tells the validator what the chain says.
func (s *supervisor) tellValidator(m chainNews) {
	n := validator.News{Grew: m.recorded != nil, Proofs: m.proofs, Live: m.live, Head: m.head}
	if m.reorganized != nil {
		n.Rewound, n.Ancestor = true, m.reorganized.GetAncestor()
	}
	s.validator.ref.Tell(n)
}

// proofsOf are the proofs among logs.
func proofsOf(logs []messages.MarketEvent) (proofs []*messages.ChainProofSubmitted) {
	for _, l := range logs {
		if p, ok := l.(*messages.ChainProofSubmitted); ok {
			proofs = append(proofs, p)
		}
	}
	return proofs
}
