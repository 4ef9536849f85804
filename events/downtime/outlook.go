package downtime

import (
	"fmt"
	"slices"
	"time"
)

// What operators are told before a verdict. Nothing here decides anything: each answer is the verdict that the rules
// will give if the coming windows are as it says.

// coming is the state as it will be if, after the windows up to now, so many are offline, and then so many online.
func (s State) coming(now time.Time, offline, online int) State {
	start, length := s.Rules.start(now), s.Rules.length()
	i, _ := slices.BinarySearchFunc(s.Windows, start, byStart)
	s.Windows = slices.Clone(s.Windows[:i])
	for n := range offline + online {
		outcome := Online
		if n < offline {
			outcome = Offline
		}
		s.Windows = append(s.Windows, Window{
			Start: start + int64(n)*length, Length: length, Marks: []Mark{{Source: Probe, Outcome: outcome}},
		})
		if s.First == 0 {
			s.First = start
		}
	}
	return s
}

// after is the end of the n-th window from now, the first that is not over.
func (s State) after(now time.Time, n int) time.Time {
	return s.Rules.StartOf(now).Add(time.Duration(n) * s.Rules.WindowLength)
}

// windows is how many windows the tracking period has. After twice as many nothing depends on the past.
func (s State) windows() int { return int(s.Rules.TrackingPeriod / s.Rules.WindowLength) }

// Warning says how near a suspension is.
type Warning struct {
	More        int       `json:"more"` // windows offline in a row
	SuspendedAt time.Time `json:"suspendedAt"`
	Text        string    `json:"text"` // what the node's operator reads
}

// Warning warns of a suspension that is near; nil: it is not, or the node is away as announced.
func (s State) Warning(now time.Time) *Warning {
	quiet := !now.Before(s.Maintenance.From) && now.Before(s.Maintenance.Until)
	v := s.Judge(now)
	if s.Status != Active || s.Rules.SuspensionOff || v.Offline == 0 || quiet {
		return nil
	}
	for more := 1; more <= int(s.Rules.WarnWindows); more++ {
		if at := s.after(now, more); s.coming(now, more, 0).Judge(at).Offending {
			return &Warning{more, at, fmt.Sprintf(
				"%d of %d windows offline, %d more and you are suspended; at this rate on %s",
				v.Offline, v.Of(), more, at.Format("Monday 15:04"))}
		}
	}
	return nil
}

// Return is what a suspended node may still hope for. A time that is absent does not come.
type Return struct {
	// Deadline is when it is disqualified if it is offending then.
	Deadline time.Time `json:"deadline,omitzero"`
	// Latest is the start of the last window from which on it must be online for that not to happen.
	Latest time.Time `json:"latest,omitzero"`
	// Reinstated is when it is, before the deadline, if it is online from now on.
	Reinstated time.Time `json:"reinstated,omitzero"`
}

// Return is the outlook of a node that the windows suspended; nil: they did not.
func (s State) Return(now time.Time) *Return {
	if s.Status != Suspended || s.Held {
		return nil
	}
	r := new(Return)
	if s.Rules.Disqualification != Never {
		r.Deadline = s.Deadline()
	}
	for n := 1; n <= 2*s.windows(); n++ {
		at := s.after(now, n)
		if at.After(r.Deadline) && !r.Deadline.IsZero() {
			break
		}
		if c := s.coming(now, 0, n); !c.Judge(at).Offending && (!s.Rules.Evidence || c.onlineSince(s.SuspendedAt)) {
			r.Reinstated = at
			break
		}
	}
	left := int(s.Rules.StartOf(r.Deadline).Sub(s.Rules.StartOf(now)) / s.Rules.WindowLength)
	for away := left - 1; away >= 0 && !r.Deadline.IsZero(); away-- {
		if !s.coming(now, away, left-away).Judge(r.Deadline).Offending {
			r.Latest = s.after(now, away)
			break
		}
	}
	return r
}

// Away says how long a node may be away.
type Away struct {
	For              time.Duration
	Offline, Windows uint32 // by the end of it
}

// String is what the node's operator reads before a maintenance.
func (a Away) String() string {
	return fmt.Sprintf("you may be away %d h %d min: %d of %d",
		int(a.For.Hours()), int(a.For.Minutes())%60, a.Offline, a.Windows)
}

// MayBeAway says how long a node may be away from a time on without being suspended, if it is online until then and
// afterwards. More than two tracking periods are not looked at.
func (s State) MayBeAway(now, from time.Time) (a Away) {
	before := max(0, int(s.Rules.StartOf(from).Sub(s.Rules.StartOf(now))/s.Rules.WindowLength))
	before = min(before, 2*s.windows())
	s = s.coming(s.after(from, -before), 0, before)
	for n := range 2*s.windows() + 1 {
		v := s.coming(from, n, 0).Judge(s.after(from, n))
		if v.Offending {
			break
		}
		a = Away{time.Duration(n) * s.Rules.WindowLength, v.Offline, v.Of()}
	}
	return a
}
