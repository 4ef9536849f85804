package capacity

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// A slot that the contract calls ours and the record did not know must be proven,
// whatever is on offer: its collateral is at stake. When no availability takes it,
// as in a record that was lost as a whole, it brings one of its own, out of the
// quota that is not allocated. That one is disabled, takes nothing else, and goes
// with the slot, unless an operator has put it up for sale meanwhile.

// AdoptedAvailability names the availability that an adopted slot brings.
func AdoptedAvailability(slot events.SlotID, attempt uint32) events.AvailabilityID {
	return events.AvailabilityID(ReservationIDOf(slot, attempt))
}

// adopt is the availability for an adopted slot; nil when the quota has no room for
// it either, or the slot's terms cannot be offered.
func adopt(s State, c Reserve) *messages.AvailabilityCreated {
	collateral, fits := c.Ask.collateral()
	o := Offer{
		Size: c.Ask.SlotSize, Duration: max(c.Ask.Duration.Truncate(time.Second), time.Second),
		MinPrice: c.Ask.PricePerBytePerSecond, Collateral: collateral,
	}
	id := AdoptedAvailability(c.Slot, c.Attempt)
	room := s.book.Unallocated >= c.Ask.SlotSize && s.book.Unallocated-c.Ask.SlotSize >= c.Ask.Overhead
	if !fits || !room || o.check() != nil || s.availabilities[id] != nil {
		return nil
	}
	if len(s.availabilities) >= s.limits.MaxAvailabilities {
		return nil
	}
	return &messages.AvailabilityCreated{
		At:                       events.TimeToMessage(c.At),
		AvailabilityId:           id.String(),
		TotalSize:                uint64(o.Size),
		DurationSeconds:          uint64(o.Duration / time.Second),
		MinPricePerBytePerSecond: o.MinPrice.String(),
		TotalCollateral:          o.Collateral.String(),
	}
}

// leaves reports whether the availability that a reservation brought goes with it.
func leaves(s State, r Reservation) bool {
	a := s.availabilities[r.Availability]
	return a != nil && a.ID == AdoptedAvailability(r.Slot, r.Attempt) && a.Reservations == 1 && !a.Enabled
}
