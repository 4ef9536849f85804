package alert

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	entry := func(name string, example Event) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: check}
	}
	const kind, channel = "slot-damaged", "webhook"
	return []events.Entry{
		entry("AlertRaised", &messages.AlertRaised{
			At: at, Number: 1, Kind: kind, Member: "north", Subject: events.ExampleID, Since: at, Severity: "warning",
			Text: "data is damaged", Hint: "check the disk", Slot: events.ExampleID, Period: 7, Moment: true,
		}),
		entry("AlertRepeated", &messages.AlertRepeated{
			At: at, Number: 1, Severity: "critical", Text: "it is gone", Hint: "check the disk", Period: 8,
		}),
		entry("AlertCleared", &messages.AlertCleared{At: at, Number: 1, Reason: "it is sound again"}),
		entry("AlertAcknowledged", &messages.AlertAcknowledged{At: at, Number: 1, By: "anna", Note: "on my way"}),
		entry("AlertsMuted", &messages.AlertsMuted{
			At: at, Kind: kind, Subject: events.ExampleID, Until: at, By: "anna", Reason: "a new disk",
		}),
		entry("AlertsUnmuted", &messages.AlertsUnmuted{At: at, Kind: kind, Subject: events.ExampleID, By: "anna"}),
		entry("AlertChannelsSet", &messages.AlertChannelsSet{At: at, Channels: []string{"command", channel}}),
		entry("AlertDelivered", &messages.AlertDelivered{At: at, Number: 1, Channel: channel, Cleared: true}),
		entry("AlertUndelivered", &messages.AlertUndelivered{
			At: at, Number: 1, Channel: channel, Cleared: true, Failures: 2, Retry: at, Reason: "the answer is 500",
		}),
	}
}

// check refuses what no command could have brought, so that folding meets only what can be folded.
func check(m proto.Message) error {
	if err := events.CheckDated(m); err != nil {
		return err
	}
	numbered, ok := m.(interface{ GetNumber() uint64 })
	switch severe, has := m.(interface{ GetSeverity() string }); {
	case ok && numbered.GetNumber() == 0:
		return fmt.Errorf("%w: it does not say which alert", events.ErrMalformed)
	case has && severityOf(severe.GetSeverity()).String() != severe.GetSeverity():
		return fmt.Errorf("%w: there is no severity %.20q", events.ErrMalformed, severe.GetSeverity())
	}
	return nil
}
