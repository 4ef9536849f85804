package alert

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Evolve folds the next event.
func Evolve(s State, event Event) State {
	at := At(event)
	s.Latest = at
	switch e := event.(type) {
	case *messages.AlertRaised:
		s.Raised = e.GetNumber()
		s.Alerts = append(slices.Clip(s.Alerts), Alert{
			Number: e.GetNumber(), Key: Key{e.GetKind(), e.GetMember(), e.GetSubject()},
			Since: events.TimeFromMessage(e.GetSince()), Last: at, Severity: severityOf(e.GetSeverity()),
			Text: e.GetText(), Hint: e.GetHint(), Slot: e.GetSlot(), Period: e.GetPeriod(), Moment: e.GetMoment(),
		})
	case *messages.AlertRepeated:
		s = s.change(e.GetNumber(), func(a *Alert) {
			if worse := severityOf(e.GetSeverity()); worse > a.Severity {
				a.Acknowledged, a.By, a.Note = time.Time{}, "", ""
			}
			a.Severity, a.Text, a.Hint = severityOf(e.GetSeverity()), e.GetText(), e.GetHint()
			a.Period, a.Last, a.Times = e.GetPeriod(), at, a.Times+1
		})
	case *messages.AlertCleared:
		s = s.change(e.GetNumber(), func(a *Alert) { s.clear(a, at, e.GetReason()) })
	case *messages.AlertAcknowledged:
		s = s.change(e.GetNumber(), func(a *Alert) {
			if a.Acknowledged, a.By, a.Note = at, e.GetBy(), e.GetNote(); a.Moment {
				s.clear(a, at, "acknowledged by "+a.By+": "+a.Note)
			}
		})
	case *messages.AlertsMuted:
		s.Mutes = append(s.unmuted(e.GetKind(), e.GetSubject()), Mute{
			e.GetKind(), e.GetSubject(), events.TimeFromMessage(e.GetUntil()), e.GetBy(), e.GetReason(),
		})
	case *messages.AlertsUnmuted:
		s.Mutes = s.unmuted(e.GetKind(), e.GetSubject())
	case *messages.AlertChannelsSet:
		known := s.Channels
		s.Channels = nil
		for _, name := range e.GetChannels() {
			c := Channel{Name: name}
			if i := slices.IndexFunc(known, func(k Channel) bool { return k.Name == name }); i >= 0 {
				c = known[i]
			}
			s.Channels = append(s.Channels, c)
		}
		s.Alerts = s.wanted()
	case *messages.AlertDelivered:
		s = s.channel(Channel{Name: e.GetChannel()})
		s = s.tell(e.GetNumber(), e.GetChannel(), func(a Alert, t *Told) {
			if t.Cleared = e.GetCleared(); !t.Cleared {
				t.Severity, t.Times = a.Severity, a.Times
			}
		})
	case *messages.AlertUndelivered:
		s = s.channel(Channel{
			e.GetChannel(), e.GetFailures(), events.TimeFromMessage(e.GetRetry()), e.GetReason(),
		})
		s = s.tell(e.GetNumber(), e.GetChannel(), func(_ Alert, t *Told) { t.Tries++ })
	}
	return s
}

// At is the time of an event.
func At(e Event) time.Time {
	m, _ := e.(interface{ GetAt() *timestamppb.Timestamp })
	return events.TimeFromMessage(m.GetAt())
}

func (s State) clear(a *Alert, at time.Time, reason string) {
	a.Hushed = !a.Acknowledged.IsZero() || s.Muted(a.Key)
	a.Cleared, a.Reason = at, reason
}

// change changes an alert, and drops it when it is done with.
func (s State) change(number uint64, how func(*Alert)) State {
	s.Alerts = slices.Clone(s.Alerts)
	for i := range s.Alerts {
		if s.Alerts[i].Number == number {
			how(&s.Alerts[i])
		}
	}
	s.Alerts = s.wanted()
	return s
}

// wanted are the alerts that are open, or of which a channel is still to be told.
func (s State) wanted() []Alert {
	return slices.DeleteFunc(slices.Clone(s.Alerts), func(a Alert) bool {
		return !a.Open() && !slices.ContainsFunc(s.Channels, func(c Channel) bool { return s.due(a, c.Name) })
	})
}

func (s State) tell(number uint64, channel string, how func(Alert, *Told)) State {
	return s.change(number, func(a *Alert) {
		t := a.told(channel)
		how(*a, &t)
		a.Told = append(slices.DeleteFunc(slices.Clone(a.Told), func(t Told) bool { return t.Channel == channel }), t)
	})
}

func (s State) channel(is Channel) State {
	s.Channels = slices.Clone(s.Channels)
	for i, c := range s.Channels {
		if c.Name == is.Name {
			s.Channels[i] = is
		}
	}
	return s
}

func (s State) unmuted(kind, subject string) []Mute {
	return slices.DeleteFunc(slices.Clone(s.Mutes), func(m Mute) bool { return m.Kind == kind && m.Subject == subject })
}

// Asked is the command that an event follows from, for whatever judges the record.
func Asked(s State, event Event) Command {
	at := At(event)
	switch e := event.(type) {
	case *messages.AlertRaised:
		return Raise{
			Key: Key{e.GetKind(), e.GetMember(), e.GetSubject()}, At: at, Since: events.TimeFromMessage(e.GetSince()),
			Severity: severityOf(e.GetSeverity()), Text: e.GetText(), Hint: e.GetHint(), Slot: e.GetSlot(),
			Period: e.GetPeriod(), Moment: e.GetMoment(),
		}
	case *messages.AlertRepeated:
		a, _ := s.Of(e.GetNumber())
		return Raise{
			Key: a.Key, At: at, Severity: severityOf(e.GetSeverity()), Text: e.GetText(), Hint: e.GetHint(),
			Period: e.GetPeriod(),
		}
	case *messages.AlertCleared:
		a, _ := s.Of(e.GetNumber())
		return Clear{a.Key, at, e.GetReason()}
	case *messages.AlertAcknowledged:
		return Acknowledge{at, e.GetNumber(), e.GetBy(), e.GetNote()}
	case *messages.AlertsMuted:
		return SetMute{at, Mute{
			e.GetKind(), e.GetSubject(), events.TimeFromMessage(e.GetUntil()), e.GetBy(), e.GetReason(),
		}}
	case *messages.AlertsUnmuted:
		if e.GetBy() == "" {
			return Tick{at}
		}
		return Unmute{at, e.GetKind(), e.GetSubject(), e.GetBy()}
	case *messages.AlertChannelsSet:
		return SetChannels{at, e.GetChannels()}
	case *messages.AlertDelivered:
		a, _ := s.Of(e.GetNumber())
		c := Delivery{Alert: a, Channel: e.GetChannel()}.Outcome(at, "")
		c.Number, c.Cleared = e.GetNumber(), e.GetCleared() // It may have been cleared since.
		return c
	case *messages.AlertUndelivered:
		return Outcome{ // By the clock, which may have been set back before the time of the event.
			At:     events.TimeFromMessage(e.GetRetry()).Add(-pause(e.GetFailures())),
			Number: e.GetNumber(), Channel: e.GetChannel(), Cleared: e.GetCleared(), Failed: e.GetReason(),
		}
	}
	return nil
}
