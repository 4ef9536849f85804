package shell

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// This file makes failures of panics. A panic is a bug of ours, or of a library, that one
// input met; it must cost what it met and nothing else. In a mailbox or in a task of an
// actor it is the failure of that actor, which is started again from its record. A call
// on the world, and work beside the actors that begins anew by itself, fails as it does
// for any other reason.

// maxStacks is how many different panics are logged with their stacks; what panics again
// and again would fill the log.
const maxStacks = 100

// Panicked is a panic that was recovered.
type Panicked struct {
	value any
	stack []byte
	// about is what was being worked on; zero where that is not known.
	about Subject
	told  bool // it was logged
}

func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered makes a failure of what recover returned, which is not nil.
func recovered(value any) *Panicked {
	if p, ok := value.(*Panicked); ok { // It came through during.
		return p
	}
	return &Panicked{value: value, stack: debug.Stack()}
}

// During does a piece of work and names it in case that it panics.
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

// Caught makes an error of a panic in a call.
func Caught(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered(v)
		}
	}()
	return call()
}

// Guarded makes an error of a panic in a call, and logs its stack. The name says in the
// log who called.
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
