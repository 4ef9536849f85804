package downtime

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of nodes that are watched.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategoryNode, events.ParseNodeStream, events.NodeStream)
	return machine.Of(naming, Table, machine.Zero[State], Evolve, nil)
}
