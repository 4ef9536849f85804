package actors

import (
	"fmt"
	"strconv"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file quarantines work other than sales: what panicked twice is left alone, so that one
// bad offer costs no hosted slot. The quarantine is recorded, the operator is alerted, and may
// have the work tried again.

// maxPanicked is how many pieces of work are remembered because they panicked once.
const maxPanicked = 1_000

// Messages about what is quarantined.
type (
	// examineFailed: examining a slot on offer panicked.
	examineFailed struct {
		slot events.SlotID
		err  error
	}
	// tryAgain: an operator wants something tried again. The answer comes when the end of the
	// quarantine is recorded.
	tryAgain struct{ subject shell.Subject }
)

// countPanic notes that a piece of work panicked, and quarantines it the second time.
func (s *supervisor) countPanic(about shell.Subject, err error) (leftAlone bool) {
	if about == (shell.Subject{}) {
		return false
	}
	if s.panicked[about]++; s.panicked[about] < quarantine.MostPanics {
		if len(s.panicked) > maxPanicked {
			clear(s.panicked)
		}
		return false
	}
	delete(s.panicked, about)
	if s.quarantined.Begin(about, err.Error()) {
		s.tellLeftAlone(about, err.Error())
	}
	return true
}

func (e *env) tellLeftAlone(about shell.Subject, why string) {
	e.Raise(health.AlertWorkQuarantined, events.SlotID{}, 0, fmt.Sprintf("%s is left alone: %s", describe(about), why),
		fmt.Sprintf("find the cause in the log; try it again with `hostnode quarantine retry %s`", about))
}

// recordQuarantine records that a quarantine began or ended, and tells of a sector's: they have
// quarantines of their own, and nobody else to tell.
func (e *env) recordQuarantine(m quarantine.Event, stored func()) {
	if q, ok := m.(*messages.WorkQuarantined); ok && q.GetKind() == string(shell.SubjectSector) {
		e.tellLeftAlone(shell.Subject{Kind: shell.SubjectSector, Key: q.GetKey()}, q.GetReason())
	}
	e.recordHost(m, stored)
}

// describe names a piece of work in words.
func describe(about shell.Subject) string {
	switch about.Kind {
	case shell.SubjectSale:
		return "the sale of slot " + about.Key
	case shell.SubjectMarket:
		return "event " + about.Key + " of the market"
	case shell.SubjectLedger:
		return "the ledger's command " + about.Key
	case shell.SubjectDuties:
		return "what slot " + about.Key + " owes"
	case shell.SubjectSlot:
		return "slot " + about.Key + " on offer"
	case shell.SubjectSector:
		return "sector " + about.Key
	}
	return about.String()
}

// onTryAgain ends a quarantine at an operator's wish.
func (s *supervisor) onTryAgain(a *shell.Turn, m tryAgain) {
	answer := a.Asker()
	if _, ok := s.quarantined.Has(m.subject); !ok {
		answer(nil, fmt.Errorf("%w: %s", shell.ErrNotQuarantined, m.subject))
		return
	}
	if m.subject.Kind == shell.SubjectSale { // That quarantine ends when the sale runs.
		slot, err := events.ParseSlotID(m.subject.Key)
		if ag := s.agents[slot]; err == nil && ag != nil && ag.Left != "" {
			s.family.Run(a, &ag.Child)
		}
		answer(struct{}{}, err)
		return
	}
	if m.subject.Kind == shell.SubjectSector { // The same.
		number, err := strconv.ParseUint(m.subject.Key, 10, 64)
		if s.Ports.Sectors == nil {
			err = ErrNoSectors
		}
		s.sectors.Tell(sectors.TryAgain{Number: number})
		answer(struct{}{}, err)
		return
	}
	s.panicked[m.subject] = quarantine.MostPanics - 1 // The next panic counts as the second.
	s.quarantined.End(m.subject, "tried again by the operator", func() {
		s.root.Tell(quarantineOver(m))
		answer(struct{}{}, nil)
	})
}

// quarantineOver: the end of a quarantine is recorded.
type quarantineOver struct{ subject shell.Subject }

// onQuarantineOver resumes work that nobody else resumes.
func (s *supervisor) onQuarantineOver(m quarantineOver) {
	if m.subject.Kind == shell.SubjectMarket {
		var revision uint64
		if _, err := fmt.Sscan(m.subject.Key, &revision); err == nil && revision > 0 {
			s.queue.Tell(queue.TryMarket{Revision: revision})
		}
	}
	s.queue.Tell(queue.Wake{
		Reason: "an operator wants it tried again", Criteria: []string{slotqueue.CriterionQuarantined},
	})
}
