package content

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of CARs that are to be stored.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategoryContent, events.ParseContentStream, events.ContentStream)
	return machine.Of(naming, Table, machine.Zero[State], Evolve, nil)
}
