package members

import (
	"encoding/json"
	"fmt"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file has the commands of an operator that one member passes on to another one.

type (
	// ChangeLedger is a command to a member's ledger; one of the fields is set.
	ChangeLedger struct {
		Create *capacity.Create `json:",omitempty"`
		Update *capacity.Update `json:",omitempty"`
		Delete *capacity.Delete `json:",omitempty"`
	}
	// ChangeQueue is a command to the slot queue, for the owner; one of the fields is set.
	ChangeQueue struct {
		Pause  *slotqueue.Pause  `json:",omitempty"`
		Resume *slotqueue.Resume `json:",omitempty"`
	}
	// ToRoom is an order, as JSON, to a room of this name that runs with the owner. The answer is the room's, as JSON.
	ToRoom struct {
		Room  string
		Order json.RawMessage
	}
	// TryAgain ends the quarantine of a piece of work.
	TryAgain struct{ Work shell.Subject }
	// LookForRoom asks for the room on a member's disk.
	LookForRoom struct{}
	// Room is the answer, if it was measured: what the file system has left, and what must stay free.
	Room struct {
		Known      bool
		Free, Keep events.Bytes
	}
	// LookAtWork asks what a member has to do.
	LookAtWork struct{}
	// Work is the answer.
	Work struct {
		Head      uint64 // the newest block that it has seen
		ProofsDue int    // proofs of this period that the contract does not have yet
		// ProverBusy is the percentage of the time for which the proofs of its slots keep its prover busy;
		// at ProverMost it takes no more slots.
		ProverBusy, ProverMost uint64
		// MayOwn says that it may take the term now: it has the account's key, and the event store answers it.
		MayOwn bool
	}
)

func (ChangeLedger) kind() (k string, a None)      { return "change-ledger", a }
func (ChangeQueue) kind() (k string, a None)       { return "change-queue", a }
func (ToRoom) kind() (k string, a json.RawMessage) { return "to-room", a }
func (TryAgain) kind() (k string, a None)          { return "try-again", a }
func (LookForRoom) kind() (k string, a Room)       { return "look-for-room", a }
func (LookAtWork) kind() (k string, a Work)        { return "look-at-work", a }

// ToLedger is a command to a ledger as a question. ErrMalformed: an operator does not give it.
func ToLedger(cmd capacity.Command) (q ChangeLedger, err error) {
	switch c := cmd.(type) { //nolint:gochecksumtype // Only an operator's commands are passed on.
	case capacity.Create:
		q.Create = &c
	case capacity.Update:
		q.Update = &c
	case capacity.Delete:
		q.Delete = &c
	default:
		return q, fmt.Errorf("%w: %T is not given to another member", events.ErrMalformed, cmd)
	}
	return q, nil
}

// Command is the command that a question has. ErrMalformed: it has none.
func (q ChangeLedger) Command() (capacity.Command, error) {
	switch {
	case q.Create != nil:
		return *q.Create, nil
	case q.Update != nil:
		return *q.Update, nil
	case q.Delete != nil:
		return *q.Delete, nil
	}
	return nil, fmt.Errorf("%w: a command to the ledger without content", events.ErrMalformed)
}

// ToQueue is a command to the queue as a question. ErrMalformed: an operator does not give it.
func ToQueue(cmd slotqueue.Command) (q ChangeQueue, err error) {
	switch c := cmd.(type) { //nolint:gochecksumtype // Only an operator's commands are passed on.
	case slotqueue.Pause:
		q.Pause = &c
	case slotqueue.Resume:
		q.Resume = &c
	default:
		return q, fmt.Errorf("%w: %T is not given to another member", events.ErrMalformed, cmd)
	}
	return q, nil
}

// Command is the command that a question has. ErrMalformed: it has none.
func (q ChangeQueue) Command() (slotqueue.Command, error) {
	switch {
	case q.Pause != nil:
		return *q.Pause, nil
	case q.Resume != nil:
		return *q.Resume, nil
	}
	return nil, fmt.Errorf("%w: a command to the queue without content", events.ErrMalformed)
}
