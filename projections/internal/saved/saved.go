// Package saved has the states of cores as a checkpoint saves them: in the form of their snapshots.
package saved

import (
	"math"

	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
)

// Forms names the forms of the states.
const Forms = capacity.StateSchema + " " + slotqueue.StateSchema + " " + cargo.StateSchema

// Ledger is the core's fold of a ledger. Of settled slots and ended sectors nothing is saved.
type Ledger struct{ capacity.State }

// MarshalBinary is for gob.
func (l Ledger) MarshalBinary() ([]byte, error) { return join(l.Unsettled().Pieces()) }

// UnmarshalBinary is for gob.
func (l *Ledger) UnmarshalBinary(b []byte) (err error) {
	l.State, err = restore(b, capacity.Limits{}, capacity.RestorePieces)
	return err
}

// queueLimits sets no bounds: a host's bound is a setting, and was applied when the events were decided. Refused slots
// decide nothing and need not be remembered.
var queueLimits = slotqueue.Limits{MaxItems: math.MaxInt, MaxRefused: 1}

// Queue is the core's fold of a queue.
type Queue struct{ slotqueue.State }

// NewQueue is the empty queue, without bounds.
func NewQueue() Queue { return Queue{slotqueue.New(queueLimits)} }

// MarshalBinary is for gob.
func (q Queue) MarshalBinary() ([]byte, error) { return join(q.Pieces()) }

// UnmarshalBinary is for gob.
func (q *Queue) UnmarshalBinary(b []byte) (err error) {
	q.State, err = restore(b, queueLimits, slotqueue.RestorePieces)
	return err
}

func join(pieces [][]byte) ([]byte, error) {
	return snapshot.Encode(func(c *snapshot.Coder) { c.Parts(&pieces) })
}

func restore[S, L any](b []byte, limits L, parse func(L, [][]byte) (S, error)) (state S, err error) {
	var pieces [][]byte
	if err := snapshot.Decode(b, func(c *snapshot.Coder) { c.Parts(&pieces) }); err != nil {
		return state, err
	}
	return parse(limits, pieces)
}

// Cargo is the core's fold of the ledger of pieces. Its zero value is none: NewCargo makes one.
type Cargo struct{ cargo.State }

// NewCargo is the empty ledger.
func NewCargo() Cargo { return Cargo{cargo.Empty()} }

// MarshalBinary is for gob.
func (l Cargo) MarshalBinary() ([]byte, error) {
	all := l.Saved()
	return snapshot.Encode(func(c *snapshot.Coder) { c.Parts(&all) })
}

// UnmarshalBinary is for gob.
func (l *Cargo) UnmarshalBinary(b []byte) (err error) {
	var all cargo.Saved
	if err := snapshot.Decode(b, func(c *snapshot.Coder) { c.Parts(&all) }); err != nil {
		return err
	}
	l.State, err = cargo.Restore(all)
	return err
}
