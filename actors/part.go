package actors

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file supervises the parts of a host: the ledger, the queue and the proof scheduler, and
// the sectors if it has a sealer. A part that panics is started again from its record, after a growing pause. A part
// whose record cannot be read or folded stays down and is tried again at a slow pace, because
// stored events are never skipped. The other parts go on meanwhile, and whoever asks a part
// that is down is told so and asks again.

const (
	schedulerName = health.PartScheduler
	// partSteady is how long a part must run, by the machine's clock, for its earlier failures
	// to be forgotten.
	partSteady = 10 * time.Minute
	// partAlertAfter is how many failures in a row raise an alert: fewer are over in seconds.
	partAlertAfter = 3
)

// keptPart is what the supervisor knows of a part.
type keptPart struct {
	*shell.Part
	// start makes the behavior; life counts the starts, from 1.
	start func(life int) shell.Behavior

	life     int
	failures int       // in a row
	last     time.Time // the last start
	told     bool      // an alert said that it is down
}

type keptParts struct {
	ledger, queue, scheduler, sectors keptPart
	sectorPools                       []*shell.Pool // of the newest life of the sectors
}

func keep(e *env) keptParts {
	return keptParts{
		ledger: keptPart{Part: e.ledger}, queue: keptPart{Part: e.queue}, scheduler: keptPart{Part: e.scheduler},
		sectors: keptPart{Part: e.sectors},
	}
}

// Messages about parts.
type (
	partDue struct{ part *keptPart }
	// partBroken: the record of a part cannot be read or folded.
	partBroken struct {
		part *keptPart
		life int
		err  error
	}
)

// parts returns the parts that this host has in a fixed order.
func (s *supervisor) parts() []*keptPart {
	parts := []*keptPart{&s.kept.ledger, &s.kept.scheduler}
	if s.term.owns {
		parts = slices.Insert(parts, 1, &s.kept.queue)
	}
	if s.Ports.Sectors != nil {
		parts = append(parts, &s.kept.sectors)
	}
	return parts
}

// planParts defines how the parts are started.
func (s *supervisor) planParts(a *shell.Turn, heads []events.Head) {
	broken := func(p *keptPart, life int) func(error) {
		return func(err error) { s.root.Tell(partBroken{p, life, err}) }
	}
	s.kept.ledger.start = func(life int) shell.Behavior {
		return ledger.New(ledger.Deps{
			Base: s.Base, Repo: s.Repo, Quota: s.Quota, Quarantined: s.quarantined, Queue: s.queue,
			Decide: s.Cores.DecideCapacity, Broken: broken(&s.kept.ledger, life),
		})
	}
	s.kept.queue.start = func(life int) shell.Behavior {
		return queue.New(queue.Deps{
			Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Part: s.queue, Match: s.match,
			Supervisor: a.Self, Reads: s.reads, ChainID: s.ChainID, Contract: s.Contract, MaxQueued: s.MaxQueued,
			MaxWorkers: s.MaxWorkers, WorkerPatience: s.WorkerPatience, AvoidClient: s.AvoidClient,
			Decide: s.Cores.DecideQueue, Held: s.lossUnrecorded, Life: life, Broken: broken(&s.kept.queue, life),
		})
	}
	s.kept.scheduler.start = func(int) shell.Behavior {
		return proofs.New(proofs.Deps{
			Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Provers: s.provers, Verdict: s.Cores.Verdict,
			Since: s.since, Recent: heads,
		})
	}
	s.kept.sectors.start = func(int) shell.Behavior {
		room := sectors.New(s.sectorDeps())
		s.kept.sectorPools = room.Pools()
		return room
	}
}

// startPart starts a part, for the first time or again, and tells it what is not in its record.
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
	case s.sectors:
		child.Tell(chainview.HeadMoved{Head: s.View.Now()})
	case s.scheduler:
		for _, slot := range s.slots() {
			ag := s.agents[slot]
			switch {
			case ag.quarantined != "":
				child.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: ag.quarantined})
			case ag.state.Phase != sale.Unknown:
				child.Tell(sales.Changed{
					Agent: ag.ref.Address(), Slot: slot, State: ag.state, Last: ag.last,
					Ahead: ag.ahead, Trouble: ag.trouble,
				})
			}
		}
	}
}

// onPartBroken: the record of a part cannot be read or folded.
func (s *supervisor) onPartBroken(m partBroken) {
	if m.life != m.part.life || !m.part.Running() {
		return
	}
	m.part.Stop()
	s.partDown(m.part, m.err)
}

// partDown notes that a part has failed, tells those who wait for it, and has it started again
// after a pause, a long one if its record cannot be read.
func (s *supervisor) partDown(p *keptPart, err error) {
	now := s.Clock.Now()
	if now.Sub(p.last) > partSteady {
		p.failures, p.told = 0, false
	}
	p.failures++
	p.Ended(now, p.failures == 1, err)
	delete(s.Savers, p.Name) // Its state in memory is not trusted.
	if p.Part == s.queue {
		s.forgetWorkers()
	}
	slow := errors.Is(err, shell.ErrUnreadable) // The next try will hardly find anything else.
	pause := s.Backoff(p.Name, p.failures)
	if slow {
		pause = s.quarantinePause(p.failures)
	}
	s.Log.WithField("part", p.Name).Errorf("%s is down and will be restarted in %s: %v", p.Name, pause, err)
	if (slow || p.failures >= partAlertAfter) && !p.told {
		p.told = true
		s.Raise(health.AlertPartDown, events.SlotID{}, 0, fmt.Sprintf("%s is down: %v", p.Name, err), partHint(p.Name))
	}
	s.Clock.After(pause, func() { s.root.Tell(partDue{p}) })
}

// forgetWorkers forgets the workers of a queue that failed: they are gone, and its next life
// begins others.
func (s *supervisor) forgetWorkers() {
	for _, ag := range s.agents {
		ag.watchers = nil
	}
	for _, c := range s.beginning {
		c.workers = slices.DeleteFunc(c.workers, func(w shell.Ref) bool { return !w.Nobody() })
	}
}

func partHint(name string) string {
	switch name {
	case schedulerName:
		return "no new proof begins while it is down: find the cause in the log; the host restarts it by itself"
	case sectors.Name:
		return "no sector is sealed or proven while it is down, and slots are: find the cause in the log, or " +
			"check the record with `hostnode audit`; the host restarts it by itself"
	}
	return "nothing is sold while it is down, and hosted slots are proven: find the cause in the log, or " +
		"check the record with `hostnode audit`; the host restarts it by itself"
}

// downParts are the parts that do not run now.
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
