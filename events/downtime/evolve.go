package downtime

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// At is when an event happened.
func At(e Event) time.Time {
	return events.TimeFromMessage(e.(interface{ GetAt() *timestamppb.Timestamp }).GetAt())
}

// Evolve folds one event.
func Evolve(s State, e Event) State {
	at := At(e)
	if at.After(s.Latest) {
		s.Latest = at
	}
	switch e := e.(type) {
	case *messages.NodeJoined:
		s.Status, s.Since, s.Rules = Active, at, rulesOf(e.GetRules())
		s = s.begin(at)
	case *messages.NodeRulesChanged:
		was := s.Rules
		if s.Rules = rulesOf(e.GetRules()); s.Rules.WindowLength != was.WindowLength {
			s = s.begin(at)
		}
	case *messages.NodeExited:
		s.Status, s.Since = Exited, at
	case *messages.WindowClosed, *messages.WindowRevised:
		return s.fill(e.(filled)).cleanup(at)
	case *messages.WindowsVoided:
		return s.void(Asked(e).(Void)).cleanup(at)
	case *messages.NodeSuspended:
		if s.Status != Suspended { // A person who holds a suspension does not move its clock.
			s.Status, s.Since, s.SuspendedAt = Suspended, at, at
		}
		s.Held = e.GetBy() != ""
	case *messages.NodeReinstated:
		s.Status, s.Since = Active, at
		s.SuspendedAt, s.Proposed, s.Held = time.Time{}, false, false
		if e.GetBy() != "" {
			s.Review, s.CountFrom = time.Time{}, at
		}
	case *messages.NodeDisqualified:
		s.Status, s.Since = Disqualified, at
		s.SuspendedAt, s.Review, s.Proposed, s.Held = time.Time{}, time.Time{}, false, false
	case *messages.DisqualificationProposed:
		s.Proposed = true
	case *messages.ReviewStarted:
		s.Review = s.SuspendedAt
	case *messages.ReviewEnded:
		s.Review = time.Time{}
	case *messages.MaintenanceAnnounced:
		s.Maintenance = Asked(e).(Maintain)
	}
	return s
}

// begin has windows count from the first one that begins then or later. Of an earlier one only a part was watched, in
// which the node may have been away by chance.
func (s State) begin(at time.Time) State {
	s.Begins, s.First = s.Rules.start(at.Add(s.Rules.WindowLength-1)), 0
	return s
}

// ruled is an event with rules.
type ruled interface{ GetRules() *messages.NodeRules }

// filled is an event with audits of a window.
type filled interface {
	GetStart() *timestamppb.Timestamp
	GetLengthSeconds() uint64
	GetAudits() []*messages.NodeAudit
}

// fill adds audits to a window.
func (s State) fill(e filled) State {
	w := Window{Start: e.GetStart().AsTime().Unix(), Length: int64(e.GetLengthSeconds())}
	i, known := slices.BinarySearchFunc(s.Windows, w.Start, byStart)
	s.Windows = slices.Clone(s.Windows)
	if known {
		w = s.Windows[i]
	} else {
		s.Windows = slices.Insert(s.Windows, i, w)
	}
	for _, a := range e.GetAudits() {
		w, _ = w.add(auditOf(a).mark())
	}
	s.Windows[i] = w
	if w.Start >= s.Begins && (s.First == 0 || w.Start < s.First) {
		s.First = w.Start
	}
	return s
}

// cleanup forgets what is needed no longer, neither for verdicts nor for the clock of a review.
func (s State) cleanup(at time.Time) State {
	s.Windows = s.Rules.Cleanup(s.Windows, at)
	since := time.Unix(s.Rules.bound(at), 0)
	if begun := s.clock(); !begun.IsZero() && begun.Before(since) {
		since = begun
	}
	s.Voids = slices.DeleteFunc(slices.Clone(s.Voids), func(v Voided) bool { return v.Until.Before(since) })
	return s
}

func (s State) void(c Void) State {
	if s.Voids = slices.Clone(s.Voids); c.Lifted {
		s.Voids = slices.DeleteFunc(s.Voids, c.same)
		return s
	}
	v := Voided{c.From, c.Until, c.Reason, c.All}
	i, _ := slices.BinarySearchFunc(s.Voids, v, func(a, b Voided) int { return a.From.Compare(b.From) })
	s.Voids = slices.Insert(s.Voids, i, v)
	return s
}

func auditOf(a *messages.NodeAudit) Audit {
	return Audit{
		ID: a.GetId(), Source: Source(slices.Index(sources, a.GetSource())),
		Outcome: Outcome(slices.Index(outcomes, a.GetOutcome())), Time: events.TimeFromMessage(a.GetTime()),
		Version: a.GetVersion(),
	}
}

// Asked is the command that brings an event: Decide of it, in the state before the event, begins with that event.
func Asked(e Event) Command {
	at := At(e)
	decided := func(to Status, by, reason string) Command {
		if by == "" {
			return Judge{at}
		}
		return Force{at, to, by, reason}
	}
	switch e := e.(type) {
	case *messages.NodeJoined, *messages.NodeRulesChanged:
		return Join{at, rulesOf(e.(ruled).GetRules())}
	case *messages.NodeExited:
		return Force{at, Exited, e.GetBy(), e.GetReason()}
	case *messages.WindowClosed, *messages.WindowRevised:
		c := Write{At: at}
		for _, a := range e.(filled).GetAudits() {
			c.Audits = append(c.Audits, auditOf(a))
		}
		return c
	case *messages.WindowsVoided:
		return Void{
			At: at, From: events.TimeFromMessage(e.GetFrom()), Until: events.TimeFromMessage(e.GetUntil()),
			Reason: e.GetReason(), All: e.GetAll(), Lifted: e.GetLifted(),
		}
	case *messages.NodeSuspended:
		return decided(Suspended, e.GetBy(), e.GetReason())
	case *messages.NodeReinstated:
		return decided(Active, e.GetBy(), e.GetReason())
	case *messages.NodeDisqualified:
		return decided(Disqualified, e.GetBy(), e.GetReason())
	case *messages.DisqualificationProposed, *messages.ReviewStarted, *messages.ReviewEnded:
		return Judge{at}
	case *messages.MaintenanceAnnounced:
		return Maintain{
			At: at, From: events.TimeFromMessage(e.GetFrom()), Until: events.TimeFromMessage(e.GetUntil()),
			By: e.GetBy(), Reason: e.GetReason(),
		}
	}
	return nil
}
