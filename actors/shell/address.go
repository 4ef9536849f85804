package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file addresses the parts of a host that may fail and are started again. A caller that
// asks a part that is down is told so, and asks again.

// ErrPartDown: a part of the host failed and is not started again yet. The request may have
// taken effect; repeating it is harmless.
var ErrPartDown = errors.New("a part of the host is down")

// Part is the address of an actor over all its lives. Safe for concurrent use.
type Part struct {
	Name string

	mu   sync.Mutex
	ref  Ref           // of the actor that runs
	gone chan struct{} // closed when that actor has failed
	why  error         // why none runs; nil: one runs, or none was started yet
	from time.Time     // since when
}

// NewPart returns the address of an actor that has not begun.
func NewPart(name string) *Part { return &Part{Name: name} }

// Began notes that an actor runs at this address.
func (p *Part) Began(r Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ref, p.gone, p.why = r, make(chan struct{}), nil
}

// Ended notes that the actor has failed, and why. first: it was up until now, so it is down
// from now on.
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

// Running reports whether the actor runs.
func (p *Part) Running() bool {
	_, _, err := p.at()
	return err == nil
}

// Trouble is why no actor runs, and since when; nil: one runs, or none was started yet.
func (p *Part) Trouble() (since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from, p.why
}

// at returns the actor that runs, and a channel that is closed when it fails.
func (p *Part) at() (r Ref, gone <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone == nil {
		return Ref{}, nil, p.down()
	}
	return p.ref, p.gone, nil
}

// down is the error for those who ask a part that does not run. mu must be held.
func (p *Part) down() error {
	if p.why == nil {
		return fmt.Errorf("%w: %s has not begun", ErrPartDown, p.Name)
	}
	return fmt.Errorf("%w: %s, since %s: %w", ErrPartDown, p.Name, p.from.UTC().Format(time.RFC3339), p.why)
}

// Tell puts a message into the mailbox of the actor that runs. While none runs the message is
// lost: the next one starts from the record and from what the supervisor tells it.
func (p *Part) Tell(msg any) {
	r, _, _ := p.at()
	r.Tell(msg)
}

// Stop ends the actor that runs.
func (p *Part) Stop() {
	r, _, _ := p.at()
	r.Stop()
}

// Is reports whether child is the actor that runs.
func (p *Part) Is(child Ref) bool {
	r, _, _ := p.at()
	return r.Is(child)
}

// Question is a question that was asked and is not answered yet.
type Question[T any] struct {
	part  *Part
	asked *asked
	gone  <-chan struct{}
	err   error // why it could not be asked
}

// Ask sends a question to a part at once. The message is plain data; the part answers with
// Turn.Asker.
func Ask[T any](p *Part, msg any) Question[T] {
	r, gone, err := p.at()
	if err != nil {
		return Question[T]{part: p, err: err}
	}
	return Question[T]{part: p, asked: r.ask(msg), gone: gone}
}

// AskActor asks an actor that lives as long as its runtime, as Ask does.
func AskActor[T any](r Ref, msg any) Question[T] { return Question[T]{asked: r.ask(msg)} }

// Wait returns the answer. ErrPartDown: there will be none. If the context ends first, Wait may
// be called again.
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
	select { // Both may be the case.
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

// failed is the error for those who asked a part before it failed.
func (p *Part) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil { // It is running again already.
		return fmt.Errorf("%w: %s failed and was started again", ErrPartDown, p.Name)
	}
	return p.down()
}
