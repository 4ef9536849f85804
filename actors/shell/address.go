package shell

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

// Part is the address of an actor over all its lives. Safe for concurrent use.
type Part struct {
	Name string

	mu   sync.Mutex
	ref  Ref           // of the one that runs
	gone chan struct{} // closed when that one has failed
	why  error         // why none runs; nil: one does, or none was started yet
	from time.Time     // since when
}

// NewPart is the address of an actor that has not begun.
func NewPart(name string) *Part { return &Part{Name: name} }

// Began says that an actor runs that has this address now.
func (p *Part) Began(r Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ref, p.gone, p.why = r, make(chan struct{}), nil
}

// Ended says that the one that ran has failed, and why. First: it was well before, so it
// is down from now on.
func (p *Part) Ended(now time.Time, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from.IsZero() || first {
		p.from = now
	}
	p.ref, p.why = Ref{}, err
	close(p.gone)
	p.gone = nil
}

// Running reports whether one runs.
func (p *Part) Running() bool {
	_, _, err := p.at()
	return err == nil
}

// Trouble is why none runs, and since when; nil: one does, or none was started yet.
func (p *Part) Trouble() (since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from, p.why
}

// at is the child that runs, and a channel that is closed when it fails.
func (p *Part) at() (r Ref, gone <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone == nil {
		return Ref{}, nil, p.down()
	}
	return p.ref, p.gone, nil
}

// down is the error of those who ask a part that does not run. The mu is held.
func (p *Part) down() error {
	if p.why == nil {
		return fmt.Errorf("%w: %s has not begun", ErrPartDown, p.Name)
	}
	return fmt.Errorf("%w: %s, since %s: %w", ErrPartDown, p.Name, p.from.UTC().Format(time.RFC3339), p.why)
}

// Tell puts a message into the mailbox of the child that runs. While none does it is
// lost: one that starts begins from the record and what the supervisor tells it.
func (p *Part) Tell(msg any) {
	r, _, _ := p.at()
	r.Tell(msg)
}

// Stop ends the one that runs.
func (p *Part) Stop() {
	r, _, _ := p.at()
	r.Stop()
}

// Is reports whether an actor is the one that runs.
func (p *Part) Is(child Ref) bool {
	r, _, _ := p.at()
	return r.Is(child)
}

// Question is something that a part was asked and has not answered.
type Question[T any] struct {
	part  *Part
	asked *asked
	gone  <-chan struct{}
	err   error // why it was not asked
}

// Ask asks a part at once. The message is plain data; the part answers by Turn.Asker.
func Ask[T any](p *Part, msg any) Question[T] {
	r, gone, err := p.at()
	if err != nil {
		return Question[T]{part: p, err: err}
	}
	return Question[T]{part: p, asked: r.ask(msg), gone: gone}
}

// AskActor asks an actor that lives as long as its runtime, as Ask does.
func AskActor[T any](r Ref, msg any) Question[T] { return Question[T]{asked: r.ask(msg)} }

// Wait returns the answer. ErrPartDown: there will be none. When the context ends first it
// may be called again.
func (q Question[T]) Wait(ctx context.Context) (none T, err error) {
	if q.err != nil {
		return none, q.err
	}
	select {
	case a := <-q.asked.done:
		return answerOf[T](a)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-q.gone:
	}
	select { // Both may be so.
	case a := <-q.asked.done:
		return answerOf[T](a)
	default:
		q.asked.forget()
		return none, q.part.failed()
	}
}

func answerOf[T any](a answer) (v T, err error) {
	if a.err != nil {
		return v, a.err
	}
	v, ok := a.value.(T)
	if !ok {
		err = fmt.Errorf("an actor answered with %T, and %T was asked for", a.value, v)
	}
	return v, err
}

// failed is the error of those who asked a part before it failed.
func (p *Part) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil { // It runs again already.
		return fmt.Errorf("%w: %s failed and was started again", ErrPartDown, p.Name)
	}
	return p.down()
}
