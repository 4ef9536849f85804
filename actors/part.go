package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file keeps the children that every host has: the ledger, the queue and the proof
// scheduler. One that panics is started again from its record, after a pause that grows.
// One whose record cannot be read, or folded, stays down and is tried again at a slow
// pace: what is stored is never passed over. Meanwhile the others go on, and whoever asks
// a part that is down is told so and asks again.

// PartScheduler is the name of the part that says which proofs are due.
const PartScheduler = "ProofScheduler"

const (
	ledgerName    = "Reservations"
	queueName     = "SlotQueue"
	schedulerName = PartScheduler
	// partSteady is for how long a part must run, by the machine's clock, before what
	// failed earlier does not count any more.
	partSteady = 10 * time.Minute
	// partAlertAfter is how many failures in a row call a person: fewer are over in seconds.
	partAlertAfter = 3
)

// ErrPartDown: a part of the host failed and is not started again yet. What was asked may
// have taken effect; asking again is harmless.
var ErrPartDown = errors.New("a part of the host is down")

// part is the address of a child over all its lives. Those that ask may do so from any
// goroutine; the rest is the supervisor's.
type part struct {
	name string
	// start makes what runs; life counts the starts, the first is 1.
	start func(life int) behavior

	mu   sync.Mutex
	ref  ref           // of the one that runs
	gone chan struct{} // closed when that one has failed
	why  error         // why none runs; nil: one does, or none was started yet
	from time.Time     // since when

	life     int
	failures int       // in a row
	began    time.Time // the last start
	told     bool      // a person was told that it is down
}

func newPart(name string) *part { return &part{name: name} }

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

// whenUp asks a part until it answers, with a pause while it is down.
func whenUp[T any](ctx context.Context, e *env, task string, ask func() question[T]) (T, error) {
	for n := 1; ; n++ {
		v, err := ask().wait(ctx)
		if !errors.Is(err, ErrPartDown) {
			return v, err
		}
		if err := sleep(ctx, e.Clock, e.backoff(task, n)); err != nil {
			return v, err
		}
		e.Turn(ctx, task)
	}
}

// PartStatus is a part of the host that does not run.
type PartStatus struct {
	Name string
	// Since is when it failed, by the machine's clock, and Reason how.
	Since  time.Time
	Reason string
}

// Messages about parts.
type (
	partDue struct{ part *part }
	// partBroken: the record that a part lives by cannot be read.
	partBroken struct {
		part *part
		life int
		err  error
	}
)

// parts are all parts in a fixed order.
func (s *supervisor) parts() []*part { return []*part{s.ledger, s.queue, s.scheduler} }

// planParts says how the parts are started.
func (s *supervisor) planParts(a *turn, heads []events.Head) {
	self := a.self
	broken := func(p *part, life int) func(error) {
		return func(err error) { self.tell(partBroken{p, life, err}) }
	}
	s.ledger.start = func(life int) behavior { return newReservations(s.env, broken(s.ledger, life)) }
	s.queue.start = func(life int) behavior { return newSlotQueue(s.env, self, life, broken(s.queue, life)) }
	s.scheduler.start = func(int) behavior {
		p := newProofScheduler(s.env)
		p.since = s.since
		p.pace.learn(heads)
		return p
	}
}

// startPart starts a part, for the first time or again, and tells it what it has to know
// besides the record.
func (s *supervisor) startPart(a *turn, p *part) {
	if p.running() {
		return
	}
	p.life++
	child := a.spawn(p.name, p.start(p.life))
	p.mu.Lock()
	p.ref, p.gone, p.why, p.began = child, make(chan struct{}), nil, s.Clock.Now()
	p.mu.Unlock()
	switch p {
	case s.ledger:
		s.setQuota()
	case s.queue:
		s.holdQueue()
	case s.scheduler:
		for _, slot := range s.slots() {
			ag := s.agents[slot]
			switch {
			case ag.quarantined != "":
				child.tell(saleQuarantined{slot, ag.request, ag.index, ag.quarantined})
			case ag.state.Phase != sale.Unknown:
				child.tell(saleChanged{
					agent: ag.ref, slot: slot, state: ag.state, ahead: ag.ahead, trouble: ag.trouble,
				})
			}
		}
	}
}

// onPartFailed: a part panicked. What it was working on is left alone when that happens
// twice.
func (s *supervisor) onPartFailed(a *turn, p *part, m childFailed) {
	s.blame(m.about, m.err)
	s.partDown(a, p, m.err)
}

// onPartBroken: the record of a part cannot be read, or not folded.
func (s *supervisor) onPartBroken(a *turn, m partBroken) {
	if m.life != m.part.life || !m.part.running() {
		return
	}
	m.part.ref.stop()
	s.partDown(a, m.part, m.err)
}

func (p *part) running() bool {
	_, _, err := p.at()
	return err == nil
}

// partDown notes that a part has failed, tells those who wait for it, and has it started
// again after a while. When it can't read its record, that is at a slow pace.
func (s *supervisor) partDown(a *turn, p *part, err error) {
	now := s.Clock.Now()
	if now.Sub(p.began) > partSteady {
		p.failures, p.told = 0, false
	}
	p.failures++
	p.mu.Lock()
	if p.from.IsZero() || p.failures == 1 {
		p.from = now
	}
	p.ref, p.why = ref{}, err
	close(p.gone)
	p.gone = nil
	p.mu.Unlock()
	delete(s.savers, p.name) // What it made of its state is not trusted.
	if p == s.queue {
		s.forgetWorkers()
	}
	slow := errors.Is(err, errUnreadable) // No other try finds anything else.
	pause := s.backoff(p.name, p.failures)
	if slow {
		pause = s.quarantinePause(p.failures)
	}
	s.log.WithField("part", p.name).Errorf("%s is down and is started again in %s: %v", p.name, pause, err)
	if (slow || p.failures >= partAlertAfter) && !p.told {
		p.told = true
		s.alert(AlertPartDown, events.SlotID{}, 0, fmt.Sprintf("%s is down: %v", p.name, err), partHint(p.name))
	}
	self := a.self
	s.Clock.After(pause, func() { self.tell(partDue{p}) })
}

// forgetWorkers: those of a queue that failed are gone; its next life begins others.
func (s *supervisor) forgetWorkers() {
	for _, ag := range s.agents {
		ag.watchers = nil
	}
	for _, c := range s.beginning {
		c.workers = slices.DeleteFunc(c.workers, func(w ref) bool { return w.pid != nil })
	}
}

func partHint(name string) string {
	if name == schedulerName {
		return "no new proof is begun while it is down: find the cause in the log; it is tried again by itself"
	}
	return "nothing is sold while it is down, and what is hosted is proven: find the cause in the log, or " +
		"look at the record with `hostnode audit`; it is tried again by itself"
}

// downParts are those parts that do not run now.
func (s *supervisor) downParts() (down []PartStatus) {
	for _, p := range s.parts() {
		p.mu.Lock()
		if p.why != nil {
			down = append(down, PartStatus{p.name, p.from, p.why.Error()})
		}
		p.mu.Unlock()
	}
	if market := s.unreadMarket.Load(); market != nil {
		down = append(down, *market)
	}
	return down
}
