package sale

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// MaxRefills is how often in a row a slot that the contract took from us is filled
// again. Whatever made us miss the proofs may not have passed, and each time costs
// collateral.
const MaxRefills = 3

// Refill begins the next attempt at a slot that the contract took from us, while
// its data is still here: it is in repair, and filling it costs less collateral than
// any other slot. The attempt that lost it ends, in the record, with the same
// append. Ask only when the loss is final and the ledger has settled that attempt
// and reserved for the next, which Capacity says.
type Refill struct {
	At        time.Time
	ExpiresAt time.Time
	EndsAt    time.Time
	Capacity  ReportCapacity
}

func (Refill) command() {}

// Refillable reports whether the next attempt may begin with the data of this one.
func (s State) Refillable() bool {
	return s.Phase == Errored && s.Forfeited && s.Stored > 0 && !s.Deleted && !s.Settled && s.Refills < MaxRefills
}

func decideRefill(s State, c Refill) ([]Event, error) {
	if !s.Refillable() {
		return nil, nil
	}
	at := events.TimeToMessage(c.At)
	returned, lost := s.Settlement()
	return []Event{
		&messages.SaleSettled{At: at, CollateralReturned: returned.String(), CollateralLost: lost.String()},
		&messages.SaleStarted{
			At:               at,
			Attempt:          s.Attempt + 1,
			SlotId:           s.Slot.String(),
			SlotIndex:        s.Index,
			Request:          events.RequestToMessage(s.Request),
			Repair:           true,
			ExpiresAt:        events.TimeToMessage(c.ExpiresAt),
			EndsAt:           events.TimeToMessage(c.EndsAt),
			FailEveryNProofs: s.FailEvery,
		},
		capacityReserved(c.Capacity),
	}, nil
}

// carry counts the attempts that went on with the data of the one before, damaged as
// it may be. An attempt
// that was settled with its data still here was followed by Refill, and by nothing
// else.
func carry(before, next State) State {
	if before.Settled && !before.Deleted {
		next.Refills, next.Damage = before.Refills+1, before.Damage
	}
	return next
}
