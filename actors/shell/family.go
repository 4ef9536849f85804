package shell

import (
	"errors"
	"time"
)

// Child is a child of an actor over all its lives. It belongs to the actor, which reads its fields and changes none.
type Child[O any] struct {
	Of   O      // what the actor keeps of it
	Name string // of its actor
	// Left is why it is left alone, or was until its present life; empty: it is not.
	Left string

	ref      Ref // of the actor that runs; zero: none does
	life     int // counts its starts
	failures int // in a row
	lefts    int // how often it was left alone, in a row
	began    time.Time
}

// Ref is the actor that runs; the zero Ref: none does.
func (c *Child[O]) Ref() Ref { return c.ref }

// Family supervises the children of one kind that an actor has. Each is started from its record. One that fails is
// started again after a growing pause. One that fails too often in a row, or whose record cannot be read, is left
// alone: tried at a slow pace, each time once, or when an operator wants it, until it works. The others go on.
//
// It lives inside the actor, which passes it the messages that it does not know. Not safe for concurrent use.
type Family[O any] struct {
	Base *Base
	// Start makes the behavior of a child for its next life, counted from 1. broken may be called at any time,
	// by any goroutine: it ends this life.
	Start func(a *Turn, of O, life int, broken func(error)) Behavior
	// Began is called when a child runs, Ended when it has failed; then false has it forgotten. Nil: nothing is done.
	Began func(a *Turn, of O)
	Ended func(of O, f Failure) bool
	// Most is how many failures in a row a child may have before it is left alone, as it is at once when it says that
	// it is broken. Zero: it is left alone only if its record cannot be read (ErrUnreadable).
	Most int
	// Slow is the pause before the nth try, in a row, of a child that is left alone.
	Slow func(n int) time.Duration
	// Steady is how long a child must run, by the machine's clock, for its failures to be forgotten, if nobody says
	// before that it works; zero: however long it runs.
	Steady time.Duration

	running map[Address]*Child[O]
}

// Failure is how a life of a child ended.
type Failure struct {
	Err   error
	About Subject // what it was working on, if that is known
	// InARow counts the failures, Lefts how often it was left alone; zero: it is not left alone now.
	InARow, Lefts int
	// Pause is how long it is not run.
	Pause time.Duration
}

// Messages of a family to its actor.
type (
	childDue[O any] struct {
		family *Family[O]
		child  *Child[O]
		life   int
	}
	childBroken[O any] struct {
		childDue[O]
		err error
	}
)

// Run starts a child, for the first time or again. One that runs goes on.
func (f *Family[O]) Run(a *Turn, c *Child[O]) {
	if !c.ref.Nobody() {
		return
	}
	c.life++
	of := childDue[O]{f, c, c.life}
	self := a.Self
	c.ref = a.Spawn(c.Name, f.Start(a, c.Of, c.life, func(err error) { self.Tell(childBroken[O]{of, err}) }))
	c.began = f.Base.Clock.Now()
	if f.running == nil {
		f.running = map[Address]*Child[O]{}
	}
	f.running[c.ref.Address()] = c
	if f.Began != nil {
		f.Began(a, c.Of)
	}
}

// LeaveAlone leaves a child alone from its first life on: it was so when the last process ended.
func (f *Family[O]) LeaveAlone(c *Child[O], why string) { c.Left = why }

// Stop ends a child for good, or until it is run again.
func (f *Family[O]) Stop(c *Child[O]) {
	delete(f.running, c.ref.Address())
	c.ref.Stop()
	c.ref = Ref{}
	c.life++ // No earlier pause has it run again.
}

// Of is the child whose present life has an address; nil: there is none.
func (f *Family[O]) Of(at Address) *Child[O] { return f.running[at] }

// Works notes that a child works, and returns true if it was left alone until now. advanced: it did something, so its
// earlier failures are forgotten.
func (f *Family[O]) Works(c *Child[O], advanced bool) (wasLeft bool) {
	wasLeft, c.Left = c.Left != "", ""
	if advanced {
		c.failures, c.lefts = 0, 0
	}
	return wasLeft
}

// Handle handles the messages about the family, and returns false for all others.
func (f *Family[O]) Handle(a *Turn, msg any) bool {
	switch m := msg.(type) {
	case ChildFailed:
		c := f.running[m.Child.Address()]
		if c == nil {
			return false
		}
		f.ended(a, c, Failure{Err: m.Err, About: m.About}, false)
	case childBroken[O]:
		if m.family != f {
			return false
		}
		if m.child.life == m.life && !m.child.ref.Nobody() {
			m.child.ref.Stop()
			f.ended(a, m.child, Failure{Err: m.err}, f.Most > 0)
		}
	case childDue[O]:
		if m.family != f {
			return false
		}
		if m.child.life == m.life {
			f.Run(a, m.child)
		}
	default:
		return false
	}
	return true
}

// ended notes that a life has ended, and has the next one begin after a pause.
func (f *Family[O]) ended(a *Turn, c *Child[O], m Failure, broken bool) {
	delete(f.running, c.ref.Address())
	c.ref = Ref{}
	if f.Steady > 0 && f.Base.Clock.Now().Sub(c.began) > f.Steady {
		c.failures, c.lefts = 0, 0
	}
	c.failures++
	m.InARow, m.Pause = c.failures, f.Base.Backoff(c.Name, c.failures)
	if broken || c.Left != "" || f.Most > 0 && c.failures > f.Most || errors.Is(m.Err, ErrUnreadable) {
		c.lefts++
		c.Left, m.Lefts, m.Pause = m.Err.Error(), c.lefts, f.Slow(c.lefts)
	}
	if f.Ended != nil && !f.Ended(c.Of, m) {
		return
	}
	self, of := a.Self, childDue[O]{f, c, c.life}
	f.Base.Clock.After(m.Pause, func() { self.Tell(of) })
}
