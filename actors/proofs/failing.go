package proofs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file isolates a slot on which the proof scheduler panics: the work for one slot touches
// no other, so the panic ends there. The slot is tried again with every block, because another
// period may not panic. Meanwhile duties that are open already are proven, and an alert is
// raised.

// failing is a slot whose duties cannot be computed.
type failing struct {
	times  int
	period uint64 // the last period in which it failed
}

// ofSlot does work for one slot, and keeps a panic to that slot.
func (p *Scheduler) ofSlot(slot events.SlotID, work func()) {
	err := p.RT.Guarded(health.PartScheduler, func() error {
		work()
		return nil
	})
	if err != nil {
		p.failedOn(slot, err)
	}
}

func (p *Scheduler) failedOn(slot events.SlotID, err error) {
	f := failing{p.failing[slot].times + 1, duty.Period(p.Terms.Proofs, p.View.Now().Time)}
	p.failing[slot] = f
	about := aboutDuties(slot)
	if f.times >= quarantine.MostPanics && p.Quarantined.Begin(about, err.Error()) {
		p.Raise(health.AlertNotProving, slot, f.period,
			"NOT PROVING: what the slot owes cannot be computed: "+err.Error(),
			fmt.Sprintf("find the cause in the log; the host tries again with every block, and duties found before "+
				"are proven; `hostnode quarantine` says whether it is over (%s)", about))
	}
}

func aboutDuties(slot events.SlotID) shell.Subject {
	return shell.Subject{Kind: shell.SubjectDuties, Key: slot.String()}
}

// lookAtFailing ends the quarantine of slots that have not failed for a whole period.
func (p *Scheduler) lookAtFailing(head events.Head) {
	now := duty.Period(p.Terms.Proofs, head.Time)
	for _, slot := range slices.SortedFunc(maps.Keys(p.failing), events.SlotID.Compare) {
		if now > p.failing[slot].period+1 {
			p.recovers(slot, "it is computed again")
		}
	}
}

// recovers forgets that a slot failed.
func (p *Scheduler) recovers(slot events.SlotID, why string) {
	if _, known := p.failing[slot]; known {
		delete(p.failing, slot)
		p.Quarantined.End(aboutDuties(slot), why, func() {})
	}
}

// learnFailing takes over the quarantined slots from the record.
func (p *Scheduler) learnFailing() {
	for _, q := range p.Quarantined.All() {
		if slot, err := events.ParseSlotID(q.Subject.Key); err == nil && q.Subject.Kind == shell.SubjectDuties {
			p.failing[slot] = failing{quarantine.MostPanics, duty.Period(p.Terms.Proofs, p.View.Now().Time)}
		}
	}
}
