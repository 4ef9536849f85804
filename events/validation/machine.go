package validation

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of validators.
func Machine() machine.Machine {
	return machine.Of(events.OnePerHost(events.CategoryValidator), Table, machine.Zero[State], Evolve, nil)
}
