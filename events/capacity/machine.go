package capacity

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of ledgers: that of the host, and one of each further member.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategoryCapacity, events.ParseLedgerStream, events.LedgerStream)
	naming.Several = false // The name of the host's own ends with its address.
	return machine.Of(naming, Table, New, Evolve, func(s State) any { return s.Snapshot() })
}
