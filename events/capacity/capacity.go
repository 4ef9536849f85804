// Package capacity is the ledger of a host: how much of the quota is on offer, how much of that
// sales have, and how much sectors and pieces hold. It is pure; the journal of package actors runs it, and
// one actor is its only writer. Start reading here.
//
// The rules:
//
//  1. Every byte of the quota is in exactly one place: unallocated, free in an availability,
//     reserved for a sale, stored for a sale, overhead (trees and manifests), held by a
//     sector, or held by a piece. Events only move bytes between these places (book.go).
//  2. Collateral of an availability is committed, lost, or remains. What remains is computed,
//     never stored. What is lost stays lost.
//  3. A slot is matched, and space and collateral are reserved, in one decision (match.go), so
//     no two sales can be promised the same byte or token.
//  4. A reservation belongs to one attempt at one slot and its id follows from them. A repeated
//     request gives the same reservation; after that was settled it is an error, so that a late
//     request cannot take space that nobody gives back.
//  5. A refusal is an outcome, not a mistake: it names the criterion that came closest to being
//     met, with the numbers (*Refusal).
//  6. The ledger debits before the disk is written. A grant is an event, and is rounded up to
//     the next 1 % of the slot, so that the ledger never counts less as stored than is on disk.
//  7. A reservation is settled once: its bytes and overhead are free again; its collateral
//     returns or is lost, and both together are exactly what was committed.
//  8. An availability is deleted only when nothing is reserved in it: disable it, let it drain.
//  9. A change is checked against what it changes: growing by 1 GB needs 1 GB of unallocated
//     quota, shrinking stops at what is in use.
//  10. A sector takes its bytes from the unallocated ones, for its unsealed, sealed, tree and
//     scratch files separately. Each part is given back once, when its files are gone. The
//     sector's deposit is held, returned or lost. A sector that has neither bytes nor a deposit
//     any more has ended, and its number is never used again (sectors.go).
//  11. So does the file of a piece, before it is written and until it is gone (piecefiles.go).
//
// The package neither writes to disk nor moves tokens: others act on what the ledger recorded.
package capacity

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is what the ledger records.
type Event = messages.CapacityEvent

// Decide returns the events that follow from c; none when c is already true. An
// error comes without events. It does not change s.
func Decide(s State, c Command) ([]Event, error) {
	out, err := decide(s, c)
	return events.Stamp(out, c.given()), err
}

func decide(s State, c Command) ([]Event, error) {
	switch c := c.(type) {
	case SetQuota:
		return decideQuota(s, c)
	case Create:
		return decideCreate(s, c)
	case Update:
		return decideUpdate(s, c)
	case Delete:
		return decideDelete(s, c)
	case Reserve:
		return decideReserve(s, c)
	case Release:
		return decideRelease(s, c)
	case Settle:
		return decideSettle(s, c)
	case Renew:
		return decideRenew(s, c)
	case Hold:
		return decideHold(s, c)
	case ReleasePart:
		return decideReleasePart(s, c)
	case SettleDeposit:
		return decideDeposit(s, c)
	case HoldPiece:
		return decideHoldPiece(s, c)
	case ReleasePiece:
		return decideReleasePiece(s, c)
	case Withdraw:
		return decideWithdraw(s, c)
	}
	panic(fmt.Sprintf("capacity: unknown command %T", c))
}

func decideQuota(s State, c SetQuota) ([]Event, error) {
	if c.Bytes > MaxQuota {
		return nil, fmt.Errorf("set quota: %w: %d bytes, the most is %d", ErrInvalid, c.Bytes, MaxQuota)
	}
	quota := c.Bytes
	if allocated := s.book.Allocated(); quota < allocated {
		if !c.Near {
			return nil, &SpaceError{"set quota", quota, s.book}
		}
		quota = allocated
	}
	if quota == s.book.Quota {
		return nil, nil
	}
	return []Event{&messages.QuotaSet{Bytes: uint64(quota)}}, nil
}

