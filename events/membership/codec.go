package membership

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of a host's identity are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	return []events.Entry{
		events.EntryOf("HostStarted", &messages.HostStarted{
			At: at, Epoch: 1, ChainId: 1337, Genesis: events.ExampleID, Contract: events.ExampleAddress,
			Version: "0.1.0", Node: "hostnode",
		}),
		events.EntryOf("HostStopped", &messages.HostStopped{At: at, Epoch: 1}),
		events.EntryOf("HostHeartbeat", &messages.HostHeartbeat{At: at, Epoch: 1}),
		events.EntryOf("TermTaken", &messages.TermTaken{At: at, Epoch: 1, Term: 1, Member: "north"}),
		events.EntryOf("TermEnded", &messages.TermEnded{At: at, Epoch: 1, Term: 1}),
		events.EntryOf("WorkQuarantined", &messages.WorkQuarantined{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "panic: index out of range",
		}),
		events.EntryOf("QuarantineEnded", &messages.QuarantineEnded{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "tried again by the operator",
		}),
		events.EntryOf("RecordWentBack", &messages.RecordWentBack{
			At: at, Epoch: 2, Ends: at, Seen: at,
			Streams: []*messages.ShortStream{{Stream: "sale-x", Had: 17, Has: 3}}, More: 4,
			Offers: []string{"an offer"}, Reservations: []string{"a slot"},
		}),
	}
}
