package actors

import (
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

// This file supervises the parts of a host: the ledger, the queue and the proof scheduler, the sectors if it has a
// sealer, and the validator if it is one. A part that panics is started again from its record, after a growing pause.
// One whose record cannot be read or folded is tried again at a slow pace, because stored events are never skipped. The
// other parts go on meanwhile, and whoever asks a part that is down is told so and asks again.

const (
	schedulerName = health.PartScheduler
	validatorName = "Validator"
	// partSteady is how long a part must run, by the machine's clock, for its earlier failures
	// to be forgotten.
	partSteady = 10 * time.Minute
	// partAlertAfter is how many failures in a row raise an alert: fewer are over in seconds.
	partAlertAfter = 3
)

// keptPart is what the supervisor knows of a part.
type keptPart struct {
	*shell.Part
	child shell.Child[*keptPart]
	// start makes the behavior of a life, counted from 1.
	start func(life int, broken func(error)) shell.Behavior
	told  bool // an alert said that it is down
}

type keptParts struct {
	family                                       shell.Family[*keptPart]
	ledger, queue, scheduler, sectors, validator keptPart
	sectorPools                                  []*shell.Pool // of the newest life of the sectors
}

func (s *supervisor) keepParts() {
	for p, of := range map[*keptPart]*shell.Part{
		&s.kept.ledger: s.ledger, &s.kept.queue: s.queue, &s.kept.scheduler: s.scheduler, &s.kept.sectors: s.sectors,
		&s.kept.validator: s.validator,
	} {
		p.Part, p.child = of, shell.Child[*keptPart]{Of: p, Name: of.Name}
	}
	s.kept.family = shell.Family[*keptPart]{
		Base: s.Base, Steady: partSteady, Slow: s.quarantinePause, Began: s.onPartBegan, Ended: s.onPartEnded,
		Start: func(_ *shell.Turn, p *keptPart, life int, broken func(error)) shell.Behavior {
			return p.start(life, broken)
		},
	}
}

// parts returns the parts that this host has in a fixed order.
func (s *supervisor) parts() []*keptPart {
	parts := []*keptPart{&s.kept.ledger, &s.kept.scheduler}
	if s.term.owns {
		parts = slices.Insert(parts, 1, &s.kept.queue)
	}
	if s.Ports.Sectors != nil {
		parts = append(parts, &s.kept.sectors)
	}
	if s.Validation != nil && s.term.owns && s.booted {
		parts = append(parts, &s.kept.validator)
	}
	return parts
}

// planParts defines how the parts are started.
func (s *supervisor) planParts(a *shell.Turn, heads []events.Head) {
	s.kept.ledger.start = func(_ int, broken func(error)) shell.Behavior {
		return ledger.New(ledger.Deps{
			Base: s.Base, Repo: s.Repo, Quota: s.Quota, Quarantined: s.quarantined, Queue: s.queue,
			Decide: s.Cores.DecideCapacity, Broken: broken,
		})
	}
	s.kept.queue.start = func(life int, broken func(error)) shell.Behavior {
		return queue.New(queue.Deps{
			Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Part: s.queue, Match: s.match,
			Supervisor: a.Self, Reads: s.reads, ChainID: s.ChainID, Contract: s.Contract, MaxQueued: s.MaxQueued,
			MaxWorkers: s.MaxWorkers, WorkerPatience: s.WorkerPatience, AvoidClient: s.AvoidClient,
			Decide: s.Cores.DecideQueue, Held: s.lossUnrecorded, Life: life, Broken: broken,
		})
	}
	s.kept.scheduler.start = func(int, func(error)) shell.Behavior {
		return proofs.New(proofs.Deps{
			Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Provers: s.provers, Verdict: s.Cores.Verdict,
			Since: s.since, Recent: heads,
		})
	}
	s.kept.sectors.start = func(int, func(error)) shell.Behavior {
		room := sectors.New(s.sectorDeps())
		s.kept.sectorPools = room.Pools()
		return room
	}
	s.kept.validator.start = func(_ int, broken func(error)) shell.Behavior { return s.newValidator(broken) }
}

// runParts starts the parts that this host has, and that do not run yet.
func (s *supervisor) runParts(a *shell.Turn) {
	for _, p := range s.parts() {
		s.kept.family.Run(a, &p.child)
	}
}

// onPartBegan tells a part what is not in its record.
func (s *supervisor) onPartBegan(_ *shell.Turn, p *keptPart) {
	child := p.child.Ref()
	p.Began(child)
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
			case ag.Left != "":
				child.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: ag.Left})
			case ag.state.Phase != sale.Unknown:
				child.Tell(sales.Changed{
					Agent: ag.Ref().Address(), Slot: slot, State: ag.state, Last: ag.last,
					Ahead: ag.ahead, Trouble: ag.trouble,
				})
			}
		}
	}
}

// onPartEnded notes that a part has failed, and tells those who wait for it.
func (s *supervisor) onPartEnded(p *keptPart, f shell.Failure) bool {
	s.countPanic(f.About, f.Err) // What it was working on is quarantined the second time.
	p.told = p.told && f.InARow > 1
	p.Ended(s.Clock.Now(), f.InARow == 1, f.Err)
	delete(s.Savers, p.Name) // Its state in memory is not trusted.
	if p.Part == s.queue {
		s.forgetWorkers()
	}
	s.Log.WithField("part", p.Name).Errorf("%s is down and will be restarted in %s: %v", p.Name, f.Pause, f.Err)
	if p.Part == s.validator {
		s.showValidatorDown(f.Err)
	}
	if (f.Lefts > 0 || f.InARow >= partAlertAfter) && !p.told {
		p.told = true
		s.Raise(health.AlertPartDown, events.SlotID{}, 0,
			fmt.Sprintf("%s is down: %v", p.Name, f.Err), partHint(p.Name))
	}
	return true
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
	case validatorName:
		return "missing proofs of other hosts are not marked while it is down: find the cause in the log; the host " +
			"restarts it by itself"
	}
	return "nothing is sold while it is down, and hosted slots are proven: find the cause in the log, or " +
		"check the record with `hostnode audit`; the host restarts it by itself"
}

// downParts are the parts that do not run now.
func (s *supervisor) downParts() (down []health.PartStatus) {
	for _, p := range s.parts() {
		if since, why := p.Trouble(); why != nil && p.Part != s.validator { // Its own status tells.
			down = append(down, health.PartStatus{Name: p.Name, Since: since, Reason: why.Error()})
		}
	}
	if market := s.unreadMarket.Load(); market != nil {
		down = append(down, *market)
	}
	return down
}