func decideCreate(s State, c Create) ([]Event, error) {
	doing := "create availability " + c.ID.String()
	if err := c.Now.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if a := s.availabilities[c.ID]; a != nil {
		if a.Offer.equal(c.Now) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %w", doing, ErrExists)
	}
	if n := len(s.availabilities); n >= s.limits.MaxAvailabilities {
		return nil, fmt.Errorf("%s: %w: %d availabilities", doing, ErrLimit, n)
	}
	if c.Now.Size > s.book.Unallocated {
		return nil, &SpaceError{doing, c.Now.Size, s.book}
	}
	return []Event{created(c)}, nil
}

func created(c Create) *messages.AvailabilityCreated {
	return &messages.AvailabilityCreated{
		AvailabilityId:           c.ID.String(),
		TotalSize:                uint64(c.Now.Size),
		DurationSeconds:          uint64(c.Now.Duration / time.Second),
		MinPricePerBytePerSecond: c.Now.MinPrice.String(),
		TotalCollateral:          c.Now.Collateral.String(),
		Enabled:                  c.Now.Enabled,
		Until:                    events.TimeToMessage(c.Now.Until),
	}
}

func decideUpdate(s State, c Update) ([]Event, error) {
	doing := "update availability " + c.ID.String()
	a := s.availabilities[c.ID]
	if a == nil {
		return nil, fmt.Errorf("%s: %w", doing, ErrUnknownAvailability)
	}
	now := c.apply(a.Offer)
	if now.equal(a.Offer) {
		return nil, nil
	}
	if err := now.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if err := s.checkUses(*a, now); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if now.Size > a.Size && now.Size-a.Size > s.book.Unallocated {
		return nil, &SpaceError{doing, now.Size - a.Size, s.book}
	}
	return []Event{&messages.AvailabilityUpdated{
		AvailabilityId:           c.ID.String(),
		TotalSize:                uint64(now.Size),
		DurationSeconds:          uint64(now.Duration / time.Second),
		MinPricePerBytePerSecond: now.MinPrice.String(),
		TotalCollateral:          now.Collateral.String(),
		Enabled:                  now.Enabled,
		Until:                    events.TimeToMessage(now.Until),
		Wider:                    now.widerThan(a.Offer),
	}}, nil
}

// apply returns the offer with the changes of the command.
func (c Update) apply(o Offer) Offer {
	set(&o.Size, c.Size)
	set(&o.Duration, c.Duration)
	set(&o.MinPrice, c.MinPrice)
	set(&o.Collateral, c.Collateral)
	set(&o.Enabled, c.Enabled)
	set(&o.Until, c.Until)
	return o
}

func set[T any](field, change *T) {
	if change != nil {
		*field = *change
	}
}

// checkUses reports whether the new offer would still hold the sales in an availability.
func (s State) checkUses(a Availability, now Offer) error {
	if now.Size < a.Used {
		return fmt.Errorf("%w: size %d bytes is less than the %d that sales use",
			ErrInUse, now.Size, a.Used)
	}
	if used := a.Committed.AddSaturating(a.Lost); now.Collateral.Less(used) {
		return fmt.Errorf("%w: collateral of %s base units is less than %s base units committed and %s base units lost",
			ErrInUse, now.Collateral, a.Committed, a.Lost)
	}
	if latest := s.latestEnd(a.ID); !now.Until.IsZero() && now.Until.Before(latest) {
		return fmt.Errorf("%w: until %s is before %s, when its last sale ends",
			ErrInUse, now.Until.UTC().Format(time.RFC3339), latest.Format(time.RFC3339))
	}
	return nil
}

func decideDelete(s State, c Delete) ([]Event, error) {
	a := s.availabilities[c.ID]
	if a == nil {
		return nil, nil
	}
	if a.Reservations > 0 {
		return nil, fmt.Errorf("delete availability %s: %w: %d reservations with %d bytes; "+
			"disable it, wait until its sales have ended, then delete it",
			c.ID, ErrInUse, a.Reservations, a.Used)
	}
	return []Event{&messages.AvailabilityDeleted{AvailabilityId: c.ID.String()}}, nil
}

