package membership

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of a host's identity are stored.
func Table() []events.Entry {
	entry := events.EntryOf
	at := timestamppb.New(events.Unix(1_700_000_000))
	return []events.Entry{
		entry("HostStarted", &messages.HostStarted{
			At: at, Epoch: 1, ChainId: 1337, Genesis: events.ExampleID, Contract: events.ExampleAddress,
			Version: "0.1.0", Node: "hostnode",
		}),
		entry("SettingsChanged", &messages.SettingsChanged{
			At: at, Epoch: 1, Version: "0.1.0", Changes: []*messages.SettingChange{
				{
					Key: "alerts.webhook", After: "https://alerts.example/***", Source: "environment",
					Seal: "0123456789abcdef", Hidden: true,
				},
				{Key: "quota", Before: "20GiB", After: "30GiB", Source: "file"},
			},
		}),
		entry("HostStopped", &messages.HostStopped{At: at, Epoch: 1}),
		entry("HostHeartbeat", &messages.HostHeartbeat{At: at, Epoch: 1}),
		entry("TermTaken", &messages.TermTaken{At: at, Epoch: 1, Term: 1, Member: "north"}),
		entry("TermEnded", &messages.TermEnded{At: at, Epoch: 1, Term: 1}),
		entry("WorkQuarantined", &messages.WorkQuarantined{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "panic: index out of range",
		}),
		entry("QuarantineEnded", &messages.QuarantineEnded{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "tried again by the operator",
		}),
		entry("RecordWentBack", &messages.RecordWentBack{
			At: at, Epoch: 2, Ends: at, Seen: at,
			Streams: []*messages.ShortStream{{Stream: "sale-x", Had: 17, Has: 3}}, More: 4,
			Offers: []string{"an offer"}, Reservations: []string{"a slot"},
		}),
	}
}
