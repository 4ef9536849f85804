package capacity

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

const (
	// MaxQuota is the most bytes a host may use: 1 EiB, so that sums of sizes
	// stay far from the end of 64 bits.
	MaxQuota events.Bytes = 1 << 60
	// GrantSteps is the most grants of one reservation, hence the most events
	// that storing a slot writes to the ledger.
	GrantSteps = 100
)

// Limits bound what the ledger holds. A zero field stands for its default.
type Limits struct {
	// MaxAvailabilities is the most offers, default 1,000: a match looks at all
	// of them.
	MaxAvailabilities int
	// MaxReservations is the most open reservations, default 200,000: about 60
	// MB of memory.
	MaxReservations int
	// MaxSettled is how many settled slots are remembered, so that a late request
	// for one gets no new space, and how many ended sectors; default 100,000 each.
	MaxSettled int
	// MaxSectors is the most sectors that hold something, and MaxPieces the most pieces,
	// default 100,000 each.
	MaxSectors, MaxPieces int
}

func (l Limits) withDefaults() Limits {
	l.MaxAvailabilities = cmp.Or(l.MaxAvailabilities, 1_000)
	l.MaxReservations = cmp.Or(l.MaxReservations, 200_000)
	l.MaxSettled = cmp.Or(l.MaxSettled, 100_000)
	l.MaxSectors = cmp.Or(l.MaxSectors, 100_000)
	l.MaxPieces = cmp.Or(l.MaxPieces, 100_000)
	return l
}

// Offer is what an operator puts up for sale.
type Offer struct {
	Size events.Bytes
	// Duration is the longest sale, in whole seconds.
	Duration time.Duration
	// MinPrice is token base units per byte and second.
	MinPrice events.Amount
	// Collateral is the most that may be at stake at once, lost tokens included.
	Collateral events.Amount
	// Enabled says that new sales may be made. Running ones go on either way.
	Enabled bool
	// Until is when the last sale must have ended; zero: no end.
	Until time.Time
}

func (o Offer) check() error {
	switch {
	case o.Size == 0 || o.Size > MaxQuota:
		return fmt.Errorf("%w: size %d bytes, want 1 to %d", ErrInvalid, o.Size, MaxQuota)
	case o.Duration < time.Second || o.Duration%time.Second != 0:
		return fmt.Errorf("%w: duration %s, want whole seconds, at least one", ErrInvalid, o.Duration)
	case o.MinPrice.IsZero():
		return fmt.Errorf("%w: minimum price is zero", ErrInvalid)
	case o.Collateral.IsZero():
		return fmt.Errorf("%w: collateral is zero", ErrInvalid)
	case !storable(o.Until):
		return fmt.Errorf("%w: until %s, want a year up to 9999", ErrInvalid, o.Until)
	}
	return nil
}

// storable reports whether a point in time can be stored.
func storable(t time.Time) bool {
	return t.IsZero() || events.TimeToMessage(t).CheckValid() == nil
}

func (o Offer) equal(p Offer) bool {
	sameEnd := o.Until.Equal(p.Until)
	o.Until = p.Until
	return sameEnd && o == p
}

// widerThan reports whether slots may match that did not match the older offer.
// A disabled offer matches none, so enabling it makes it wider.
func (o Offer) widerThan(old Offer) bool {
	later := !old.Until.IsZero() && (o.Until.IsZero() || o.Until.After(old.Until))
	return o.Enabled && (!old.Enabled || later || o.Size > old.Size || o.Duration > old.Duration ||
		o.MinPrice.Less(old.MinPrice) || old.Collateral.Less(o.Collateral))
}

// Availability is an offer, and how much of it is sold.
type Availability struct {
	ID events.AvailabilityID
	Offer
	// Used is the bytes of all its reservations, stored or not.
	Used events.Bytes
	// Committed is the collateral of all its reservations.
	Committed events.Amount
	// Lost is the collateral that was slashed or forfeited, for good.
	Lost events.Amount
	// Reservations is how many there are.
	Reservations int
}

// Free is how many bytes can still be sold.
func (a Availability) Free() events.Bytes { return a.Size - min(a.Used, a.Size) }

// Remaining is how much collateral can still be committed.
func (a Availability) Remaining() events.Amount {
	return a.Collateral.SubFloor(a.Committed).SubFloor(a.Lost)
}

// Reservation is the space and the collateral of one attempt at one slot.
type Reservation struct {
	ID           events.ReservationID
	Availability events.AvailabilityID
	RequestID    events.RequestID
	Slot         events.SlotID
	SlotIndex    uint64
	Attempt      uint32
	// Bytes is the size of the slot; Stored is how many of them may be on disk.
	Bytes, Stored events.Bytes
	// Overhead is for trees and manifest, beside Bytes.
	Overhead   events.Bytes
	Collateral events.Amount
	// ValidUntil is the end of the request, in chain time.
	ValidUntil time.Time
}

