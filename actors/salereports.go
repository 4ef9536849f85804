package actors

import (
	"errors"

	"github.com/hostnode/hostnode/events/sale"
)

// This file is what becomes of the report of a call: it brought the sale on, or the call is
// tried again.

// onReported looks at what became of a report. One that changed nothing, or
// was refused because the record moved, leads to another try after a pause.
func (s *salesAgent) onReported(a *turn, key string, r result[sale.State, sale.Event]) {
	if len(r.events) > 0 {
		if w := s.running[key]; w != nil {
			delete(s.running, key) // If the state wants it again, it is new work.
		}
		return
	}
	if r.err != nil && !errors.Is(r.err, errReloading) {
		s.fields().WithField("effect", key).Warnf("a report was refused: %v", r.err)
	}
	w := s.running[key]
	if w == nil {
		return
	}
	w.reporting = false
	s.tryAgain(a, key, w)
}

// tryAgain begins an effect once more after a pause, if the state still wants it.
func (s *salesAgent) tryAgain(a *turn, key string, w *work) {
	w.tries++
	self := a.self
	s.Clock.After(s.backoff(s.slot.String()+"/again/"+key, w.tries), func() {
		self.tell(effectRetry{key, w})
	})
}
