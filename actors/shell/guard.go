package shell

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// This file turns panics into failures. A panic is a bug, ours or a library's, that some input
// met; it must cost that input and nothing else. In the mailbox or in a task of an actor, the
// actor fails and is started again from its record. A call on the world fails as for any other
// reason, and so does work outside the actors that restarts by itself.

// maxStacks is how many different panics are logged with their stacks, so that repeated panics
// do not fill the log.
const maxStacks = 100

// Panicked is a panic that was recovered.
type Panicked struct {
	value any
	stack []byte
	// about is what was being worked on; zero: not known.
	about Subject
	told  bool // it was logged
}

func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered makes a Panicked of the value, not nil, that recover returned.
func recovered(value any) *Panicked {
	if p, ok := value.(*Panicked); ok { // It passed through During.
		return p
	}
	return &Panicked{value: value, stack: debug.Stack()}
}

// During does a piece of work, and names it if it panics.
func During(about Subject, work func()) {
	defer func() {
		if v := recover(); v != nil {
			p := recovered(v)
			if p.about == (Subject{}) {
				p.about = about
			}
			panic(p)
		}
	}()
	work()
}

// Caught turns a panic in a call into an error.
func Caught(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered(v)
		}
	}()
	return call()
}

// Guarded turns a panic in a call into an error, and logs its stack; who names the caller in
// the log.
func (rt *Runtime) Guarded(who string, call func() error) error {
	err := Caught(call)
	if p, ok := errors.AsType[*Panicked](err); ok {
		rt.tellPanic(who, p)
	}
	return err
}

// tellPanic logs a panic, the first time with its stack.
func (rt *Runtime) tellPanic(who string, p *Panicked) {
	if p.told {
		return
	}
	p.told = true
	key := who + ": " + p.Error()
	rt.mu.Lock()
	known := rt.stacks[key]
	if !known && len(rt.stacks) < maxStacks {
		rt.stacks[key] = true
	}
	rt.mu.Unlock()
	entry := rt.Log.WithField("in", who)
	if p.about != (Subject{}) {
		entry = entry.WithField("about", p.about.String())
	}
	if known {
		entry.Errorf("%v, again", p)
		return
	}
	entry.Errorf("%v\n%s", p, p.stack)
}
