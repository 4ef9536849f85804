package actors

import (
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file starts the validator, a part on which nothing else of the host depends.

func (s *supervisor) newValidator(_ *shell.Base, _ int, broken func(error)) shell.Behavior {
	return validator.New(validator.Deps{
		Chain: s.Chain, Validation: s.Validation, Settings: s.Validator,
		Stream: events.MarketStream(s.ChainID, s.Contract), Reads: s.reads, Ours: s.slots(),
		Publish: func(now validator.Status) { s.validating.Store(&now) },
		Broken:  broken,
	})
}

// showValidatorDown has the validator's status say why it does not run.
func (s *supervisor) showValidatorDown(err error) {
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
	s.validator.Tell(n)
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
