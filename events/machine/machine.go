// Package machine says what the record knows of a machine: how its streams are named, how its events are stored, and
// how they fold. Package catalog lists all machines; whatever reads the record takes them from there and names none.
package machine

import (
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// Machine is a row of that list.
type Machine struct {
	events.Naming
	// Table is how its events are stored. It makes an example of each, so it is called once.
	Table func() []events.Entry
	// New begins to fold a stream.
	New func() Fold
	// Sentence tells an event to a person; empty: it is one of another machine. Nil: its fields tell it.
	Sentence func(m proto.Message) string
}

// Telling is the row with sentences for its events.
func Telling[E proto.Message](of Machine, sentence func(E) string) Machine {
	of.Sentence = func(m proto.Message) string {
		e, own := m.(E)
		if !own {
			return ""
		}
		return sentence(e)
	}
	return of
}

// Fold is a machine while its stream is folded.
type Fold interface {
	// Fold folds the next event; false: it is one of another machine.
	Fold(m proto.Message) bool
	// State is what was folded, for people: a struct with exported fields, the most important first.
	State() any
}

// Of makes a row from the functions of a core. show, which may be nil, makes of its state what people see.
func Of[S any, E proto.Message](
	naming events.Naming, table func() []events.Entry, empty func() S, evolve func(S, E) S, show func(S) any,
) Machine {
	return Machine{
		Naming: naming, Table: table, New: func() Fold { return &fold[S, E]{empty(), evolve, show} },
	}
}

type fold[S any, E proto.Message] struct {
	state  S
	evolve func(S, E) S
	show   func(S) any
}

func (f *fold[S, E]) Fold(m proto.Message) bool {
	e, own := m.(E)
	if own {
		f.state = f.evolve(f.state, e)
	}
	return own
}

func (f *fold[S, E]) State() any {
	if f.show != nil {
		return f.show(f.state)
	}
	return f.state
}

// Zero is empty for cores whose zero state is that of a stream without events.
func Zero[S any]() (zero S) { return zero }
