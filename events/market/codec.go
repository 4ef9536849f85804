package market

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of the market stream are stored.
func Table() []events.Entry {
	entry := events.EntryOf
	at := timestamppb.New(events.Unix(1_700_000_000))
	log := &messages.ChainLog{Block: 300, BlockHash: events.ExampleID, Index: 1, TxHash: events.ExampleID, Time: at}
	request := &messages.Request{
		Id: events.ExampleID, Client: events.ExampleAddress, ProofProbability: "4", PricePerBytePerSecond: "1",
		CollateralPerByte: "2", Slots: 3, SlotSize: 65536, DurationSeconds: 3600, MaxSlotLoss: 1,
		Cid: "0x01819a03", MerkleRoot: events.ExampleID, ExpirySeconds: 600, Nonce: events.ExampleID,
	}
	return []events.Entry{
		entry("ChainStorageRequested", &messages.ChainStorageRequested{
			RequestId: events.ExampleID, Request: request, ExpiresAt: at, Log: log,
		}),
		entry("ChainRequestFulfilled", &messages.ChainRequestFulfilled{RequestId: events.ExampleID, Log: log}),
		entry("ChainRequestFailed", &messages.ChainRequestFailed{RequestId: events.ExampleID, Log: log}),
		entry("ChainRequestCancelled", &messages.ChainRequestCancelled{RequestId: events.ExampleID, Log: log}),
		entry("ChainSlotFilled", &messages.ChainSlotFilled{RequestId: events.ExampleID, SlotIndex: 1, Log: log}),
		entry("ChainSlotFreed", &messages.ChainSlotFreed{RequestId: events.ExampleID, SlotIndex: 1, Log: log}),
		entry("ChainSlotReservationsFull", &messages.ChainSlotReservationsFull{
			RequestId: events.ExampleID, SlotIndex: 1, Log: log,
		}),
		entry("ChainProofSubmitted", &messages.ChainProofSubmitted{SlotId: events.ExampleID, Log: log}),
		entry("BlocksScanned", &messages.BlocksScanned{Number: 300, Hash: events.ExampleID, Time: at}),
		entry("ChainReorganized", &messages.ChainReorganized{
			Ancestor: 299, AncestorHash: events.ExampleID, Dropped: []string{events.ExampleID},
		}),
	}
}
