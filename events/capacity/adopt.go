package capacity

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// An adopted slot, one that the contract counts as ours and the record did not
// know, must be proven whatever is on offer, because its collateral is at stake.
// When no availability accepts it, for example because the whole record was lost,
// an availability is created for it from the unallocated quota. That one is
// disabled, so it takes no other slot, and it is deleted with the slot unless an
// operator has put it up for sale meanwhile.

// AdoptedAvailability is the id of the availability that is created for an adopted slot.
func AdoptedAvailability(slot events.SlotID, attempt uint32) events.AvailabilityID {
	return events.AvailabilityID(ReservationIDOf(slot, attempt))
}

// adopt creates the availability for an adopted slot; nil when the quota has no
// room either, or the slot's terms cannot be offered.
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
	return created(Create{At: c.At, ID: id, Now: o})
}

// leaves reports whether the availability that was created for an adopted slot is deleted with its
// reservation.
func leaves(s State, r Reservation) bool {
	a := s.availabilities[r.Availability]
	return a != nil && a.ID == AdoptedAvailability(r.Slot, r.Attempt) && a.Reservations == 1 && !a.Enabled
}
