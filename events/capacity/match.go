package capacity

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Ask is what a slot needs, and what it pays.
type Ask struct {
	SlotSize              events.Bytes
	Duration              time.Duration
	PricePerBytePerSecond events.Amount
	CollateralPerByte     events.Amount
	// RequestEnd is when the request ends, in chain time.
	RequestEnd time.Time
	// Overhead is what trees and manifest need beside the slot.
	Overhead events.Bytes
	// MaxAtRisk bounds the collateral of all reservations together, this one
	// included; nil: only the availabilities bound it. A slot without
	// collateral is never refused for it, even when more than the bound is at
	// risk already.
	MaxAtRisk *events.Amount
	// Quota is what the host may use in all, when the ledger's own quota had to stay
	// above it (SetQuota, Near); 0: the ledger's own counts.
	Quota events.Bytes
}

// collateral is the full collateral of the slot; false when it does not fit into an amount.
func (a Ask) collateral() (events.Amount, bool) {
	return a.CollateralPerByte.Mul(uint64(a.SlotSize))
}

// Criterion names a rule that an availability must meet. The names are stored
// in events.
type Criterion string

// The criteria, in the order in which they are tried.
const (
	// NoAvailability: the host offers nothing at all.
	NoAvailability Criterion = "no-availability"
	Disabled       Criterion = "disabled"
	Size           Criterion = "size"
	Duration       Criterion = "duration"
	Price          Criterion = "price"
	Collateral     Criterion = "collateral"
	Until          Criterion = "until"
	// Overhead: too little unallocated quota for trees and manifest, or more
	// than the quota is allocated.
	Overhead Criterion = "overhead"
	// AtRisk: the collateral of all sales together would exceed what the host
	// may have at stake.
	AtRisk Criterion = "collateral-at-risk"
	// Full: the ledger holds as many reservations as it may.
	Full Criterion = "reservations"
)

// Refusal says why nothing was reserved. It is an outcome: the sale ends, and
// the slot is considered again when its criterion may have changed.
type Refusal struct {
	Criterion Criterion
	// Availability is the one that came closest; zero when there is none.
	Availability events.AvailabilityID
	// Reason is a sentence with the numbers.
	Reason string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Criterion, r.Reason) }

// Match finds the availability for a slot. Of those that meet all criteria it
// takes the one with the least free space, so that large spaces stay whole for
// large slots; then the one with the highest minimum price, so that cheap ones
// stay for cheap requests; then the one with the lowest id. When none does, the
// refusal names the one that met the most criteria.
func Match(s State, ask Ask) (Availability, *Refusal) {
	if len(s.availabilities) == 0 {
		return Availability{}, &Refusal{
			Criterion: NoAvailability, Reason: "the host offers no availability",
		}
	}
	var best, closest *Availability
	met := -1
	for _, a := range s.availabilities {
		n := 0
		for n < len(criteria) && criteria[n].met(s, a, ask) {
			n++
		}
		switch {
		case n == len(criteria):
			if best == nil || compareFit(a, best) < 0 {
				best = a
			}
		case n > met || n == met && compareIDs(a.ID, closest.ID) < 0:
			met, closest = n, a
		}
	}
	if best != nil {
		return *best, nil
	}
	failed := criteria[met]
	return Availability{}, &Refusal{failed.name, closest.ID, failed.reason(s, closest, ask)}
}

// compareFit orders the availabilities that match, the better first. The slot
// is the same for all, so comparing their free space is comparing what would be
// left.
func compareFit(a, b *Availability) int {
	return cmp.Or(
		cmp.Compare(a.Free(), b.Free()),
		b.MinPrice.Cmp(a.MinPrice),
		compareIDs(a.ID, b.ID),
	)
}

