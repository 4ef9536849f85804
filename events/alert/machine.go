package alert

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of alerts.
func Machine() machine.Machine {
	return machine.Of(events.OnePerHost(events.CategoryAlert), Table, machine.Zero[State], Evolve, nil)
}
