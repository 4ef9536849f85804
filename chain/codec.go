package chain

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// TxEvents is the codec table of an account's stream: the stored names of what the
// transaction manager records. The names never change.
func TxEvents() []events.Entry {
	entry := func(name string, example proto.Message) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: events.CheckMessage}
	}
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	const (
		key  = "proof:0x6f3cb5ea47a92df76b63d208ac712a64e5a2e1eeabf41dee2dbe132348bd5175:1:0badcafe#1"
		hash = "0xae5b0b4b5e0afbe7d388e0ba3acea91a94fa7120da5ddb2705fbc0a61e09ce97"
	)
	return []events.Entry{
		entry("TxIntended", &messages.TxIntended{
			At: at, Key: key, To: "0x322813fd9a801c5507c9de605d63cea4f2ce6c44",
			Data: "0xe8aa0a07", Deadline: at,
		}),
		entry("TxSent", &messages.TxSent{
			At: at, Key: key, Nonce: 3, TxHash: hash, GasLimit: 420_000,
			FeeCapWei: "3000000000", TipCapWei: "1000000000",
		}),
		entry("TxMined", &messages.TxMined{
			At: at, Key: key, Succeeded: true,
			Receipt: &messages.Receipt{
				TxHash: hash, Block: 300, BlockHash: hash, Time: at,
				FeeWei: "339180000000000", GasUsed: 339_180,
			},
		}),
		entry("TxAbandoned", &messages.TxAbandoned{
			At: at, Key: key, Reason: "deadline passed",
		}),
	}
}
