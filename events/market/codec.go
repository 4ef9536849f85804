package market

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of the market stream are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	log := &messages.ChainLog{Block: 300, BlockHash: events.ExampleID, Index: 1, TxHash: events.ExampleID, Time: at}
	request := &messages.Request{
		Id: events.ExampleID, Client: events.ExampleAddress, ProofProbability: "4", PricePerBytePerSecond: "1",
		CollateralPerByte: "2", Slots: 3, SlotSize: 65536, DurationSeconds: 3600, MaxSlotLoss: 1,
		Cid: "0x01819a03", MerkleRoot: events.ExampleID, ExpirySeconds: 600, Nonce: events.ExampleID,
	}
	return []events.Entry{
		events.EntryOf("ChainStorageRequested", &messages.ChainStorageRequested{
			RequestId: events.ExampleID, Request: request, ExpiresAt: at, Log: log,
		}),
		events.EntryOf("ChainRequestFulfilled", &messages.ChainRequestFulfilled{RequestId: events.ExampleID, Log: log}),
		events.EntryOf("ChainRequestFailed", &messages.ChainRequestFailed{RequestId: events.ExampleID, Log: log}),
		events.EntryOf("ChainRequestCancelled", &messages.ChainRequestCancelled{RequestId: events.ExampleID, Log: log}),
		events.EntryOf("ChainSlotFilled", &messages.ChainSlotFilled{RequestId: events.ExampleID, SlotIndex: 1, Log: log}),
		events.EntryOf("ChainSlotFreed", &messages.ChainSlotFreed{RequestId: events.ExampleID, SlotIndex: 1, Log: log}),
		events.EntryOf("ChainSlotReservationsFull", &messages.ChainSlotReservationsFull{
			RequestId: events.ExampleID, SlotIndex: 1, Log: log,
		}),
		events.EntryOf("ChainProofSubmitted", &messages.ChainProofSubmitted{SlotId: events.ExampleID, Log: log}),
		events.EntryOf("BlocksScanned", &messages.BlocksScanned{Number: 300, Hash: events.ExampleID, Time: at}),
		events.EntryOf("ChainReorganized", &messages.ChainReorganized{
			Ancestor: 299, AncestorHash: events.ExampleID, Dropped: []string{events.ExampleID},
		}),
	}
}
