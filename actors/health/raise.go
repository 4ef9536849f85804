package health

import (
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Alerts tells operators of trouble. Safe for concurrent use.
type Alerts struct {
	base *shell.Base
	send func(Alert)
}

// NewAlerts returns Alerts that log, and call send for each alert. send must not block; nil:
// alerts are only logged.
func NewAlerts(base *shell.Base, send func(Alert)) *Alerts { return &Alerts{base, send} }

// Raise raises an alert; slot may be zero.
func (a *Alerts) Raise(kind AlertKind, slot events.SlotID, period uint64, text, hint string) {
	alert := Alert{
		Kind: kind, At: a.base.Clock.Now(), Host: a.base.Me.String(), Period: period, Text: text, Hint: hint,
	}
	log := a.base.Log.WithField("alert", kind)
	if slot != (events.SlotID{}) {
		alert.Slot = slot.String()
		log = log.WithField("slot", alert.Slot)
	}
	if hint != "" {
		log = log.WithField("hint", hint)
	}
	log.Error(text)
	if a.send != nil {
		a.send(alert)
	}
}

// RaiseCause raises the alert of a cause, if the facts show the cause.
func (a *Alerts) RaiseCause(code string, slot events.SlotID, f Facts) {
	if c, so := CauseOf(code, f); so {
		a.Raise(c.Alert, slot, 0, c.Reason, c.Hint)
	}
}

// Incident is told once until it is over.
type Incident struct{ Told bool }

// Is notes whether the incident lasts; it calls tell when the incident begins.
func (i *Incident) Is(so bool, tell func()) {
	if so && !i.Told {
		tell()
	}
	i.Told = so
}
