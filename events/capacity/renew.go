package capacity

import (
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Renew settles one attempt at a slot and reserves for the next in one decision:
// the data of a slot that was lost and is filled again stays on disk, so its
// bytes must not be promised to another sale in between. When the next attempt is
// refused (*Refusal), nothing changes.
type Renew struct {
	Settle  Settle
	Reserve Reserve
}

func (c Renew) given() time.Time { return c.Reserve.At }

func decideRenew(s State, c Renew) ([]Event, error) {
	before := s.reservations[ReservationIDOf(c.Settle.Slot, c.Settle.Attempt)]
	settled, err := Decide(s, c.Settle)
	if err != nil {
		return nil, err
	}
	if len(settled) > 0 { // What is free then is not free yet.
		s = s.apart()
		for _, e := range settled {
			s = Evolve(s, e)
		}
	}
	reserved, err := decideReserve(s, c.Reserve)
	if err != nil {
		return nil, err
	}
	if len(settled) > 0 && len(reserved) > 0 && before.Stored > 0 { // The data is still on disk.
		reserved = append(reserved, &messages.BytesReleased{
			ReservationId: ReservationIDOf(c.Reserve.Slot, c.Reserve.Attempt).String(),
			Bytes:         uint64(min(before.Stored, c.Reserve.Ask.SlotSize)),
		})
	}
	return append(settled, reserved...), nil
}

// apart returns a copy that shares no memory that settling changes. Copying a
// full ledger takes some milliseconds, and is done only when a slot was lost.
func (s State) apart() State {
	availabilities := make(map[events.AvailabilityID]*Availability, len(s.availabilities))
	for id, a := range s.availabilities {
		one := *a
		availabilities[id] = &one
	}
	s.availabilities = availabilities
	s.reservations = maps.Clone(s.reservations)
	s.settled.attempts = maps.Clone(s.settled.attempts)
	s.settled.order = slices.Clone(s.settled.order)
	return s
}
