package sale

import (
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file deals with what happened while the host was not watching: periods
// that owed a proof of which nothing was recorded, and collateral that shrank
// without a recorded miss.

// Settles reports whether the record is complete for a period that is over: it
// opened a duty, and that was not excused.
func (s State) Settles(period uint64) bool {
	return s.Told(period) && !s.reopens(period)
}

// reopens reports whether a period may owe a proof again although it was excused:
// only the last excused one may, because a challenge moves every 256 blocks, and
// blocks may come faster than expected.
func (s State) reopens(period uint64) bool { return s.Excused != 0 && period == s.Excused }

// lapse ends all open duties together with the hosting. The chain may take that end back.
func (s State) lapse() State {
	s.Lapsed = slices.Clone(s.Lapsed) // Periods that lapsed earlier and were not reported since stay in the list.
	for _, d := range s.Duties {
		s.Lapsed = append(s.Lapsed, d.Period)
	}
	s.Duties, s.Unchecked = nil, nil
	return s
}

// reopenLapsed removes the duties that lapsed with an end that was taken back from
// the periods that count as told: they are owed again.
func (s State) reopenLapsed() State {
	for _, period := range s.Lapsed {
		s.Periods = s.Reopen(period)
	}
	return s
}

// decideSilent records a period that is over, owed a proof and never opened a duty.
func decideSilent(s State, c ReportSilentPeriod) []Event {
	if !s.Owes() || s.Settles(c.Period) || !c.At.After(c.Deadline) {
		return nil
	}
	if _, open := s.OpenDuty(c.Period); open {
		return nil
	}
	return []Event{
		&messages.ProofDue{
			Period: c.Period, Challenge: c.Challenge.String(), Deadline: events.TimeToMessage(c.Deadline),
		},
		&messages.ProofMissed{Period: c.Period, Reason: text(c.Reason)},
	}
}

// decideShrunk records that the contract holds less than the record says. While a
// duty is open, or the cost of a miss is still to be read, that reading will
// record it; but not when the request has ended, because then there is no such
// reading.
func decideShrunk(s State, c ReportChain, ended bool) []Event {
	if !c.Facts.Collateral.Less(s.Collateral) || !ended && len(s.Duties)+len(s.Unchecked) > 0 {
		return nil
	}
	period := uint64(0) // No recorded miss explains it.
	if len(s.Unchecked) > 0 {
		period = slices.Max(s.Unchecked)
	}
	return []Event{reading(s, period, c.Facts.Collateral)}
}

// Reading is an event that says what the contract holds, and how much it took since
// the reading before.
type Reading interface {
	Event
	GetPeriod() uint64
	GetCollateral() string
	GetSlashed() string
}

// held is what the contract held when last asked; for an adopted slot whose fill is not
// recorded yet, what the request demands.
func (s State) held() events.Amount {
	if ask := s.Request.Ask; s.BeforeFill() && s.Adopted && s.Collateral.IsZero() {
		return ask.CollateralPerByte.MulSaturating(uint64(ask.SlotSize))
	}
	return s.Collateral
}

// reading says what the contract holds now.
func reading(s State, period uint64, holds events.Amount) Event {
	if slashed := s.held().SubFloor(holds); !slashed.IsZero() {
		return &messages.CollateralSlashed{Period: period, Collateral: holds.String(), Slashed: slashed.String()}
	}
	return &messages.CollateralChecked{Period: period, Collateral: holds.String(), Slashed: "0"}
}

// OpenDuty is the open duty of a period.
func (s State) OpenDuty(period uint64) (Duty, bool) {
	for _, d := range s.Duties {
		if d.Period == period {
			return d, true
		}
	}
	return Duty{}, false
}
