package sale

import "time"

// MaxRefills is how often in a row a slot is filled again after the contract took
// it from us. The cause of the missed proofs may still be there, and each time
// costs collateral.
const MaxRefills = 3

// Refill begins the next attempt at a slot that the contract took from us, while its
// data is still here: a slot in repair costs less collateral than any other. The
// same append settles the attempt that lost the slot. The command may be given only
// when the loss is final and the ledger has settled that attempt and reserved for
// the next one, which is what Capacity says.
type Refill struct {
	At        time.Time
	ExpiresAt time.Time
	EndsAt    time.Time
	Capacity  ReportCapacity
}

func (c Refill) given() time.Time { return c.At }

// Refillable reports whether the next attempt may begin with the data of this one.
func (s State) Refillable() bool {
	return s.Phase == Errored && s.Forfeited && s.Stored > 0 && !s.Deleted && !s.Settled && s.Refills < MaxRefills
}

func decideRefill(s State, c Refill) ([]Event, error) {
	if !s.Refillable() {
		return nil, nil
	}
	next := Start{
		Slot: s.Slot, Index: s.Index, Request: s.Request, Repair: true,
		ExpiresAt: c.ExpiresAt, EndsAt: c.EndsAt, FailEvery: s.FailEvery, Member: s.Member,
	}
	return []Event{saleSettled(s), saleStarted(next, s.Attempt+1), capacityReserved(c.Capacity)}, nil
}

// carry counts how many attempts in a row went on with the data of the one before,
// and keeps what is known of its damage. Only a Refill settles an attempt whose data
// is still here.
func carry(before, next State) State {
	if before.Settled && !before.Deleted {
		next.Refills, next.Damage = before.Refills+1, before.Damage
	}
	return next
}
