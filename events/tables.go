package events

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/messages"
)

const (
	exampleID      = "0xabababababababababababababababababababababababababababababababab"
	exampleAddress = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
)

func entryOf(name string, example proto.Message) Entry {
	return Entry{Name: name, Version: 1, Example: example, Check: CheckMessage}
}

// MarketTable is how the events of the market stream are stored.
func MarketTable() []Entry {
	at := timestamppb.New(Unix(1_700_000_000))
	log := &messages.ChainLog{Block: 300, BlockHash: exampleID, Index: 1, TxHash: exampleID, Time: at}
	request := &messages.Request{
		Id: exampleID, Client: exampleAddress, ProofProbability: "4", PricePerBytePerSecond: "1",
		CollateralPerByte: "2", Slots: 3, SlotSize: 65536, DurationSeconds: 3600, MaxSlotLoss: 1,
		Cid: "0x01819a03", MerkleRoot: exampleID, ExpirySeconds: 600, Nonce: exampleID,
	}
	return []Entry{
		entryOf("ChainStorageRequested", &messages.ChainStorageRequested{
			RequestId: exampleID, Request: request, ExpiresAt: at, Log: log,
		}),
		entryOf("ChainRequestFulfilled", &messages.ChainRequestFulfilled{RequestId: exampleID, Log: log}),
		entryOf("ChainRequestFailed", &messages.ChainRequestFailed{RequestId: exampleID, Log: log}),
		entryOf("ChainRequestCancelled", &messages.ChainRequestCancelled{RequestId: exampleID, Log: log}),
		entryOf("ChainSlotFilled", &messages.ChainSlotFilled{RequestId: exampleID, SlotIndex: 1, Log: log}),
		entryOf("ChainSlotFreed", &messages.ChainSlotFreed{RequestId: exampleID, SlotIndex: 1, Log: log}),
		entryOf("ChainSlotReservationsFull", &messages.ChainSlotReservationsFull{
			RequestId: exampleID, SlotIndex: 1, Log: log,
		}),
		entryOf("ChainProofSubmitted", &messages.ChainProofSubmitted{SlotId: exampleID, Log: log}),
		entryOf("BlocksScanned", &messages.BlocksScanned{Number: 300, Hash: exampleID, Time: at}),
		entryOf("ChainReorganized", &messages.ChainReorganized{
			Ancestor: 299, AncestorHash: exampleID, Dropped: []string{exampleID},
		}),
	}
}

// HostTable is how the events of a host's identity are stored.
func HostTable() []Entry {
	at := timestamppb.New(Unix(1_700_000_000))
	return []Entry{
		entryOf("HostStarted", &messages.HostStarted{
			At: at, Epoch: 1, ChainId: 1337, Genesis: exampleID, Contract: exampleAddress,
			Version: "0.1.0", Node: "hostnode",
		}),
		entryOf("HostStopped", &messages.HostStopped{At: at, Epoch: 1}),
		entryOf("HostHeartbeat", &messages.HostHeartbeat{At: at, Epoch: 1}),
		entryOf("TermTaken", &messages.TermTaken{At: at, Epoch: 1, Term: 1, Member: "north"}),
		entryOf("TermEnded", &messages.TermEnded{At: at, Epoch: 1, Term: 1}),
		entryOf("WorkQuarantined", &messages.WorkQuarantined{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "panic: index out of range",
		}),
		entryOf("QuarantineEnded", &messages.QuarantineEnded{
			At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "tried again by the operator",
		}),
		entryOf("RecordWentBack", &messages.RecordWentBack{
			At: at, Epoch: 2, Ends: at, Seen: at,
			Streams: []*messages.ShortStream{{Stream: "sale-x", Had: 17, Has: 3}}, More: 4,
			Offers: []string{"an offer"}, Reservations: []string{"a slot"},
		}),
	}
}

// ValidatorTable is how the events of a validator are stored.
func ValidatorTable() []Entry {
	at := timestamppb.New(Unix(1_700_000_000))
	receipt := &messages.Receipt{
		TxHash: exampleID, Block: 300, BlockHash: exampleID, Time: at, FeeWei: "165000000000000", GasUsed: 165_000,
	}
	return []Entry{
		entryOf("ValidationStarted", &messages.ValidationStarted{At: at, MaxSlots: 1000, Groups: 4, GroupIndex: 1}),
		entryOf("ProofMarked", &messages.ProofMarked{
			At: at, RequestId: exampleID, SlotId: exampleID, SlotIndex: 1, Period: 85_000_000,
			Reward: "4000", Receipt: receipt,
		}),
		entryOf("MarkingFailed", &messages.MarkingFailed{
			At: at, RequestId: exampleID, SlotId: exampleID, SlotIndex: 1, Period: 85_000_000,
			Reason: "the window closed before the transaction was mined",
		}),
	}
}

// ProofsTable is how the proofs of a member on their way to the owner are stored.
func ProofsTable() []Entry {
	return []Entry{
		entryOf("ProofReady", &messages.ProofReady{
			SlotId: exampleID, Period: 85_000_000, Challenge: exampleID, Deadline: timestamppb.New(Unix(1_700_000_000)),
			Proof: Proof{{31: 1}}.String(),
		}),
	}
}

// TxTable is how the events of an account's transactions are stored.
func TxTable() []Entry {
	at := timestamppb.New(Unix(1_700_000_000))
	receipt := &messages.Receipt{
		TxHash: exampleID, Block: 300, BlockHash: exampleID, Time: at, FeeWei: "600000000000000", GasUsed: 600_000,
	}
	return []Entry{
		entryOf("TxIntended", &messages.TxIntended{
			At: at, Key: "fill:0xabab:1", To: exampleAddress, Data: "0x1d873c1b", Deadline: at,
		}),
		entryOf("TxSent", &messages.TxSent{
			At: at, Key: "fill:0xabab:1", Nonce: 7, TxHash: exampleID, GasLimit: 750_000,
			FeeCapWei: "2000000000", TipCapWei: "1000000000",
		}),
		entryOf("TxMined", &messages.TxMined{At: at, Key: "fill:0xabab:1", Succeeded: true, Receipt: receipt}),
		entryOf("TxAbandoned", &messages.TxAbandoned{At: at, Key: "proof:0xabab:85000000", Reason: "the period ended"}),
		entryOf("TxCountObserved", &messages.TxCountObserved{At: at, Count: 9, Reason: "begun with --take-over"}),
	}
}
