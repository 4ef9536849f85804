package validation

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of a validator are stored.
func Table() []events.Entry {
	entry := events.EntryOf
	at := timestamppb.New(events.Unix(1_700_000_000))
	receipt := &messages.Receipt{
		TxHash: events.ExampleID, Block: 300, BlockHash: events.ExampleID, Time: at,
		FeeWei: "165000000000000", GasUsed: 165_000,
	}
	return []events.Entry{
		entry("ValidationStarted", &messages.ValidationStarted{At: at, MaxSlots: 1000, Groups: 4, GroupIndex: 1}),
		entry("ProofMarked", &messages.ProofMarked{
			At: at, RequestId: events.ExampleID, SlotId: events.ExampleID, SlotIndex: 1, Period: 85_000_000,
			Reward: "4000", Receipt: receipt,
		}),
		entry("MarkingFailed", &messages.MarkingFailed{
			At: at, RequestId: events.ExampleID, SlotId: events.ExampleID, SlotIndex: 1, Period: 85_000_000,
			Reason: "the window closed before the transaction was mined",
		}),
	}
}