func decideReserve(s State, c Reserve) ([]Event, error) {
	doing := fmt.Sprintf("reserve for slot %s attempt %d", c.Slot.Short(), c.Attempt)
	end := c.Ask.RequestEnd
	if c.Attempt == 0 || c.Ask.SlotSize == 0 || end.IsZero() || !storable(end) {
		return nil, fmt.Errorf("%s: %w: attempt, slot size and end of the request are needed",
			doing, ErrInvalid)
	}
	id := ReservationIDOf(c.Slot, c.Attempt)
	if s.reservations[id] != nil {
		return nil, nil
	}
	if settled := s.settled.attempts[c.Slot]; settled >= c.Attempt {
		return nil, fmt.Errorf("%s: %w: the last one settled is %d", doing, ErrSettled, settled)
	}
	if n := len(s.reservations); n >= s.limits.MaxReservations {
		return nil, &Refusal{Criterion: Full, Reason: fmt.Sprintf("the ledger holds %d reservations, "+
			"the most it may", n)}
	}
	var brought []Event
	a, refusal := Match(s, c.Ask)
	if refusal != nil {
		own := adopt(s, c)
		if !c.Adopted || own == nil {
			return nil, refusal
		}
		brought, a.ID = []Event{own}, AdoptedAvailability(c.Slot, c.Attempt)
	}
	collateral, _ := c.Ask.collateral() // The old reservation fits, or there was none.
	return append(brought, &messages.ReservationCreated{
		ReservationId:  id.String(),
		AvailabilityId: a.ID.String(),
		RequestId:      c.RequestID.String(),
		SlotId:         c.Slot.String(),
		SlotIndex:      c.SlotIndex,
		Attempt:        c.Attempt,
		Bytes:          uint64(c.Ask.SlotSize),
		Overhead:       uint64(c.Ask.Overhead),
		Collateral:     collateral.String(),
		ValidUntil:     events.TimeToMessage(end),
	}), nil
}

func decideRelease(s State, c Release) ([]Event, error) {
	r := s.reservations[c.Reservation]
	if r == nil {
		return nil, fmt.Errorf("release bytes of reservation %s: %w",
			c.Reservation, ErrUnknownReservation)
	}
	if c.TotalStored > r.Bytes {
		return nil, &OverrunError{c.Reservation, r.Bytes, c.TotalStored}
	}
	granted := r.grant(c.TotalStored)
	if granted <= r.Stored {
		return nil, nil
	}
	return []Event{&messages.BytesReleased{
		ReservationId: c.Reservation.String(),
		Bytes:         uint64(granted - r.Stored),
	}}, nil
}

// grant rounds up to the next step of 1 % of the slot (rule 6).
func (r Reservation) grant(total events.Bytes) events.Bytes {
	step := (r.Bytes-1)/GrantSteps + 1
	return min((total+step-1)/step*step, r.Bytes)
}

func decideSettle(s State, c Settle) ([]Event, error) {
	id := c.Reservation
	if id.Zero() {
		id = ReservationIDOf(c.Slot, c.Attempt)
	}
	r := s.reservations[id]
	if r == nil {
		return nil, nil
	}
	if sum := c.CollateralReturned.AddSaturating(c.CollateralLost); sum != r.Collateral {
		return nil, &SettlementError{id, r.Collateral, c.CollateralReturned, c.CollateralLost}
	}
	settled := []Event{&messages.ReservationDeleted{
		ReservationId:      id.String(),
		CollateralReturned: c.CollateralReturned.String(),
		CollateralLost:     c.CollateralLost.String(),
	}}
	if leaves(s, *r) {
		settled = append(settled, &messages.AvailabilityDeleted{AvailabilityId: r.Availability.String()})
	}
	return settled, nil
}
