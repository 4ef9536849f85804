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

// This file is about sales that cannot be run: their actor fails again and again, or
// their record cannot be read. Nothing is done for such a sale, and it is tried again at
// a slow pace, because what stood in its way may be mended or pass. While its slot is
// ours on chain, each period that owes a proof is an alert.

// quarantineFirst is the pause before the first try; each is twice as long as the one
// before, up to Config.QuarantineRetry.
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

// quarantine leaves a sale alone that cannot be run, with an alert, and tries it again
// later. The host and its other sales go on.
func (s *supervisor) quarantine(a *shell.Turn, slot events.SlotID, err error) {
	ag := s.agents[slot]
	if ag == nil {
		return
	}
	ag.quarantines++
	pause := s.quarantinePause(ag.quarantines)
	s.Log.WithField("slot", slot.String()).Errorf("the sale is quarantined and nothing is done for its slot until "+
		"it is tried again in %s; look at it with `hostnode sale %s`: %v", pause, slot, err)
	if ag.quarantines == 1 { // Not at each try; but each proof that is owed is told.
		trouble := health.SlotTrouble{Slot: slot, Reason: err.Error()}
		s.RaiseCause("sale-quarantined", slot, health.Facts{Quarantined: []health.SlotTrouble{trouble}})
	}
	ag.quarantined, ag.retrying, ag.state.Slot = err.Error(), false, slot
	s.quarantined.Begin(aboutSale(slot), err.Error())
	ag.ref.Stop()
	for _, w := range ag.watchers {
		w.Tell(admission.Refusal{Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + err.Error()})
	}
	ag.watchers = nil
	s.scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: err.Error()})
	self := a.Self
	s.Clock.After(pause, func() { self.Tell(retryQuarantined{slot}) })
}

func (e *env) quarantinePause(n int) time.Duration {
	return min(quarantineFirst<<min(n-1, 20), e.QuarantineRetry)
}

// retryQuarantined runs a sale again. It is quarantined until its record was read, and
// once more as soon as it fails.
func (s *supervisor) retryQuarantined(a *shell.Turn, slot events.SlotID) {
	ag := s.agents[slot]
	if ag == nil || ag.quarantined == "" || ag.retrying {
		return
	}
	ag.retrying, ag.failures = true, maxFailures
	s.runAgent(a, slot, ag)
}

// runsAgain reports whether what an agent tells counts: not what one told that was
// stopped since.
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

// stayQuarantined leaves a sale quarantined that was so when the process before ended,
// until it runs. It is tried at once.
func (s *supervisor) stayQuarantined(slot events.SlotID) {
	ag := s.agents[slot]
	if q, ok := s.quarantined.Has(aboutSale(slot)); ok {
		ag.quarantined, ag.retrying, ag.failures, ag.state.Slot = q.Reason, true, maxFailures, slot
		s.scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: q.Reason})
	}
}

// endOldQuarantines ends those of sales that are over.
func (s *supervisor) endOldQuarantines() {
	for _, q := range s.quarantined.All() {
		slot, err := events.ParseSlotID(q.Subject.Key)
		ofSale := q.Subject.Kind == shell.SubjectSale || q.Subject.Kind == shell.SubjectDuties
		if ofSale && (err != nil || s.agents[slot] == nil) {
			s.quarantined.End(q.Subject, "the sale is over", func() {})
		}
	}
}
