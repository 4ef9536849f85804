package capacity

import (
	"errors"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Command asks the ledger for something.
// Its events have the point in time when it was given.
//
//sumtype:decl
type Command interface{ given() time.Time }

// The commands. At is by the machine's clock; it is recorded, and no decision depends on it.
type (
	// SetQuota says how many bytes the host may use in all. The quota cannot go
	// below what is allocated: that is a *SpaceError or, when Near, the quota comes
	// as near to Bytes as it can; Ask.Quota then keeps new slots out.
	SetQuota struct {
		At    time.Time
		Bytes events.Bytes
		Near  bool
	}
	// Create puts space and collateral on offer. The caller draws the id.
	Create struct {
		At  time.Time
		ID  events.AvailabilityID
		Now Offer
	}
	// Update changes an offer. Nil leaves a field as it is; a pointer to the
	// zero time removes the end.
	Update struct {
		At         time.Time
		ID         events.AvailabilityID
		Size       *events.Bytes
		Duration   *time.Duration
		MinPrice   *events.Amount
		Collateral *events.Amount
		Enabled    *bool
		Until      *time.Time
	}
	// Delete removes an offer of which nothing is sold. An unknown one is
	// deleted already.
	Delete struct {
		At time.Time
		ID events.AvailabilityID
	}
	// Reserve claims space and collateral for one attempt at a slot. When no
	// availability matches, the error is a *Refusal.
	Reserve struct {
		At        time.Time
		Slot      events.SlotID
		RequestID events.RequestID
		SlotIndex uint64
		Attempt   uint32 // from 1
		Ask       Ask
		// Adopted says that the contract counts the slot as ours already.
		Adopted bool
	}
	// Release moves bytes from reserved to stored, ahead of the write.
	// TotalStored is how many bytes of the slot will be on disk after it.
	Release struct {
		At          time.Time
		Reservation events.ReservationID
		TotalStored events.Bytes
	}
	// Settle ends a reservation, which is named by its id or, if that is zero,
	// by slot and attempt. The data must be deleted from disk before. An
	// unknown or settled reservation is left alone.
	Settle struct {
		At                 time.Time
		Reservation        events.ReservationID
		Slot               events.SlotID
		Attempt            uint32
		CollateralReturned events.Amount
		CollateralLost     events.Amount
	}
)

func (c SetQuota) given() time.Time { return c.At }
func (c Create) given() time.Time   { return c.At }
func (c Update) given() time.Time   { return c.At }
func (c Delete) given() time.Time   { return c.At }
func (c Reserve) given() time.Time  { return c.At }
func (c Release) given() time.Time  { return c.At }
func (c Settle) given() time.Time   { return c.At }

// Errors of a caller. *SpaceError, *OverrunError, *SettlementError and *Refusal
// carry data.
var (
	// ErrInvalid: the command makes no sense by itself, such as a size of zero.
	ErrInvalid = errors.New("invalid command")
	// ErrExists: another availability has this id.
	ErrExists = errors.New("availability exists already")
	// ErrUnknownAvailability: there is no such availability.
	ErrUnknownAvailability = errors.New("unknown availability")
	// ErrUnknownReservation: there is no such reservation, or it was settled.
	ErrUnknownReservation = errors.New("unknown reservation")
	// ErrInUse: sales depend on what the change would take away.
	ErrInUse = errors.New("availability in use")
	// ErrSettled: the reservation of this attempt, or of a later one, was
	// settled. A new attempt needs a new number.
	ErrSettled = errors.New("attempt is settled")
	// ErrLimit: the ledger holds as many entries as it may.
	ErrLimit = errors.New("limit reached")
)
