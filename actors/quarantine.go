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

// Messages about sales that cannot be run.
type (
	// agentBroken: a sale's record cannot be read.
	agentBroken struct {
		slot events.SlotID
		err  error
	}
	// retryQuarantined: it is time to try a sale again.
	retryQuarantined struct{ slot events.SlotID }
)

// quarantine leaves a sale alone that cannot be run, raises an alert, and tries the sale again
// later. The host and its other sales go on.
func (s *supervisor) quarantine(slot events.SlotID, err error) {
	ag := s.agents[slot]
	if ag == nil {
		return
	}
	ag.quarantines++
	pause := s.quarantinePause(ag.quarantines)
	s.Log.WithField("slot", slot.String()).Errorf("the sale is quarantined and nothing is done for its slot until "+
		"it is tried again in %s; look at it with `hostnode sale %s`: %v", pause, slot, err)
	if ag.quarantines == 1 { // Not at each try; every proof that is owed raises an alert of its own.
		trouble := health.SlotTrouble{Slot: slot, Reason: err.Error()}
		s.RaiseCause("sale-quarantined", slot, health.Facts{Quarantined: []health.SlotTrouble{trouble}})
	}
	ag.quarantined, ag.retrying, ag.state.Slot = err.Error(), false, slot
	s.quarantined.Begin(aboutSale(slot), err.Error())
	ag.ref.Stop()
	tellAll(ag.watchers,
		admission.Refusal{Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + err.Error()})
	ag.watchers = nil
	s.scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: err.Error()})
	s.Clock.After(pause, func() { s.root.Tell(retryQuarantined{slot}) })
}

func (e *env) quarantinePause(n int) time.Duration {
	return min(quarantineFirst<<min(n-1, 20), e.QuarantineRetry)
}

// retryQuarantined runs a sale again. The sale stays quarantined until its record is read, and
// is quarantined again at the first failure.
func (s *supervisor) retryQuarantined(a *shell.Turn, slot events.SlotID) {
	ag := s.agents[slot]
	if ag == nil || ag.quarantined == "" || ag.retrying {
		return
	}
	ag.retrying, ag.failures = true, maxFailures
	s.runAgent(a, slot, ag)
}

// runsAgain reports whether a message of an agent counts: not that of an agent that was stopped
// since. A quarantined sale whose agent reports is out of quarantine.
func (s *supervisor) runsAgain(ag *agent, m sales.Changed) bool {
	if ag.quarantined == "" {
		return true
	}
	if !ag.retrying || ag.ref.Address() != m.Agent {
		return false
	}
	s.Log.WithField("slot", m.Slot.String()).Warn("the sale that was quarantined is run again")
	ag.quarantined, ag.retrying = "", false
	s.quarantined.End(aboutSale(m.Slot), "it can be run again", func() {})
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
		ag.quarantined, ag.retrying, ag.failures, ag.state.Slot = q.Reason, true, maxFailures, slot
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
