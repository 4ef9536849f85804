package sale

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of a sale are stored. A stored name never changes;
// a change of meaning is a higher version.
func Table() []events.Entry {
	var (
		at   = timestamppb.New(events.Unix(1_700_000_000))
		id   = "0xabababababababababababababababababababababababababababababababab"
		root = "0x1111111111111111111111111111111111111111111111111111111111111111"
		asks = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
		one  = "1000000"
		cost = &messages.Receipt{
			TxHash: id, Block: 300, BlockHash: id, Time: at, FeeWei: "600000000000000", GasUsed: 600_000,
		}
	)
	entry := func(name string, example proto.Message) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: events.CheckMessage}
	}
	return []events.Entry{
		entry("SaleStarted", &messages.SaleStarted{
			At: at, Attempt: 1, SlotId: id, SlotIndex: 1, ExpiresAt: at, EndsAt: at,
			Request: &messages.Request{
				Id: id, Client: asks, ProofProbability: "4", PricePerBytePerSecond: "1",
				CollateralPerByte: "2", Slots: 3, SlotSize: 65536, DurationSeconds: 3600, MaxSlotLoss: 1,
				Cid: "0x01819a03", MerkleRoot: root, ExpirySeconds: 600, Nonce: id,
			},
		}),
		entry("CapacityReserved", &messages.CapacityReserved{
			At: at, AvailabilityId: id, ReservationId: id, Bytes: 65536, Collateral: one,
		}),
		entry("SlotReserved", &messages.SlotReserved{At: at, Receipt: cost}),
		entry("SlotStored", &messages.SlotStored{At: at, Bytes: 65536, SlotRoot: root}),
		entry("InitialProofMade", &messages.InitialProofMade{
			At: at, Challenge: id, Proof: events.Proof{{31: 1}}.String(), TookMilliseconds: 1100,
		}),
		entry("InitialProofOutdated", &messages.InitialProofOutdated{At: at, Reason: "the pointer wrapped"}),
		entry("SlotFilled", &messages.SlotFilled{At: at, FilledAt: at, Block: 300, Collateral: one, Receipt: cost}),
		entry("FillReverted", &messages.FillReverted{At: at, Reason: "block 301 says the slot is Free"}),
		entry("DataLifetimeExtended", &messages.DataLifetimeExtended{At: at, Until: at}),
		entry("RequestStarted", &messages.RequestStarted{At: at}),
		entry("ProofDue", &messages.ProofDue{At: at, Period: 85_000_000, Challenge: id, Deadline: at}),
		entry("ProofSubmitted", &messages.ProofSubmitted{
			At: at, Period: 85_000_000, TookMilliseconds: 1100, Receipt: cost,
		}),
		entry("ProofMissed", &messages.ProofMissed{At: at, Period: 85_000_000, Reason: "the host was down"}),
		entry("ProofExcused", &messages.ProofExcused{At: at, Period: 85_000_000, Reason: "the pointer wrapped"}),
		entry("SlotDamaged", &messages.SlotDamaged{
			At: at, Blocks: []uint64{3, 7}, FoundBy: "the proof of period 85000000: block 3: bytes have another root",
		}),
		entry("SlotRepaired", &messages.SlotRepaired{At: at, Blocks: []uint64{3, 7}}),
		entry("CollateralChecked", &messages.CollateralChecked{
			At: at, Period: 85_000_000, Collateral: one, Slashed: "0",
		}),
		entry("CollateralSlashed", &messages.CollateralSlashed{
			At: at, Period: 85_000_000, Collateral: one, Slashed: one,
		}),
		entry("RequestEnded", &messages.RequestEnded{At: at}),
		entry("PayoutReceived", &messages.PayoutReceived{At: at, Reward: one, Collateral: one, Receipt: cost}),
		entry("SaleIgnored", &messages.SaleIgnored{At: at, Reason: "no room", Criterion: "size", Reprocess: true}),
		entry("SaleCancelled", &messages.SaleCancelled{At: at, Reason: "the request expired"}),
		entry("SaleFailed", &messages.SaleFailed{At: at, Reason: "too many slots are empty"}),
		entry("SlotDropped", &messages.SlotDropped{At: at, Receipt: cost}),
		entry("SlotForfeited", &messages.SlotForfeited{At: at, Reason: "2 proofs were missed"}),
		entry("SaleErrored", &messages.SaleErrored{At: at, Error: "content does not match"}),
		entry("DataDeleted", &messages.DataDeleted{At: at}),
		entry("SaleSettled", &messages.SaleSettled{At: at, CollateralReturned: one, CollateralLost: "0"}),
	}
}
