package slotqueue

import (
	"math"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of slot queues.
func Machine() machine.Machine {
	naming := events.OnePerHost(events.CategorySlotQueue)
	naming.MayTruncate = true // It holds no money and no bytes.
	return machine.Of(naming, Table, func() State { return New(Limits{MaxItems: math.MaxInt}) }, Evolve,
		func(s State) any { return s.Snapshot() })
}
