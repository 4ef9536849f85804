package alert_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/messages"
)

func TestEachEventIsToldInASentence(t *testing.T) {
	later := timestamppb.New(began.Add(time.Hour))
	for _, c := range []struct {
		event alert.Event
		want  string
	}{
		{
			&messages.AlertRaised{Number: 1, Severity: "critical", Kind: "slot-damaged", Subject: "0x12", Text: "it is gone"},
			"Alert 1, critical slot-damaged about 0x12: it is gone.",
		},
		{
			&messages.AlertRaised{Number: 2, Severity: "warning", Kind: "disk-full", Text: "1 GiB is left"},
			"Alert 2, warning disk-full: 1 GiB is left.",
		},
		{&messages.AlertRepeated{Number: 1, Severity: "critical", Text: "it is gone"}, "Alert 1 again, critical: it is gone."},
		{&messages.AlertCleared{Number: 1, Reason: "it is sound"}, "Alert 1 is over: it is sound."},
		{&messages.AlertAcknowledged{Number: 1, By: "anna", Note: "on my way"}, "anna knows of alert 1: on my way."},
		{
			&messages.AlertsMuted{By: "anna", Kind: "disk-full", Until: later, Reason: "a new disk"},
			"anna muted alerts of disk-full until 2023-11-14T23:13:20Z: a new disk.",
		},
		{&messages.AlertsUnmuted{Kind: "disk-full"}, "The mute of alerts of disk-full has ended."},
		{&messages.AlertsUnmuted{By: "anna", Kind: "disk-full"}, "anna had alerts of disk-full delivered again."},
		{&messages.AlertChannelsSet{}, "Alerts are delivered by no channel."},
		{&messages.AlertChannelsSet{Channels: []string{"command", "webhook"}}, "Alerts are delivered by command and webhook."},
		{&messages.AlertDelivered{Channel: "webhook", Number: 1}, "webhook took alert 1."},
		{
			&messages.AlertUndelivered{Channel: "webhook", Number: 1, Cleared: true, Failures: 2, Retry: later, Reason: "500"},
			"webhook did not take alert 1, as over (failures in a row: 2), and is tried again at 2023-11-14T23:13:20Z: 500.",
		},
	} {
		if got := alert.Sentence(c.event); got != c.want {
			t.Errorf("%s: %q, want %q", c.event.ProtoReflect().Descriptor().Name(), got, c.want)
		}
	}
}
