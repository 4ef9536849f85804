package health

import (
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Alerts calls operators. Safe for concurrent use.
type Alerts struct {
	base *shell.Base
	send func(Alert)
}

// NewAlerts sends alerts, besides the log; nil: they go into the log only. It must not block.
func NewAlerts(base *shell.Base, send func(Alert)) *Alerts { return &Alerts{base, send} }

// Raise tells an operator, and the log; slot may be zero.
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

// RaiseCause tells an operator of a cause, if the facts show it.
func (a *Alerts) RaiseCause(code string, slot events.SlotID, f Facts) {
	if c, so := CauseOf(code, f); so {
		a.Raise(c.Alert, slot, 0, c.Reason, c.Hint)
	}
}

// Incident is told once until it is over.
type Incident struct{ Told bool }

// Is says whether the incident lasts; tell is called when it begins.
func (i *Incident) Is(so bool, tell func()) {
	if so && !i.Told {
		tell()
	}
	i.Told = so
}
