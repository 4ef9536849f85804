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
	// tryAgain: an operator wants something tried again. The answer comes when the end of the
	// quarantine is recorded.
	tryAgain struct{ subject shell.Subject }
)

// panics counts the panics of each piece of work.
type panics struct {
	alerts      *health.Alerts
	quarantined *quarantine.List
	counts      map[shell.Subject]int
}

// count notes that a piece of work panicked, and quarantines it the second time.
func (p *panics) count(about shell.Subject, err error) (leftAlone bool) {
	if about == (shell.Subject{}) {
		return false
	}
	if p.counts[about]++; p.counts[about] < quarantine.MostPanics {
		if len(p.counts) > maxPanicked {
			clear(p.counts)
		}
		return false
	}
	delete(p.counts, about)
	if p.quarantined.Begin(about, err.Error()) {
		tellLeftAlone(p.alerts, about, err.Error())
	}
	return true
}

// recordQuarantine records that a quarantine began or ended, and tells of a sector's: they have
// quarantines of their own, and nobody else to tell.
func recordQuarantine(h *hostRecord, alerts *health.Alerts) func(m quarantine.Event, stored func()) {
	return func(m quarantine.Event, stored func()) {
		if q, ok := m.(*messages.WorkQuarantined); ok && q.GetKind() == string(shell.SubjectSector) {
			tellLeftAlone(alerts, shell.Subject{Kind: shell.SubjectSector, Key: q.GetKey()}, q.GetReason())
		}
		if q, ok := m.(*messages.QuarantineEnded); ok {
			clearLeftAlone(alerts, shell.Subject{Kind: shell.SubjectKind(q.GetKind()), Key: q.GetKey()}, q.GetReason())
		}
		h.writeLater(m, stored)
	}
}

func tellLeftAlone(alerts *health.Alerts, about shell.Subject, why string) {
	alerts.RaiseAbout(health.AlertWorkQuarantined, about.String(),
		fmt.Sprintf("%s is left alone: %s", describe(about), why),
		fmt.Sprintf("find the cause in the log; try it again with `hostnode quarantine retry %s`", about))
}

// clearLeftAlone tells that a quarantine has ended.
func clearLeftAlone(alerts *health.Alerts, about shell.Subject, why string) {
	alerts.ClearAbout(health.AlertWorkQuarantined, about.String(), why)
	switch about.Kind {
	case shell.SubjectSale:
		alerts.ClearAbout(health.AlertQuarantined, about.Key, why)
		alerts.ClearAbout(health.AlertNotProving, about.Key, why)
	case shell.SubjectDuties:
		alerts.ClearAbout(health.AlertNotProving, about.Key, why)
	case shell.SubjectMarket, shell.SubjectLedger, shell.SubjectSlot, shell.SubjectSector:
	}
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
	if _, ok := s.record.quarantined.Has(m.subject); !ok {
		answer(nil, fmt.Errorf("%w: %s", shell.ErrNotQuarantined, m.subject))
		return
	}
	if m.subject.Kind == shell.SubjectSale { // That quarantine ends when the sale runs.
		slot, err := events.ParseSlotID(m.subject.Key)
		if ag := s.sales.agents[slot]; err == nil && ag != nil && ag.Left != "" {
			s.sales.family.Run(a, &ag.Child)
		}
		answer(struct{}{}, err)
		return
	}
	if m.subject.Kind == shell.SubjectSector { // The same.
		number, err := strconv.ParseUint(m.subject.Key, 10, 64)
		if s.sectorFiles == nil {
			err = ErrNoSectors
		}
		s.sectors.Tell(sectors.TryAgain{Number: number})
		answer(struct{}{}, err)
		return
	}
	s.panics.counts[m.subject] = quarantine.MostPanics - 1 // The next panic counts as the second.
	s.record.quarantined.End(m.subject, "tried again by the operator", func() {
		if m.subject.Kind == shell.SubjectMarket { // Nobody else resumes that.
			var revision uint64
			if _, err := fmt.Sscan(m.subject.Key, &revision); err == nil && revision > 0 {
				s.queue.Tell(queue.TryMarket{Revision: revision})
			}
		}
		s.queue.Tell(queue.Wake{
			Reason: "an operator wants it tried again", Criteria: []string{slotqueue.CriterionQuarantined},
		})
		answer(struct{}{}, nil)
	})
}
