package capacity

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Evolve folds one event into the state. It never fails and never refuses: an event that
// contradicts the record is skipped, and Check reports it.
//
// It may change the memory that s refers to. Use only the returned state; a caller that needs
// a second one folds it from the events.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.QuotaSet:
		s.setQuota(events.Bytes(e.GetBytes()))
	case *messages.AvailabilityCreated:
		s.create(events.Must(events.ParseAvailabilityID(e.GetAvailabilityId())), offerOf(e))
	case *messages.AvailabilityUpdated:
		s.update(events.Must(events.ParseAvailabilityID(e.GetAvailabilityId())), offerOf(e))
	case *messages.AvailabilityDeleted:
		s.delete(events.Must(events.ParseAvailabilityID(e.GetAvailabilityId())))
	case *messages.ReservationCreated:
		s.reserve(reservationOf(e))
	case *messages.BytesReleased:
		s.release(events.Must(events.ParseReservationID(e.GetReservationId())),
			events.Bytes(e.GetBytes()))
	case *messages.ReservationDeleted:
		s.settle(events.Must(events.ParseReservationID(e.GetReservationId())),
			events.Must(events.ParseAmount(e.GetCollateralReturned())),
			events.Must(events.ParseAmount(e.GetCollateralLost())))
	case *messages.SectorSpaceHeld:
		s.hold(e.GetSector(), SpaceOf(e), events.Must(events.ParseAmount(e.GetDeposit())))
	case *messages.SectorSpaceReleased:
		s.releasePart(e.GetSector(), Part(e.GetPart()), events.Bytes(e.GetBytes()))
	case *messages.SectorDepositSettled:
		s.settleDeposit(e.GetSector(),
			events.Must(events.ParseAmount(e.GetHeld())), events.Must(events.ParseAmount(e.GetLost())))
	case *messages.PieceSpaceHeld:
		s.holdPiece(e.GetCid(), events.Bytes(e.GetBytes()))
	case *messages.PieceSpaceReleased:
		s.releasePiece(e.GetCid(), events.Bytes(e.GetBytes()))
	case *messages.SectorFundsWithdrawn:
		s.withdraw(e.GetNumber(), events.Must(events.ParseAmount(e.GetAmount())))
	}
	return s
}

func (s *State) setQuota(quota events.Bytes) {
	s.book.Unallocated += quota - s.book.Quota
	s.book.Quota = quota
}

func (s *State) create(id events.AvailabilityID, o Offer) {
	if s.availabilities[id] != nil {
		s.fault("availability %s was created twice", id)
		return
	}
	s.availabilities[id] = &Availability{ID: id, Offer: o}
	move(&s.book.Unallocated, &s.book.Free, o.Size)
}

func (s *State) update(id events.AvailabilityID, o Offer) {
	a := s.availabilities[id]
	if a == nil {
		s.fault("availability %s was updated, but does not exist", id)
		return
	}
	// Shrinking moves a negative number of bytes; both fields wrap around
	// alike, so their sum stays exact.
	move(&s.book.Unallocated, &s.book.Free, o.Size-a.Size)
	a.Offer = o
}

func (s *State) delete(id events.AvailabilityID) {
	a := s.availabilities[id]
	if a == nil || a.Reservations > 0 {
		s.fault("availability %s was deleted, but does not exist or is in use", id)
		return
	}
	delete(s.availabilities, id)
	move(&s.book.Free, &s.book.Unallocated, a.Size)
}

func (s *State) reserve(r Reservation) {
	a := s.availabilities[r.Availability]
	if a == nil || s.reservations[r.ID] != nil {
		s.fault("reservation %s was created twice or in an unknown availability", r.ID)
		return
	}
	s.reservations[r.ID] = &r
	a.Reservations++
	a.Used += r.Bytes
	a.Committed = a.Committed.AddSaturating(r.Collateral)
	move(&s.book.Free, &s.book.Reserved, r.Bytes)
	move(&s.book.Unallocated, &s.book.Overhead, r.Overhead)
}

