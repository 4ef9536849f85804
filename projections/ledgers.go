package projections

import (
	"bytes"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
)

// timed is a message that says when it happened.
type timed interface{ GetAt() *timestamppb.Timestamp }

// LedgersView shows each host's availabilities and its whole ledger.
type LedgersView struct {
	AsOf    events.Position `json:"asOf"`
	Ledgers []Ledger        `json:"ledgers"`
}

// Ledger says how the bytes of a host's quota are used. The parts add up to
// the quota.
type Ledger struct {
	Host           string         `json:"host"`
	Quota          events.Bytes   `json:"quota"`
	Unallocated    events.Bytes   `json:"unallocated"`
	Free           events.Bytes   `json:"free"`
	Reserved       events.Bytes   `json:"reserved"`
	Stored         events.Bytes   `json:"stored"`
	Overhead       events.Bytes   `json:"overhead"`
	Sectors        events.Bytes   `json:"sectors"`
	Pieces         events.Bytes   `json:"pieces,omitempty"`
	Deposits       Deposits       `json:"deposits"`
	Availabilities []Availability `json:"availabilities"`
}

// Deposits is the deposits of all sectors of a host, also of those that have ended, and what the contract has
// paid: returned deposits and rewards.
type Deposits struct {
	Held      string `json:"held"`
	Returned  string `json:"returned"`
	Lost      string `json:"lost"`
	Withdrawn string `json:"withdrawn"`
}

// Availability is an offer, and how much of it is sold.
type Availability struct {
	ID              string       `json:"id"`
	Enabled         bool         `json:"enabled"`
	TotalSize       events.Bytes `json:"totalSize"`
	UsedSize        events.Bytes `json:"usedSize"`
	FreeSize        events.Bytes `json:"freeSize"`
	DurationSeconds uint64       `json:"durationSeconds"`
	MinPrice        string       `json:"minPricePerBytePerSecond"`
	Collateral      string       `json:"totalCollateral"`
	Committed       string       `json:"committedCollateral"`
	Lost            string       `json:"lostCollateral"`
	Remaining       string       `json:"remainingCollateral"`
	Until           time.Time    `json:"until,omitzero"`
	Reservations    int          `json:"reservations"`
}

// ReservationsView shows the reservations of each host.
type ReservationsView struct {
	AsOf events.Position `json:"asOf"`
	// Open are in order of host and id, Closed in order of host and release, the
	// newest last.
	Open   []Reservation       `json:"open"`
	Closed []ClosedReservation `json:"closed"`
}

// Reservation is the space and the collateral of one attempt at one slot.
type Reservation struct {
	Host         string       `json:"host"`
	ID           string       `json:"id"`
	Availability string       `json:"availabilityId"`
	Request      string       `json:"requestId"`
	Slot         string       `json:"slotId"`
	SlotIndex    uint64       `json:"slotIndex"`
	Attempt      uint32       `json:"attempt"`
	Bytes        events.Bytes `json:"bytes"`
	Stored       events.Bytes `json:"storedBytes"`
	Overhead     events.Bytes `json:"overheadBytes"`
	Collateral   string       `json:"collateral"`
	ValidUntil   time.Time    `json:"validUntil,omitzero"`
	// Phase is the sale's, as far as the sale is known.
	Phase string `json:"phase,omitempty"`
}

// ClosedReservation is a released one, with the outcome of its sale.
type ClosedReservation struct {
	Reservation
	ReleasedAt time.Time `json:"releasedAt"` // by the machine's clock
	Returned   string    `json:"collateralReturned"`
	Lost       string    `json:"collateralLost"`
	// Reason is why the sale ended, when it did not finish.
	Reason string `json:"reason,omitempty"`
}

// ledger is the core's fold, with what the core does not keep.
type ledger struct {
	state  capacity.State
	known  bool // the host has a ledger at all
	closed []ClosedReservation
}

func newLedger() ledger { return ledger{state: capacity.New()} }

