package alert

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/messages"
)

// Machine is what the record knows of alerts.
func Machine() machine.Machine {
	of := machine.Of(events.OnePerHost(events.CategoryAlert), Table, machine.Zero[State], Evolve, nil)
	return machine.Telling(of, Sentence)
}

// Sentence describes one event to a person.
func Sentence(e Event) string {
	switch e := e.(type) {
	case *messages.AlertRaised:
		what := about(e.GetSeverity(), e.GetKind(), e.GetSubject())
		return fmt.Sprintf("Alert %d, %s: %s.", e.GetNumber(), what, e.GetText())
	case *messages.AlertRepeated:
		return fmt.Sprintf("Alert %d again, %s: %s.", e.GetNumber(), e.GetSeverity(), e.GetText())
	case *messages.AlertCleared:
		return fmt.Sprintf("Alert %d is over: %s.", e.GetNumber(), e.GetReason())
	case *messages.AlertAcknowledged:
		return fmt.Sprintf("%s knows of alert %d: %s.", e.GetBy(), e.GetNumber(), e.GetNote())
	case *messages.AlertsMuted:
		return fmt.Sprintf("%s muted %s until %s: %s.", e.GetBy(), about("alerts of", e.GetKind(), e.GetSubject()),
			stamp(e.GetUntil()), e.GetReason())
	case *messages.AlertsUnmuted:
		what := about("alerts of", e.GetKind(), e.GetSubject())
		if e.GetBy() == "" {
			return "The mute of " + what + " has ended."
		}
		return fmt.Sprintf("%s had %s delivered again.", e.GetBy(), what)
	case *messages.AlertChannelsSet:
		if len(e.GetChannels()) == 0 {
			return "Alerts are delivered by no channel."
		}
		return "Alerts are delivered by " + strings.Join(e.GetChannels(), " and ") + "."
	case *messages.AlertDelivered:
		return fmt.Sprintf("%s took alert %d%s.", e.GetChannel(), e.GetNumber(), asOver(e.GetCleared()))
	case *messages.AlertUndelivered:
		return fmt.Sprintf("%s did not take alert %d%s (failures in a row: %d), and is tried again at %s: %s.",
			e.GetChannel(), e.GetNumber(), asOver(e.GetCleared()), e.GetFailures(), stamp(e.GetRetry()), e.GetReason())
	}
	panic(fmt.Sprintf("alert: unknown event %T", e))
}

// about names alerts by their kind and, if there is one, their subject.
func about(what, kind, subject string) string {
	if subject != "" {
		subject = " about " + subject
	}
	return what + " " + kind + subject
}

func asOver(cleared bool) string {
	if cleared {
		return ", as over"
	}
	return ""
}

func stamp(t *timestamppb.Timestamp) string { return events.TimeFromMessage(t).Format(time.RFC3339) }
