package slotqueue

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table says how the events of the queue are stored. A name never changes.
func Table() []events.Entry {
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	const request = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	return []events.Entry{
		entry("SlotsQueued", &messages.SlotsQueued{
			At: at, RequestId: request, SlotIndices: []uint64{2, 0, 1}, SlotSize: 1 << 20,
			DatasetSize: 3 << 20, Profitability: "86400000", Collateral: "1048576",
			Expiry: timestamppb.New(time.Unix(1_700_003_600, 0)), MarketRevision: 7,
		}),
		entry("SlotTaken", &messages.SlotTaken{At: at, RequestId: request, SlotIndex: 2}),
		entry("SlotHandedOut", &messages.SlotHandedOut{
			At: at, RequestId: request, SlotIndex: 2, Member: "north", Collateral: "1048576",
		}),
		entry("SlotReleased", &messages.SlotReleased{
			At: at, RequestId: request, SlotIndex: 2, Outcome: "no availability fits", Requeue: true,
			Criterion: "price", RetryAt: timestamppb.New(time.Unix(1_700_000_600, 0)),
		}),
		entry("SlotRemoved", &messages.SlotRemoved{
			At: at, RequestId: request, SlotIndices: []uint64{0, 1},
			Reason: "all slots of the request are filled", MarketRevision: 9,
		}),
		entry("SlotsRefused", &messages.SlotsRefused{
			At: at, RequestId: request, SlotIndices: []uint64{0, 1, 2}, Criterion: "price",
			Reason:         "the request pays 1 per byte and second, the host wants at least 2",
			MarketRevision: 8,
		}),
		entry("QueuePaused", &messages.QueuePaused{At: at, Reason: "maintenance", ByOperator: true}),
		entry("QueueResumed", &messages.QueueResumed{
			At: at, Reason: "maintenance is over", ByOperator: true, Criteria: []string{"price"},
		}),
		entry("ClientAvoided", &messages.ClientAvoided{
			At: at, Client: "0xcccccccccccccccccccccccccccccccccccccccc",
			Until: timestamppb.New(time.Unix(1_700_086_400, 0)), Reason: "the data was not what the request names",
		}),
	}
}

func entry(name string, example Event) events.Entry {
	return events.Entry{Name: name, Version: 1, Example: example, Check: check}
}

// check validates what the schema cannot say.
func check(m proto.Message) error {
	if err := events.CheckMessage(m); err != nil {
		return err
	}
	switch e := m.(type) {
	case *messages.SlotHandedOut:
		_, err := events.ParseMember(e.GetMember())
		return err
	case *messages.SlotsRefused:
		if e.GetCriterion() == "" {
			return fmt.Errorf("%w: criterion is empty", events.ErrMalformed)
		}
	}
	if of, ok := m.(interface{ GetSlotIndices() []uint64 }); ok && len(of.GetSlotIndices()) == 0 {
		return fmt.Errorf("%w: slotIndices is empty", events.ErrMalformed)
	}
	return nil
}