func (h *host) foldLedger(e capacity.Event) {
	h.ledger.known = true
	if e, ok := e.(*messages.ReservationDeleted); ok {
		h.closeReservation(e)
	}
	h.ledger.state = capacity.Evolve(h.ledger.state, e)
}

func (h *host) closeReservation(e *messages.ReservationDeleted) {
	r, open := h.ledger.state.Reservation(events.Must(events.ParseReservationID(e.GetReservationId())))
	if !open {
		return
	}
	row, reason := h.reservation(r)
	h.ledger.closed, _ = recent(h.ledger.closed, ClosedReservation{
		Reservation: row, ReleasedAt: at(e), Reason: reason,
		Returned: e.GetCollateralReturned(), Lost: e.GetCollateralLost(),
	}, h.limits.ClosedReservations)
}

// reservation is the row of an open reservation, and why its sale ended.
func (h *host) reservation(r capacity.Reservation) (row Reservation, reason string) {
	row = Reservation{
		Host: h.address, ID: r.ID.String(), Availability: r.Availability.String(),
		Request: r.RequestID.String(), Slot: r.Slot.String(), SlotIndex: r.SlotIndex,
		Attempt: r.Attempt, Bytes: r.Bytes, Stored: r.Stored, Overhead: r.Overhead,
		Collateral: r.Collateral.String(), ValidUntil: r.ValidUntil,
	}
	if s := h.sales.open[r.Slot]; s != nil && s.State.Attempt == r.Attempt {
		row.Phase, reason = s.State.Phase.String(), s.State.Reason
	}
	return row, reason
}

// Ledgers is the view of the availabilities.
func (v *Views) Ledgers() LedgersView {
	out := LedgersView{AsOf: v.asOf, Ledgers: []Ledger{}}
	for _, h := range v.inOrder() {
		if h.ledger.known {
			out.Ledgers = append(out.Ledgers, h.ledger.row(h.address))
		}
	}
	return out
}

func (l ledger) row(address string) Ledger {
	b, d := l.state.Book(), l.state.Deposits()
	row := Ledger{
		Host: address, Quota: b.Quota, Unallocated: b.Unallocated, Free: b.Free,
		Reserved: b.Reserved, Stored: b.Stored, Overhead: b.Overhead, Sectors: b.Sectors,
		Pieces:         b.Pieces,
		Deposits:       Deposits{d.Held.String(), d.Returned.String(), d.Lost.String(), d.Withdrawn.String()},
		Availabilities: []Availability{},
	}
	for a := range l.state.Availabilities() {
		row.Availabilities = append(row.Availabilities, Availability{
			ID: a.ID.String(), Enabled: a.Enabled, TotalSize: a.Size, UsedSize: a.Used,
			FreeSize: a.Free(), DurationSeconds: uint64(a.Duration / time.Second),
			MinPrice: a.MinPrice.String(), Collateral: a.Collateral.String(),
			Committed: a.Committed.String(), Lost: a.Lost.String(),
			Remaining: a.Remaining().String(), Until: a.Until, Reservations: a.Reservations,
		})
	}
	return row
}

// Reservations is the view of the reservations.
func (v *Views) Reservations() ReservationsView {
	out := ReservationsView{AsOf: v.asOf, Open: []Reservation{}, Closed: []ClosedReservation{}}
	for _, h := range v.inOrder() {
		for r := range h.ledger.state.Reservations() {
			row, _ := h.reservation(r)
			out.Open = append(out.Open, row)
		}
		out.Closed = append(out.Closed, h.ledger.closed...)
	}
	return out
}

// compareSlots orders by the bytes of the ids.
func compareSlots(a, b events.SlotID) int { return bytes.Compare(a[:], b[:]) }

func sortedSlots(open map[events.SlotID]*openSale) []events.SlotID {
	slots := make([]events.SlotID, 0, len(open))
	for slot := range open {
		slots = append(slots, slot)
	}
	slices.SortFunc(slots, compareSlots)
	return slots
}
