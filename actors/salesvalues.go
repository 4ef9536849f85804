package actors

import (
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// saleCommand tells a sale what to decide.
type saleCommand struct {
	cmd   sale.Command
	cause string
}

// lookAtChain makes a sale compare its record with the chain.
type lookAtChain struct{}

// saleChanged tells observers of a sale. The states are theirs to keep: states
// of sales share nothing that changes.
type saleChanged struct {
	agent shell.Address
	slot  events.SlotID
	state sale.State // what is in the record
	// ahead is the same with what is decided; duties are seen to by it.
	ahead   sale.State
	fresh   []sale.Event
	trouble Trouble
}

// Trouble is the last failure of a call that is being tried again.
type Trouble struct {
	Effect string
	Error  string
	Since  time.Time // by the machine's clock
	Tries  int
}

// saleQuarantined tells the scheduler that nobody proves a slot.
type saleQuarantined struct {
	slot    events.SlotID
	request events.RequestID
	index   uint64
	why     string
}

// beginSale asks for a sale of a slot; the worker is told how it goes.
type beginSale struct {
	work   slotqueue.Work
	worker shell.Address
}

// letGo asks for the end of a sale that is not filled yet.
type letGo struct {
	work   slotqueue.Work
	reason string
}
