package audit

import (
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// This file compares what a sale owed with what became of it: each duty must end exactly once.

// lapse ends all duties, and the readings that misses would lead to. What they
// would have shown stays unknown.
func (l *account) lapse() {
	l.Doubt = l.Doubt || len(l.Duties)+len(l.Unchecked) > 0
	l.Lapsed = append(l.Lapsed, sortedKeys(l.Duties)...) // After an end that another one followed, both are taken back.
	l.Duties, l.Unchecked = nil, nil
}

// closeAll lets all duties lapse because the request is over. A duty whose
// deadline had passed by then should have been closed before.
func (a *auditor) closeAll(l *life, at time.Time) {
	for _, period := range sortedKeys(l.Duties) {
		if d := l.Duties[period]; !d.Deadline.IsZero() && d.Deadline.Before(at) {
			a.find(ProofUnclosed, d.At, "the proof of period %d was due until %s; the request was over at %s, "+
				"and nothing says what became of the proof", period, clock(d.Deadline), clock(at))
		}
	}
	l.lapse()
}

func (a *auditor) followProof(l *life, p place, e sale.Event) {
	switch e := e.(type) {
	case *messages.ProofDue:
		_, open := l.Duties[e.GetPeriod()]
		if !open && l.closed(e.GetPeriod()) {
			a.find(ProofDueAgain, p, "a proof of period %d is due again, or long after period %d",
				e.GetPeriod(), l.Periods.LastPeriod)
		}
		deadline := events.TimeFromMessage(e.GetDeadline())
		if !open {
			l.open(e.GetPeriod(), events.TimeFromMessage(e.GetAt()).After(deadline))
		}
		if l.Duties == nil {
			l.Duties = map[uint64]duty{}
		}
		l.Duties[e.GetPeriod()] = duty{deadline, p}
	case *messages.ProofSubmitted:
		a.closeDuty(l, p, e.GetPeriod(), "submitted")
	case *messages.ProofExcused:
		a.explained(p, e.GetPeriod(), "excused", e.GetReason())
		a.closeDuty(l, p, e.GetPeriod(), "excused")
		l.Excused = e.GetPeriod()
	case *messages.ProofMissed:
		d, open := l.Duties[e.GetPeriod()]
		if at := events.TimeFromMessage(e.GetAt()); open && !at.After(d.Deadline) {
			a.find(ProofMissedEarly, p, "period %d was missed at %s, its deadline is %s",
				e.GetPeriod(), clock(at), clock(d.Deadline))
		}
		a.explained(p, e.GetPeriod(), "missed", e.GetReason())
		a.closeDuty(l, p, e.GetPeriod(), "missed")
		if l.Unchecked == nil {
			l.Unchecked = map[uint64]bool{}
		}
		l.Unchecked[e.GetPeriod()] = true
	case sale.Reading:
		_, slashed := e.(*messages.CollateralSlashed)
		if slashed && amount(e.GetSlashed()).IsZero() && amount(e.GetCollateral()) == l.Held {
			a.find(CollateralCheck, p, "after period %d it is called slashed, and nothing was taken", e.GetPeriod())
		}
		a.followReading(l, p, e)
	}
}

// followReading compares what the contract holds now with what it held before.
func (a *auditor) followReading(l *life, p place, e sale.Reading) {
	now := amount(e.GetCollateral())
	slashed := l.Held.SubFloor(now)
	// Period 0: no recorded miss explains what was slashed.
	explained := l.Unchecked[e.GetPeriod()] || e.GetPeriod() == 0 && !slashed.IsZero()
	if !explained || slashed.String() != e.GetSlashed() {
		a.find(CollateralCheck, p, "after period %d the contract held %s, it says slashed by %s; "+
			"it held %s before, and the period was missed: %t",
			e.GetPeriod(), now, e.GetSlashed(), l.Held, l.Unchecked[e.GetPeriod()])
	}
	if l.Held.Less(now) {
		a.find(CollateralExcess, p, "the contract held %s, and %s after period %d", l.Held, now, e.GetPeriod())
	}
	delete(l.Unchecked, e.GetPeriod())
	l.Held = now
}

// closed reports whether a period owes nothing any more: it was closed for good, or
// is too long ago to be remembered.
func (l *account) closed(period uint64) bool {
	return l.Periods.Told(period) && (l.Excused == 0 || period != l.Excused)
}

// open notes that a period opened a duty; late says that it was over by then.
func (l *account) open(period uint64, late bool) {
	l.Periods = l.Periods.Open(period, late)
	if l.Excused == period {
		l.Excused = 0
	}
}

func (a *auditor) explained(p place, period uint64, how, reason string) {
	if strings.TrimSpace(reason) == "" {
		a.find(ProofUnexplained, p, "the proof of period %d was %s, and there is no reason", period, how)
	}
}

func (a *auditor) closeDuty(l *life, p place, period uint64, how string) {
	if _, open := l.Duties[period]; !open {
		a.find(ProofNotDue, p, "the proof of period %d was %s, but none was due", period, how)
	}
	delete(l.Duties, period)
}