// criteria is the table of what an availability must meet, in order.
var criteria = []struct {
	name   Criterion
	met    func(State, *Availability, Ask) bool
	reason func(State, *Availability, Ask) string
}{
	{
		Disabled,
		func(_ State, a *Availability, _ Ask) bool { return a.Enabled },
		func(_ State, a *Availability, _ Ask) string {
			return fmt.Sprintf("availability %s is disabled", short(a))
		},
	},
	{
		Size,
		func(_ State, a *Availability, ask Ask) bool { return ask.SlotSize <= a.Free() },
		func(_ State, a *Availability, ask Ask) string {
			return fmt.Sprintf("the slot has %d bytes, availability %s has %d of %d free",
				ask.SlotSize, short(a), a.Free(), a.Size)
		},
	},
	{
		Duration,
		func(_ State, a *Availability, ask Ask) bool { return ask.Duration <= a.Duration },
		func(_ State, a *Availability, ask Ask) string {
			return fmt.Sprintf("the request lasts %s, availability %s takes at most %s",
				ask.Duration, short(a), a.Duration)
		},
	},
	{
		Price,
		func(_ State, a *Availability, ask Ask) bool {
			return !ask.PricePerBytePerSecond.Less(a.MinPrice)
		},
		func(_ State, a *Availability, ask Ask) string {
			return fmt.Sprintf("the request pays %s base units per byte and second, availability %s wants at "+
				"least %s base units per byte and second",
				ask.PricePerBytePerSecond, short(a), a.MinPrice)
		},
	},
	{
		Collateral,
		func(_ State, a *Availability, ask Ask) bool {
			needed, fits := ask.collateral()
			return fits && !a.Remaining().Less(needed)
		},
		func(_ State, a *Availability, ask Ask) string {
			needed, fits := ask.collateral()
			if !fits {
				return fmt.Sprintf("the slot needs %s base units of collateral for each of %d bytes, more than any "+
					"token has",
					ask.CollateralPerByte, ask.SlotSize)
			}
			return fmt.Sprintf("the slot needs %s base units of collateral, availability %s has %s base units "+
				"left: total %s base units, %s base units committed, %s base units lost",
				needed, short(a), a.Remaining(), a.Offer.Collateral, a.Committed, a.Lost)
		},
	},
	{
		Until,
		func(_ State, a *Availability, ask Ask) bool {
			return a.Until.IsZero() || !a.Until.Before(ask.RequestEnd)
		},
		func(_ State, a *Availability, ask Ask) string {
			return fmt.Sprintf("the request ends %s, availability %s ends %s",
				ask.RequestEnd.UTC().Format(time.RFC3339), short(a), a.Until.Format(time.RFC3339))
		},
	},
	{
		Overhead,
		func(s State, _ *Availability, ask Ask) bool {
			return !s.beyond(ask.Quota) && ask.Overhead <= s.room(ask.Quota)
		},
		func(s State, _ *Availability, ask Ask) string {
			if s.beyond(ask.Quota) {
				return fmt.Sprintf("the quota is %d bytes, availabilities and sales have %d",
					ask.Quota, s.book.Allocated())
			}
			return fmt.Sprintf("trees and manifest need %d bytes of unallocated quota, %d are left: %s",
				ask.Overhead, s.room(ask.Quota), s.book)
		},
	},
	{
		AtRisk,
		func(s State, _ *Availability, ask Ask) bool {
			needed, fits := ask.collateral()
			return ask.MaxAtRisk == nil || fits && !ask.MaxAtRisk.SubFloor(s.AtRisk()).Less(needed)
		},
		func(s State, _ *Availability, ask Ask) string {
			needed, _ := ask.collateral()
			return fmt.Sprintf("the slot needs %s base units of collateral, all sales have %s base units at "+
				"stake, the most is %s base units", needed, s.AtRisk(), ask.MaxAtRisk)
		},
	},
}

// Criteria returns the names of all criteria that a slot can fail here.
func Criteria() []Criterion {
	all := []Criterion{NoAvailability, Full}
	for _, c := range criteria {
		all = append(all, c.name)
	}
	return all
}

// beyond reports whether more is allocated than the given quota.
func (s State) beyond(quota events.Bytes) bool { return quota != 0 && s.book.Allocated() > quota }

// room is how many bytes are left for trees and manifests.
func (s State) room(quota events.Bytes) events.Bytes {
	if quota == 0 {
		return s.book.Unallocated
	}
	return min(s.book.Unallocated, quota-min(quota, s.book.Allocated()))
}

// short is the first four bytes of the id, for lines that people read.
func short(a *Availability) string { return a.ID.String()[:10] }

// ReservationIDOf is the id of the reservation for one attempt at a slot:
// sha256("reservation" || slot || attempt as four bytes, big-endian).
func ReservationIDOf(slot events.SlotID, attempt uint32) events.ReservationID {
	text := append([]byte("reservation"), slot[:]...)
	return sha256.Sum256(binary.BigEndian.AppendUint32(text, attempt))
}

// Wakes returns the criteria that slots may meet since the event that led to s,
// and did not meet before, so that the slot queue must consider those slots
// again, and why. It returns none when no slot can have become acceptable.
//
// A refusal names the criterion at which the closest availability failed. Where
// there are several availabilities, another one may have failed at an earlier
// criterion; then what meets that one counts as well.
func Wakes(s State, e Event) (reason string, criteria []Criterion) {
	switch e := e.(type) {
	case *messages.QuotaSet:
		return "the quota was set", []Criterion{Overhead}
	case *messages.AvailabilityCreated:
		if e.GetEnabled() {
			return "an availability was created", offered
		}
	case *messages.AvailabilityUpdated:
		if e.GetWider() {
			return "an availability is wider", append(slices.Clone(offered), Overhead)
		}
		return "an availability is narrower, its bytes may be unallocated", []Criterion{Overhead}
	case *messages.AvailabilityDeleted:
		// It may have been the closest one: then the others count.
		return "an availability was deleted, its bytes are unallocated", append(slices.Clone(offered), Overhead)
	case *messages.ReservationDeleted:
		if len(s.availabilities) > 1 {
			return "space and collateral came back",
				[]Criterion{Size, Duration, Price, Collateral, Until, Overhead, AtRisk, Full}
		}
		return "space and collateral came back", []Criterion{Size, Collateral, Overhead, AtRisk, Full}
	case *messages.SectorSpaceReleased:
		return "bytes of a sector are unallocated", []Criterion{Overhead}
	case *messages.PieceSpaceReleased:
		return "bytes of a piece are unallocated", []Criterion{Overhead}
	case *messages.ReservationCreated, *messages.BytesReleased,
		*messages.SectorSpaceHeld, *messages.SectorDepositSettled, *messages.SectorFundsWithdrawn,
		*messages.PieceSpaceHeld:
	}
	return "", nil
}

// EndsReservation reports whether an event gives back what a sale had reserved.
func EndsReservation(e Event) bool {
	_, ended := e.(*messages.ReservationDeleted)
	return ended
}

// offered are the criteria that a new or wider availability may meet. A slot
// that failed at one of the first criteria everywhere else may meet all of them
// here. The criteria that concern the whole host are unchanged.
var offered = []Criterion{NoAvailability, Disabled, Size, Duration, Price, Collateral, Until}
