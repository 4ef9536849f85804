package actors

import (
	"fmt"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file decides what is quarantined besides sales: a piece of work on which something
// panicked twice. It is left alone, so that one bad offer costs no hosted slot; the record
// says so, a person is told, and an operator may have it tried again.

// maxPanicked is of how many pieces of work it is known that something panicked once.
const maxPanicked = 1_000

// Messages about what is quarantined.
type (
	// examineFailed: looking at a slot on offer panicked.
	examineFailed struct {
		slot events.SlotID
		err  error
	}
	// tryAgain: an operator wants something tried again. The answer comes when that is in
	// the record.
	tryAgain struct{ subject shell.Subject }
)

// countPanic notes that something panicked on a piece of work, and leaves it alone when it is
// not the first time.
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
		s.Raise(health.AlertWorkQuarantined, events.SlotID{}, 0,
			fmt.Sprintf("%s is left alone: %v", describe(about), err),
			fmt.Sprintf("find the cause in the log; try it again with `hostnode quarantine retry %s`", about))
	}
	return true
}

// describe says what a piece of work is.
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
	}
	return about.String()
}

// onExamineFailed puts a slot back, or refuses it when it was not the first time.
func (s *supervisor) onExamineFailed(m examineFailed) {
	c := s.beginning[m.slot]
	delete(s.beginning, m.slot)
	if c == nil {
		return
	}
	leftAlone := s.countPanic(shell.Subject{Kind: shell.SubjectSlot, Key: m.slot.String()}, m.err)
	refused := admission.Refusal{
		Criterion: slotqueue.CriterionQuarantined, Reason: m.err.Error(), Requeue: true,
	}
	if !leftAlone {
		refused.RetryAt = s.ChainTime().Add(queue.LookAgainAfter)
	}
	for _, w := range c.workers {
		w.Tell(refused)
		s.owned.due = s.owned.due || w.Nobody() // One of ours is not given up: it must be proven.
	}
}

// onTryAgain ends a quarantine because an operator wants it.
func (s *supervisor) onTryAgain(a *shell.Turn, m tryAgain) {
	answer := a.Asker()
	if _, ok := s.quarantined.Has(m.subject); !ok {
		answer(nil, fmt.Errorf("%w: %s", shell.ErrNotQuarantined, m.subject))
		return
	}
	if m.subject.Kind == shell.SubjectSale { // It ends by itself when the sale runs.
		slot, err := events.ParseSlotID(m.subject.Key)
		if err == nil {
			s.retryQuarantined(a, slot)
		}
		answer(struct{}{}, err)
		return
	}
	s.panicked[m.subject] = quarantine.MostPanics - 1 // The next panic is not the first.
	self, subject := a.Self, m.subject
	s.quarantined.End(subject, "tried again by the operator", func() {
		self.Tell(quarantineOver{subject})
		answer(struct{}{}, nil)
	})
}

// quarantineOver: the record has it that something is to be tried again.
type quarantineOver struct{ subject shell.Subject }

// onQuarantineOver begins again what nobody else begins.
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
