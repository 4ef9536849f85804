package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file is how actors find the parts of a host that may fail and are started again:
// whoever asks one that is down is told so, and asks again.

// ErrPartDown: a part of the host failed and is not started again yet. What was asked may
// have taken effect; asking again is harmless.
var ErrPartDown = errors.New("a part of the host is down")

// part is the address of an actor over all its lives. Safe for concurrent use.
type part struct {
	name string

	mu   sync.Mutex
	ref  ref           // of the one that runs
	gone chan struct{} // closed when that one has failed
	why  error         // why none runs; nil: one does, or none was started yet
	from time.Time     // since when
}

// newPart is the address of an actor that has not begun.
func newPart(name string) *part { return &part{name: name} }

// began says that an actor runs that has this address now.
func (p *part) began(r ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ref, p.gone, p.why = r, make(chan struct{}), nil
}

// ended says that the one that ran has failed, and why. First: it was well before, so it
// is down from now on.
func (p *part) ended(now time.Time, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from.IsZero() || first {
		p.from = now
	}
	p.ref, p.why = ref{}, err
	close(p.gone)
	p.gone = nil
}

// running reports whether one runs.
func (p *part) running() bool {
	_, _, err := p.at()
	return err == nil
}

// trouble is why none runs, and since when; nil: one does, or none was started yet.
func (p *part) trouble() (since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from, p.why
}

// at is the child that runs, and a channel that is closed when it fails.
func (p *part) at() (r ref, gone <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone == nil {
		return ref{}, nil, p.down()
	}
	return p.ref, p.gone, nil
}

// down is the error of those who ask a part that does not run. The mu is held.
func (p *part) down() error {
	if p.why == nil {
		return fmt.Errorf("%w: %s has not begun", ErrPartDown, p.name)
	}
	return fmt.Errorf("%w: %s, since %s: %w", ErrPartDown, p.name, p.from.UTC().Format(time.RFC3339), p.why)
}

// tell puts a message into the mailbox of the child that runs. While none does it is
// lost: one that starts begins from the record and what the supervisor tells it.
func (p *part) tell(msg any) {
	r, _, _ := p.at()
	r.tell(msg)
}

// stop ends the one that runs.
func (p *part) stop() {
	r, _, _ := p.at()
	r.stop()
}

// is reports whether an actor is the one that runs.
func (p *part) is(child ref) bool {
	r, _, _ := p.at()
	return r.is(child)
}

// question is something that a part was asked and has not answered.
type question[T any] struct {
	part *part
	done <-chan answer[T]
	gone <-chan struct{}
	err  error
}

type answer[T any] struct {
	value T
	err   error
}

// askPart asks a part at once. The message gets a function that takes the answer, which
// is to be called once.
func askPart[T any](p *part, message func(reply func(T, error)) any) question[T] {
	r, gone, err := p.at()
	done := make(chan answer[T], 1)
	if err == nil {
		r.tell(message(func(v T, err error) { done <- answer[T]{v, err} }))
	}
	return question[T]{p, done, gone, err}
}

// wait returns the answer. ErrPartDown: there will be none.
func (q question[T]) wait(ctx context.Context) (none T, err error) {
	if q.err != nil {
		return none, q.err
	}
	select {
	case a := <-q.done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-q.gone:
	}
	select { // Both may be so.
	case a := <-q.done:
		return a.value, a.err
	default:
		return none, q.part.failed()
	}
}

// failed is the error of those who asked a part before it failed.
func (p *part) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil { // It runs again already.
		return fmt.Errorf("%w: %s failed and was started again", ErrPartDown, p.name)
	}
	return p.down()
}
