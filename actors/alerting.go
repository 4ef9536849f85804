package actors

import (
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// alert tells an operator, and the log; slot may be zero.
func (e *env) alert(kind health.AlertKind, slot events.SlotID, period uint64, text, hint string) {
	a := health.Alert{Kind: kind, At: e.Clock.Now(), Host: e.Me.String(), Period: period, Text: text, Hint: hint}
	log := e.Log.WithField("alert", kind)
	if slot != (events.SlotID{}) {
		a.Slot = slot.String()
		log = log.WithField("slot", a.Slot)
	}
	if hint != "" {
		log = log.WithField("hint", hint)
	}
	log.Error(text)
	if e.Alert != nil {
		e.Alert(a)
	}
}

// alertCause tells an operator of a cause.
func (e *env) alertCause(code string, slot events.SlotID, f health.Facts) {
	if c, so := health.CauseOf(code, f); so {
		e.alert(c.Alert, slot, 0, c.Reason, c.Hint)
	}
}