// State is the ledger. New makes one; it is changed by Evolve alone, and is
// not safe for concurrent use.
type State struct {
	limits         Limits
	book           Book
	availabilities map[events.AvailabilityID]*Availability
	reservations   map[events.ReservationID]*Reservation
	settled        settled[events.SlotID]
	sectors        map[uint64]*Sector
	ended          settled[uint64]
	pieces         map[string]events.Bytes // by CID
	returned, lost events.Amount           // of the deposits of all sectors, ended ones too
	withdrawn      events.Amount
	withdrawals    uint64
	faults         int
	firstFault     string
}

// New is the empty ledger with default limits.
func New() State { return NewWithin(Limits{}) }

// NewWithin is the empty ledger with limits of its own.
func NewWithin(l Limits) State {
	return State{
		limits:         l.withDefaults(),
		availabilities: map[events.AvailabilityID]*Availability{},
		reservations:   map[events.ReservationID]*Reservation{},
		settled:        settled[events.SlotID]{attempts: map[events.SlotID]uint32{}},
		sectors:        map[uint64]*Sector{},
		ended:          settled[uint64]{attempts: map[uint64]uint32{}},
		pieces:         map[string]events.Bytes{},
	}
}

// Unsettled is the ledger without settled slots and ended sectors, which nothing that
// is shown needs.
func (s State) Unsettled() State {
	s.settled, s.ended = settled[events.SlotID]{}, settled[uint64]{}
	return s
}

// Book says where the bytes of the quota are.
func (s State) Book() Book { return s.book }

// AtRisk is the collateral of all reservations together. It looks at all
// availabilities.
func (s State) AtRisk() (sum events.Amount) {
	for _, a := range s.availabilities {
		sum = sum.AddSaturating(a.Committed)
	}
	return sum
}

// Availability returns a copy of one availability.
func (s State) Availability(id events.AvailabilityID) (Availability, bool) {
	return copyOf(s.availabilities[id])
}

// Availabilities yields copies in order of their ids.
func (s State) Availabilities() iter.Seq[Availability] {
	return inOrder(s.availabilities, compareIDs)
}

// Reservation returns a copy of one open reservation.
func (s State) Reservation(id events.ReservationID) (Reservation, bool) {
	return copyOf(s.reservations[id])
}

func copyOf[V any](v *V) (out V, known bool) {
	if v != nil {
		out = *v
	}
	return out, v != nil
}

// Reservations yields copies in order of their ids. Each belongs to a sale
// that is not settled yet, so they are the list of the living sales.
func (s State) Reservations() iter.Seq[Reservation] {
	return inOrder(s.reservations, compareIDs)
}

func compareIDs[T ~[32]byte](a, b T) int {
	x, y := [32]byte(a), [32]byte(b)
	return bytes.Compare(x[:], y[:])
}

func inOrder[K comparable, V any](m map[K]*V, compare func(a, b K) int) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
			if !yield(*m[k]) {
				return
			}
		}
	}
}

// latestEnd is when the last sale in an availability ends; zero when it has none.
func (s State) latestEnd(id events.AvailabilityID) time.Time {
	var latest time.Time
	for _, r := range s.reservations {
		if r.Availability == id && r.ValidUntil.After(latest) {
			latest = r.ValidUntil
		}
	}
	return latest
}

// Snapshot is the whole ledger as plain values in a fixed order, to compare
// and to show.
type Snapshot struct {
	Book           Book
	Availabilities []Availability
	Reservations   []Reservation
	// Settled is the last settled attempt of each slot, the oldest first.
	Settled []Settled
	Sectors []Sector
	Pieces  []Piece
	// Ended are the sectors that hold nothing any more, the oldest first.
	Ended    []uint64
	Deposits Deposits
	// Faults is how many events contradicted the record, FirstFault what the
	// first one did.
	Faults     int
	FirstFault string
}

// Settled is the last settled attempt at a slot.
type Settled struct {
	Slot    events.SlotID
	Attempt uint32
}

// Snapshot copies the state.
func (s State) Snapshot() Snapshot {
	out := Snapshot{
		Book:           s.book,
		Availabilities: slices.Collect(s.Availabilities()),
		Reservations:   slices.Collect(s.Reservations()),
		Sectors:        slices.Collect(s.Sectors()),
		Pieces:         s.PieceFiles(),
		Ended:          slices.Clone(s.ended.order),
		Deposits:       s.Deposits(),
		Faults:         s.faults,
		FirstFault:     s.firstFault,
	}
	for _, slot := range s.settled.order {
		out.Settled = append(out.Settled, Settled{slot, s.settled.attempts[slot]})
	}
	return out
}
