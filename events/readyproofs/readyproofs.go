// Package readyproofs is what the record knows of proofs on their way from a member to the owner, who sends them. They
// are of use for a period only.
package readyproofs

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/messages"
)

// Machine is what stores know of these streams.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategoryProofs, events.ParseProofsStream, events.ProofsStream)
	naming.Passing = true
	return machine.Of(naming, Table, machine.Zero[State], State.evolve, nil)
}

// State is the newest proof.
type State struct {
	Proofs   uint64
	Slot     string
	Period   uint64
	Deadline time.Time
}

func (s State) evolve(e messages.ProofsEvent) State {
	if e, ok := e.(*messages.ProofReady); ok {
		return State{s.Proofs + 1, e.GetSlotId(), e.GetPeriod(), events.TimeFromMessage(e.GetDeadline())}
	}
	return s
}
