package transactions

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of an account's transactions are stored.
func Table() []events.Entry {
	entry := events.EntryOf
	at := timestamppb.New(events.Unix(1_700_000_000))
	receipt := &messages.Receipt{
		TxHash: events.ExampleID, Block: 300, BlockHash: events.ExampleID, Time: at,
		FeeWei: "600000000000000", GasUsed: 600_000,
	}
	return []events.Entry{
		entry("TxIntended", &messages.TxIntended{
			At: at, Key: "fill:0xabab:1", To: events.ExampleAddress, Data: "0x1d873c1b", Deadline: at,
		}),
		entry("TxSent", &messages.TxSent{
			At: at, Key: "fill:0xabab:1", Nonce: 7, TxHash: events.ExampleID, GasLimit: 750_000,
			FeeCapWei: "2000000000", TipCapWei: "1000000000",
		}),
		entry("TxMined", &messages.TxMined{At: at, Key: "fill:0xabab:1", Succeeded: true, Receipt: receipt}),
		entry("TxAbandoned", &messages.TxAbandoned{At: at, Key: "proof:0xabab:85000000", Reason: "the period ended"}),
		entry("TxCountObserved", &messages.TxCountObserved{At: at, Count: 9, Reason: "begun with --take-over"}),
	}
}
