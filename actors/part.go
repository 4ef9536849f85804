package actors

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file keeps the children that every host has: the ledger, the queue and the proof
// scheduler. One that panics is started again from its record, after a pause that grows.
// One whose record cannot be read, or folded, stays down and is tried again at a slow
// pace: what is stored is never passed over. Meanwhile the others go on, and whoever asks
// a part that is down is told so and asks again.

const (
	schedulerName = health.PartScheduler
	// partSteady is for how long a part must run, by the machine's clock, before what
	// failed earlier does not count any more.
	partSteady = 10 * time.Minute
	// partAlertAfter is how many failures in a row call a person: fewer are over in seconds.
	partAlertAfter = 3
)

// keptPart is a part as the supervisor has it.
type keptPart struct {
	*shell.Part
	// start makes what runs; life counts the starts, the first is 1.
	start func(life int) shell.Behavior

	life     int
	failures int       // in a row
	last     time.Time // the last start
	told     bool      // a person was told that it is down
}

// keptParts are all of them.
type keptParts struct{ ledger, queue, scheduler keptPart }

func keep(e *env) keptParts {
	return keptParts{keptPart{Part: e.ledger}, keptPart{Part: e.queue}, keptPart{Part: e.scheduler}}
}

// Messages about parts.
type (
	partDue struct{ part *keptPart }
	// partBroken: the record that a part lives by cannot be read.
	partBroken struct {
		part *keptPart
		life int
		err  error
	}
)

// parts are all parts in a fixed order.
func (s *supervisor) parts() []*keptPart {
	return []*keptPart{&s.kept.ledger, &s.kept.queue, &s.kept.scheduler}
}

// planParts says how the parts are started.
func (s *supervisor) planParts(a *shell.Turn, heads []events.Head) {
	self := a.Self
	broken := func(p *keptPart, life int) func(error) {
		return func(err error) { self.Tell(partBroken{p, life, err}) }
	}
	s.kept.ledger.start = func(life int) shell.Behavior {
		return ledger.New(s.ledgerDeps(broken(&s.kept.ledger, life)))
	}
	s.kept.queue.start = func(life int) shell.Behavior {
		return queue.New(s.queueDeps(self, life, broken(&s.kept.queue, life)))
	}
	s.kept.scheduler.start = func(int) shell.Behavior {
		deps := s.schedulerDeps()
		deps.Since, deps.Recent = s.since, heads
		return proofs.New(deps)
	}
}

// startPart starts a part, for the first time or again, and tells it what it has to know
// besides the record.
func (s *supervisor) startPart(a *shell.Turn, p *keptPart) {
	if p.Running() {
		return
	}
	p.life++
	child := a.Spawn(p.Name, p.start(p.life))
	p.Began(child)
	p.last = s.Clock.Now()
	switch p.Part {
	case s.ledger:
		s.setQuota()
	case s.queue:
		s.pauseAfterLoss()
	case s.scheduler:
		for _, slot := range s.slots() {
			ag := s.agents[slot]
			switch {
			case ag.quarantined != "":
				child.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: ag.quarantined})
			case ag.state.Phase != sale.Unknown:
				child.Tell(sales.Changed{
					Agent: ag.ref.Address(), Slot: slot, State: ag.state, Ahead: ag.ahead, Trouble: ag.trouble,
				})
			}
		}
	}
}

// onPartFailed: a part panicked. What it was working on is left alone when that happens
// twice.
func (s *supervisor) onPartFailed(a *shell.Turn, p *keptPart, m shell.ChildFailed) {
	s.countPanic(m.About, m.Err)
	s.partDown(a, p, m.Err)
}

// onPartBroken: the record of a part cannot be read, or not folded.
func (s *supervisor) onPartBroken(a *shell.Turn, m partBroken) {
	if m.life != m.part.life || !m.part.Running() {
		return
	}
	m.part.Stop()
	s.partDown(a, m.part, m.err)
}

// partDown notes that a part has failed, tells those who wait for it, and has it started
// again after a while. When it can't read its record, that is at a slow pace.
func (s *supervisor) partDown(a *shell.Turn, p *keptPart, err error) {
	now := s.Clock.Now()
	if now.Sub(p.last) > partSteady {
		p.failures, p.told = 0, false
	}
	p.failures++
	p.Ended(now, p.failures == 1, err)
	delete(s.Savers, p.Name) // What it made of its state is not trusted.
	if p.Part == s.queue {
		s.forgetWorkers()
	}
	slow := errors.Is(err, shell.ErrUnreadable) // No other try finds anything else.
	pause := s.Backoff(p.Name, p.failures)
	if slow {
		pause = s.quarantinePause(p.failures)
	}
	s.Log.WithField("part", p.Name).Errorf("%s is down and is started again in %s: %v", p.Name, pause, err)
	if (slow || p.failures >= partAlertAfter) && !p.told {
		p.told = true
		s.Raise(health.AlertPartDown, events.SlotID{}, 0, fmt.Sprintf("%s is down: %v", p.Name, err), partHint(p.Name))
	}
	self := a.Self
	s.Clock.After(pause, func() { self.Tell(partDue{p}) })
}

// forgetWorkers: those of a queue that failed are gone; its next life begins others.
func (s *supervisor) forgetWorkers() {
	for _, ag := range s.agents {
		ag.watchers = nil
	}
	for _, c := range s.beginning {
		c.workers = slices.DeleteFunc(c.workers, func(w shell.Ref) bool { return !w.Nobody() })
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
func (s *supervisor) downParts() (down []health.PartStatus) {
	for _, p := range s.parts() {
		if since, why := p.Trouble(); why != nil {
			down = append(down, health.PartStatus{Name: p.Name, Since: since, Reason: why.Error()})
		}
	}
	if market := s.unreadMarket.Load(); market != nil {
		down = append(down, *market)
	}
	return down
}
