package cargo

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of the ledger of pieces.
func Machine() machine.Machine {
	show := func(s State) any { return s.Shown() }
	return machine.Of(events.OnePerHost(events.CategoryCargo), Table, Empty, Evolve, show)
}

// Shown is the ledger for people.
type Shown struct {
	Pieces   uint64
	Groups   map[string]Group // padded bytes
	Ferries  []*Ferry         // and aggregates
	Refused  map[uint64]string
	Isolated [][]uint64 // lists that wait to be tried alone
}

// Shown is the ledger without its pieces, which may be a million.
func (s State) Shown() Shown { return Shown{s.count, s.Groups, s.Ferries(), s.Refusal, s.suspects} }
