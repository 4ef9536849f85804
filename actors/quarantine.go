package actors

import (
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file quarantines sales that cannot be run, because their actor fails again and again or
// their record cannot be read. Nothing is done for such a sale; it is tried again at a slow
// pace, because the cause may pass or be repaired. While its slot is ours on chain, each period
// that owes a proof raises an alert.

// quarantineFirst is the pause before the first try; each further pause is twice as long, up to
// Config.QuarantineRetry.
const quarantineFirst = time.Minute

// onAgentEnded quarantines a sale that is left alone, and raises an alert. The host and its other sales go on.
func (s *supervisor) onAgentEnded(ag *agent, f shell.Failure) bool {
	slot := ag.slot
	if f.Lefts == 0 {
		return true
	}
	s.Log.WithField("slot", slot.String()).Errorf("the sale is quarantined and nothing is done for its slot until "+
		"it is tried again in %s; look at it with `hostnode sale %s`: %v", f.Pause, slot, f.Err)
	if f.Lefts == 1 { // Not at each try; every proof that is owed raises an alert of its own.
		trouble := health.SlotTrouble{Slot: slot, Reason: f.Err.Error()}
		s.RaiseCause("sale-quarantined", slot, health.Facts{Quarantined: []health.SlotTrouble{trouble}})
	}
	ag.state.Slot = slot
	s.quarantined.Begin(aboutSale(slot), f.Err.Error())
	tellAll(ag.watchers,
		admission.Refusal{Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + ag.Left})
	ag.watchers = nil
	s.scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: ag.Left})
	return true
}

func (e *env) quarantinePause(n int) time.Duration {
	return min(quarantineFirst<<min(n-1, 20), e.QuarantineRetry)
}

// isOf reports whether a message is of the agent that runs a sale. One that was quarantined and reports is so no more.
func (s *supervisor) isOf(ag *agent, m sales.Changed) bool {
	if ag.Ref().Address() != m.Agent {
		return false
	}
	if s.family.Works(&ag.Child, len(m.Fresh) > 0) {
		s.Log.WithField("slot", m.Slot.String()).Warn("the sale that was quarantined is run again")
		s.quarantined.End(aboutSale(m.Slot), "it can be run again", func() {})
	}
	return true
}

func aboutSale(slot events.SlotID) shell.Subject {
	return shell.Subject{Kind: shell.SubjectSale, Key: slot.String()}
}

// stayQuarantined keeps a sale quarantined that was so when the last process ended, until it
// runs. It is tried at once.
func (s *supervisor) stayQuarantined(slot events.SlotID) {
	ag := s.agents[slot]
	if q, ok := s.quarantined.Has(aboutSale(slot)); ok {
		s.family.LeaveAlone(&ag.Child, q.Reason)
		ag.state.Slot = slot
		s.scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: q.Reason})
	}
}

// endOldQuarantines ends the quarantines of sales that are over.
func (s *supervisor) endOldQuarantines() {
	for _, q := range s.quarantined.All() {
		slot, err := events.ParseSlotID(q.Subject.Key)
		ofSale := q.Subject.Kind == shell.SubjectSale || q.Subject.Kind == shell.SubjectDuties
		if ofSale && (err != nil || s.agents[slot] == nil) {
			s.quarantined.End(q.Subject, "the sale is over", func() {})
		}
	}
}