func (s *State) release(id events.ReservationID, more events.Bytes) {
	r := s.reservations[id]
	if r == nil || more > r.Bytes-r.Stored {
		s.fault("%d bytes of reservation %s were released, which it does not have", more, id)
		return
	}
	r.Stored += more
	move(&s.book.Reserved, &s.book.Stored, more)
}

func (s *State) settle(id events.ReservationID, returned, lost events.Amount) {
	r := s.reservations[id]
	if r == nil || returned.AddSaturating(lost) != r.Collateral {
		s.fault("reservation %s was settled with %s returned and %s lost, which it does not have",
			id, returned, lost)
		return
	}
	a := s.availabilities[r.Availability]
	delete(s.reservations, id)
	a.Reservations--
	a.Used -= r.Bytes
	a.Committed = a.Committed.SubFloor(r.Collateral)
	a.Lost = a.Lost.AddSaturating(lost)
	move(&s.book.Reserved, &s.book.Free, r.Bytes-r.Stored)
	move(&s.book.Stored, &s.book.Free, r.Stored)
	move(&s.book.Overhead, &s.book.Unallocated, r.Overhead)
	s.settled.add(r.Slot, r.Attempt, s.limits.MaxSettled)
}

// move moves bytes from one field of the book to another. Only setQuota changes fields in
// another way, so their sum is always the quota.
func move(from, to *events.Bytes, n events.Bytes) {
	*from -= n
	*to += n
}

// fault remembers the first event that contradicts the record, for Check.
func (s *State) fault(format string, args ...any) {
	if s.faults == 0 {
		s.firstFault = fmt.Sprintf(format, args...)
	}
	s.faults++
}

// settled remembers the newest settled attempt of each slot, or the sectors that ended, up to a
// limit. The oldest entry is forgotten first.
type settled[K comparable] struct {
	attempts map[K]uint32
	order    []K
}

func (m *settled[K]) add(of K, attempt uint32, limit int) {
	if _, known := m.attempts[of]; !known {
		m.order = append(m.order, of)
	}
	m.attempts[of] = max(m.attempts[of], attempt)
	if len(m.order) > limit {
		delete(m.attempts, m.order[0])
		m.order = m.order[1:]
	}
}

// offerEvent is an event that carries a whole offer.
type offerEvent interface {
	GetTotalSize() uint64
	GetDurationSeconds() uint64
	GetMinPricePerBytePerSecond() string
	GetTotalCollateral() string
	GetEnabled() bool
	GetUntil() *timestamppb.Timestamp
}

func offerOf(e offerEvent) Offer {
	return Offer{
		Size:       events.Bytes(e.GetTotalSize()),
		Duration:   events.Seconds(e.GetDurationSeconds()),
		MinPrice:   events.Must(events.ParseAmount(e.GetMinPricePerBytePerSecond())),
		Collateral: events.Must(events.ParseAmount(e.GetTotalCollateral())),
		Enabled:    e.GetEnabled(),
		Until:      events.TimeFromMessage(e.GetUntil()),
	}
}

func reservationOf(e *messages.ReservationCreated) Reservation {
	return Reservation{
		ID:           events.Must(events.ParseReservationID(e.GetReservationId())),
		Availability: events.Must(events.ParseAvailabilityID(e.GetAvailabilityId())),
		RequestID:    events.Must(events.ParseRequestID(e.GetRequestId())),
		Slot:         events.Must(events.ParseSlotID(e.GetSlotId())),
		SlotIndex:    e.GetSlotIndex(),
		Attempt:      e.GetAttempt(),
		Bytes:        events.Bytes(e.GetBytes()),
		Overhead:     events.Bytes(e.GetOverhead()),
		Collateral:   events.Must(events.ParseAmount(e.GetCollateral())),
		ValidUntil:   events.TimeFromMessage(e.GetValidUntil()),
	}
}
