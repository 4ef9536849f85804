package sales

import (
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Command is a command for a sale to decide.
type Command struct {
	Cmd   sale.Command
	Cause string
	By    events.EventID // the event of the record that led to it; zero: none
}

// Look makes a sale compare its record with the chain.
type Look struct{}

// Changed tells observers the state of a sale. They may keep the states: states of sales share
// nothing that changes.
type Changed struct {
	Agent shell.Address
	Slot  events.SlotID
	State sale.State     // what is in the record
	Last  events.EventID // the last event of that
	// Ahead is the same with what is decided; duties are seen to by it.
	Ahead   sale.State
	Fresh   []sale.Event
	Trouble Trouble
}

// Trouble is the last failure of a call that is tried again.
type Trouble struct {
	Effect string
	Error  string
	Since  time.Time // by the machine's clock
	Tries  int
}

// Quarantined tells the scheduler that nobody proves a slot.
type Quarantined struct {
	Slot    events.SlotID
	Request events.RequestID
	Index   uint64
	Why     string
}

// Begin asks for a sale of a slot; the worker is told how it goes.
type Begin struct {
	Work   slotqueue.Work
	Worker shell.Address
	By     events.EventID // what took the slot; zero: not known
}

// GiveUp asks a sale to end that is not filled yet.
type GiveUp struct {
	Work   slotqueue.Work
	Reason string
}

// RecordMoved says that the event store went away or came back.
type RecordMoved struct{}
