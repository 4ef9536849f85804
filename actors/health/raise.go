package health

import (
	"cmp"
	"slices"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Alerts tells operators of trouble, and of its end. Safe for concurrent use.
type Alerts struct {
	base  *shell.Base
	send  func(Alert)
	ended func(Alert)
}

// NewAlerts returns Alerts that log, and call send for each alert. send must not block; nil:
// alerts are only logged.
func NewAlerts(base *shell.Base, send func(Alert)) *Alerts { return &Alerts{base: base, send: send} }

// Ending has ended called for each alert that is over, whether it was raised or not; it must not block. It returns a.
func (a *Alerts) Ending(ended func(Alert)) *Alerts {
	a.ended = ended
	return a
}

// Clears reports whether anything is told of ends.
func (a *Alerts) Clears() bool { return a.ended != nil }

// Raise raises an alert; slot may be zero.
func (a *Alerts) Raise(kind AlertKind, slot events.SlotID, period uint64, text, hint string) {
	a.raise(Alert{Kind: kind, Subject: subjectOf(slot), Slot: subjectOf(slot), Period: period, Text: text, Hint: hint})
}

// RaiseAbout raises an alert about something that is no slot.
func (a *Alerts) RaiseAbout(kind AlertKind, subject, text, hint string) {
	a.raise(Alert{Kind: kind, Subject: subject, Text: text, Hint: hint})
}

// RaiseCause raises the alert of a cause, if the facts show the cause.
func (a *Alerts) RaiseCause(code string, slot events.SlotID, f Facts) {
	if c, so := CauseOf(code, f); so {
		alert := c.AsAlert()
		alert.Slot = subjectOf(slot)
		alert.Subject = cmp.Or(alert.Slot, alert.Subject)
		a.raise(alert)
	}
}

// Clear says that what an alert told is over; slot may be zero.
func (a *Alerts) Clear(kind AlertKind, slot events.SlotID, why string) {
	a.ClearAbout(kind, subjectOf(slot), why)
}

// ClearAbout says so of something that is no slot.
func (a *Alerts) ClearAbout(kind AlertKind, subject, why string) {
	if a.ended != nil {
		a.ended(Alert{
			Kind: kind, Host: a.base.Me.String(), Member: string(a.base.Member), Subject: subject,
			Cleared: a.base.Clock.Now(), Reason: why,
		})
	}
}

// ClearCause says that a cause that raised an alert is absent.
func (a *Alerts) ClearCause(code, why string) {
	kind := KindOf(code)
	a.ClearAbout(kind, causeSubject(code, kind), why)
}

func (a *Alerts) raise(alert Alert) {
	alert.At, alert.Host, alert.Member = a.base.Clock.Now(), a.base.Me.String(), string(a.base.Member)
	alert.Severity = cmp.Or(alert.Severity, SeverityOf(alert.Kind))
	log := a.base.Log.WithField("alert", alert.Kind)
	if alert.Slot != "" {
		log = log.WithField("slot", alert.Slot)
	}
	if alert.Hint != "" {
		log = log.WithField("hint", alert.Hint)
	}
	log.Error(alert.Text)
	if a.send != nil {
		a.send(alert)
	}
}

func subjectOf(slot events.SlotID) string {
	if slot == (events.SlotID{}) {
		return ""
	}
	return slot.String()
}

// KindOf is the kind of the alerts of a cause; empty: it raises none.
func KindOf(code string) AlertKind {
	all := slices.Concat(causes, warnings)
	if i := slices.IndexFunc(all, func(row cause) bool { return row.code == code }); i >= 0 {
		return all[i].alert
	}
	return ""
}

// causeSubject tells causes with alerts of one kind apart.
func causeSubject(code string, kind AlertKind) string {
	if code == string(kind) {
		return ""
	}
	return code
}

// AsAlert is the alert of a cause, without who raises it and when. One that keeps the host from proving is critical.
func (c Cause) AsAlert() Alert {
	severity := SeverityOf(c.Alert)
	if c.Proving == No {
		severity = SeverityCritical
	}
	subject := causeSubject(c.Code, c.Alert)
	return Alert{Kind: c.Alert, Subject: subject, Severity: severity, Text: c.Reason, Hint: c.Hint}
}

// Incident is told once until it is over.
type Incident struct {
	Told bool
	over bool // it was said that it is over
}

// Is notes whether the incident lasts; it calls tell when the incident begins.
func (i *Incident) Is(so bool, tell func()) {
	if so && !i.Told {
		tell()
	}
	i.Told = so
}

// Lasts is Is, and calls ended once when all is well: also at the first look, as it may have lasted when the process
// before this one ended. Neither so nor well: it is not known.
func (i *Incident) Lasts(so, well bool, tell, ended func()) {
	if well && !so && (i.Told || !i.over) {
		ended()
	}
	i.over = well && !so || i.over && !so
	i.Is(so, tell)
}
