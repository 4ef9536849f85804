package deal

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of deals about aggregates.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategoryDeal, events.ParseDealStream, events.DealStream)
	return machine.Of(naming, Table, machine.Zero[State], Evolve, nil)
}
