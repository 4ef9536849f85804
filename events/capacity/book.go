package capacity

import (
	"fmt"
	"math/bits"

	"github.com/hostnode/hostnode/events"
)

// Book says how the bytes of the quota are used. Each byte is counted in
// exactly one field, so the fields add up to the quota.
type Book struct {
	Quota       events.Bytes
	Unallocated events.Bytes
	Free        events.Bytes
	Reserved    events.Bytes
	Stored      events.Bytes
	Overhead    events.Bytes
	// Sectors is what sectors hold, in all their parts.
	Sectors events.Bytes
	// Pieces is what the files of pieces hold.
	Pieces events.Bytes
}

// Allocated is the part of the quota that availabilities, sales, sectors and pieces have.
func (b Book) Allocated() events.Bytes { return b.Quota - b.Unallocated }

func (b Book) String() string {
	places := fmt.Sprintf("quota %d bytes = "+
		"%d unallocated + %d free + %d reserved + %d stored + %d overhead",
		b.Quota, b.Unallocated, b.Free, b.Reserved, b.Stored, b.Overhead)
	if b.Sectors > 0 {
		places += fmt.Sprintf(" + %d sectors", b.Sectors)
	}
	if b.Pieces > 0 {
		places += fmt.Sprintf(" + %d pieces", b.Pieces)
	}
	return places
}

// balanced reports whether all fields add up to the quota and none is negative.
// A field that went below zero has wrapped around and is larger than the quota.
func (b Book) balanced() bool {
	var sum, carry uint64
	for _, n := range []events.Bytes{
		b.Unallocated, b.Free, b.Reserved, b.Stored, b.Overhead, b.Sectors, b.Pieces,
	} {
		var c uint64
		sum, c = bits.Add64(sum, uint64(n), 0)
		carry += c
	}
	return carry == 0 && sum == uint64(b.Quota)
}

// Check verifies that the ledger is in order: the book balances and agrees with
// each availability and reservation, and no event contradicted the record. It
// goes through everything, so it is for audits and tests.
func (s State) Check() error {
	if s.faults > 0 {
		return fmt.Errorf("capacity: %d events contradict the record, the first: %s",
			s.faults, s.firstFault)
	}
	if !s.book.balanced() {
		return fmt.Errorf("capacity: the book does not balance: %s", s.book)
	}
	sums := map[events.AvailabilityID]Availability{}
	counted := Book{Quota: s.book.Quota, Unallocated: s.book.Quota}
	for _, r := range s.reservations {
		if err := s.checkReservation(r); err != nil {
			return err
		}
		a := sums[r.Availability]
		a.Used += r.Bytes
		a.Committed = a.Committed.AddSaturating(r.Collateral)
		a.Reservations++
		sums[r.Availability] = a
		move(&counted.Unallocated, &counted.Overhead, r.Overhead)
		move(&counted.Free, &counted.Reserved, r.Bytes-r.Stored)
		move(&counted.Free, &counted.Stored, r.Stored)
	}
	for id, a := range s.availabilities {
		if err := checkAvailability(a, sums[id]); err != nil {
			return err
		}
		move(&counted.Unallocated, &counted.Free, a.Size)
	}
	if err := s.checkSectors(&counted); err != nil {
		return err
	}
	for _, bytes := range s.pieces {
		move(&counted.Unallocated, &counted.Pieces, bytes)
	}
	if counted != s.book {
		return fmt.Errorf("capacity: the book says %s, the entries say %s", s.book, counted)
	}
	if n := len(s.settled.attempts); n != len(s.settled.order) {
		return fmt.Errorf("capacity: %d settled slots in an order of %d", n, len(s.settled.order))
	}
	if n := len(s.ended.attempts); n != len(s.ended.order) {
		return fmt.Errorf("capacity: %d ended sectors in an order of %d", n, len(s.ended.order))
	}
	return nil
}

func (s State) checkReservation(r *Reservation) error {
	if s.availabilities[r.Availability] == nil {
		return fmt.Errorf("capacity: reservation %s belongs to availability %s, which does not exist",
			r.ID, r.Availability)
	}
	if r.Stored > r.Bytes {
		return fmt.Errorf("capacity: reservation %s stores %d of %d bytes", r.ID, r.Stored, r.Bytes)
	}
	return nil
}

func checkAvailability(a *Availability, sum Availability) error {
	if a.Used != sum.Used || a.Committed != sum.Committed || a.Reservations != sum.Reservations {
		return fmt.Errorf("capacity: availability %s says %d bytes and %s collateral "+
			"in %d reservations, they say %d and %s in %d", a.ID, a.Used, a.Committed, a.Reservations,
			sum.Used, sum.Committed, sum.Reservations)
	}
	if a.Used > a.Size {
		return fmt.Errorf("capacity: availability %s uses %d of %d bytes", a.ID, a.Used, a.Size)
	}
	if used := a.Committed.AddSaturating(a.Lost); a.Collateral.Less(used) {
		return fmt.Errorf("capacity: availability %s has %s collateral, "+
			"of which %s are committed and %s lost", a.ID, a.Collateral, a.Committed, a.Lost)
	}
	return nil
}

// SpaceError says that the quota has no room for what was asked, with the
// numbers.
type SpaceError struct {
	Doing  string
	Wanted events.Bytes
	Book   Book
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: no room for %d bytes: %s", e.Doing, e.Wanted, e.Book)
}

// OverrunError says that a sale wants to store more than it reserved.
type OverrunError struct {
	Reservation events.ReservationID
	Bytes       events.Bytes // what it reserved
	Wanted      events.Bytes // what it wants to have stored
}

func (e *OverrunError) Error() string {
	return fmt.Sprintf("store %d bytes in reservation %s of %d: %v",
		e.Wanted, e.Reservation, e.Bytes, events.ErrQuotaExceeded)
}

// Is makes errors.Is(err, events.ErrQuotaExceeded) true.
func (e *OverrunError) Is(target error) bool { return target == events.ErrQuotaExceeded }

// SettlementError says that what returns and what is lost do not add up to what
// was committed.
type SettlementError struct {
	Reservation               events.ReservationID
	Committed, Returned, Lost events.Amount
}

func (e *SettlementError) Error() string {
	return fmt.Sprintf("settle reservation %s: %s returned and %s lost are not the %s committed",
		e.Reservation, e.Returned, e.Lost, e.Committed)
}
