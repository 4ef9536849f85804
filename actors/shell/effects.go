package shell

import (
	"context"
	"iter"
	"maps"

	"github.com/hostnode/hostnode/events"
)

// Work is an effect that was begun. D is what its actor keeps of it.
type Work[D any] struct {
	Key string
	// By is the last event of the state that wanted it. Zero: it is not in the record yet, and may never be.
	By   events.EventID
	Data D

	cancel    context.CancelFunc
	returned  bool // its call has ended
	due       bool // it may begin again
	reporting bool // what it came to is on its way into the record
	unwanted  bool // it is not wanted any more, and its call has not ended yet
	tries     int  // that changed nothing
}

// Effects runs what a core wants done, outside of the mailbox of its actor. An effect is known by its key: it is begun
// once while it is wanted, and cancelled when it is not wanted any more. It lives inside the actor, which passes it the
// messages that it does not know. Not safe for concurrent use.
type Effects[C, D any] struct {
	Base *Base
	// Name is that of the actor; it spreads the pauses between tries.
	Name string
	// Context is that of all calls. Nil: that of the runtime.
	Context context.Context
	// Ended takes what a call came to that is wanted still, and then waits until it is not, or says what follows with
	// Report, Again or Forget.
	Ended func(a *Turn, w *Work[D], c C, err error)
	// Act begins and ends effects, by Begin and Keep: what was wanted may have to begin now.
	Act func(a *Turn)

	work map[string]*Work[D]
}

// Messages of effects to their actor.
type (
	effectEnded[C, D any] struct {
		w   *Work[D]
		c   C
		err error
	}
	effectAgain[D any] struct{ w *Work[D] }
)

// Begin performs an effect, and returns its work; nil: it was begun already.
func (f *Effects[C, D]) Begin(
	a *Turn, key string, by events.EventID, call func(context.Context) (C, error),
) *Work[D] {
	tries := 0
	if w := f.work[key]; w != nil {
		if !w.due {
			return nil
		}
		tries = w.tries
	}
	of := f.Context
	if of == nil {
		of = a.RT.Context()
	}
	ctx, cancel := context.WithCancel(of)
	w := &Work[D]{Key: key, By: by, cancel: cancel, tries: tries}
	if f.work == nil {
		f.work = map[string]*Work[D]{}
	}
	f.work[key] = w
	self := a.Self
	a.Do(func(context.Context) {
		defer cancel()
		c, err := call(ctx)
		self.Tell(effectEnded[C, D]{w, c, err})
	})
	return w
}

// Of is the effect with a key that was begun; nil: none was.
func (f *Effects[C, D]) Of(key string) *Work[D] { return f.work[key] }

// Keep cancels what is not wanted any more, and reports whether a call of that still runs. What is on its way into the
// record stays.
func (f *Effects[C, D]) Keep(wanted func(key string) bool) (leftovers bool) {
	for key, w := range f.work {
		switch {
		case w.reporting, wanted(key):
		case w.returned:
			f.Forget(w)
		default:
			w.unwanted, leftovers = true, true
			w.cancel()
		}
	}
	return leftovers
}

// Report has what an effect came to recorded. record calls its argument once, with whether anything followed: if not,
// the effect is tried again after a pause.
func (f *Effects[C, D]) Report(a *Turn, w *Work[D], record func(done func(changed bool))) {
	w.reporting = true
	record(func(changed bool) {
		if f.work[w.Key] != w {
			return
		}
		if w.reporting = false; changed {
			f.Forget(w) // If it is wanted again, it is new work.
			return
		}
		f.Again(a, w)
	})
}

// Again begins an effect again after a pause, if it is wanted then.
func (f *Effects[C, D]) Again(a *Turn, w *Work[D]) {
	w.tries++
	self := a.Self
	f.Base.Clock.After(f.Base.Backoff(f.Name+"/again/"+w.Key, w.tries), func() { self.Tell(effectAgain[D]{w}) })
}

// Forget ends an effect: if it is wanted, the next Act begins it anew.
func (f *Effects[C, D]) Forget(w *Work[D]) {
	w.cancel()
	delete(f.work, w.Key)
}

// All are the effects that were begun, in no order. They may be forgotten meanwhile.
func (f *Effects[C, D]) All() iter.Seq[*Work[D]] { return maps.Values(f.work) }

// Unwanted reports whether an effect is only waited for.
func (w *Work[D]) Unwanted() bool { return w.unwanted }

// Reporting reports whether what an effect came to is on its way into the record.
func (w *Work[D]) Reporting() bool { return w.reporting }

// Waits reports whether an effect waits until it is wanted no more, or for its next try: its call has ended.
func (w *Work[D]) Waits() bool { return w.returned && !w.reporting }

// Restart cancels the call of an effect; when it has ended, another one begins.
func (f *Effects[C, D]) Restart(w *Work[D]) {
	w.unwanted = true
	w.cancel()
}

// Cancel ends all calls, those of an actor that panicked: its successor begins its own.
func (f *Effects[C, D]) Cancel() {
	for _, w := range f.work {
		w.cancel()
	}
}

// Handle handles the messages of effects, and returns false for all others.
func (f *Effects[C, D]) Handle(a *Turn, msg any) bool {
	switch m := msg.(type) {
	case effectEnded[C, D]:
		if f.work[m.w.Key] != m.w {
			return true
		}
		if m.w.returned = true; m.w.unwanted {
			f.Forget(m.w)
			f.Act(a)
			return true
		}
		f.Ended(a, m.w, m.c, m.err)
	case effectAgain[D]:
		if f.work[m.w.Key] == m.w {
			m.w.due = true
			f.Act(a)
		}
	default:
		return false
	}
	return true
}
