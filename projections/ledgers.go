package projections

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
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
	Host string `json:"host"`
	// Member has this part of the host's ledger; empty: it is all of it.
	Member events.Member `json:"member,omitempty"`
	// HostLedger says of a member's part that its stream is the host's own, without the member's name.
	HostLedger     bool           `json:"hostLedger,omitempty"`
	Quota          events.Bytes   `json:"quota"`
	Unallocated    events.Bytes   `json:"unallocated"`
	Free           events.Bytes   `json:"free"`
	Reserved       events.Bytes   `json:"reserved"`
	Stored         events.Bytes   `json:"stored"`
	Overhead       events.Bytes   `json:"overhead"`
	Sectors        events.Bytes   `json:"sectors"`
	Pieces         events.Bytes   `json:"pieces,omitempty"`
	Deposits       Deposits       `json:"deposits"`
	Availabilities []Availability `json:"availabilities,omitzero"`
	// Members are the ledgers of a host of several members, without their availabilities, in order of their
	// names; the host's own ledger is its first member's. The host's row is their sum.
	Members []Ledger `json:"members,omitempty"`
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
	ID string `json:"id"`
	// Member is whose disk it is of; empty: the host is one process.
	Member          events.Member `json:"member,omitempty"`
	Enabled         bool          `json:"enabled"`
	TotalSize       events.Bytes  `json:"totalSize"`
	UsedSize        events.Bytes  `json:"usedSize"`
	FreeSize        events.Bytes  `json:"freeSize"`
	DurationSeconds uint64        `json:"durationSeconds"`
	MinPrice        string        `json:"minPricePerBytePerSecond"`
	Collateral      string        `json:"totalCollateral"`
	Committed       string        `json:"committedCollateral"`
	Lost            string        `json:"lostCollateral"`
	Remaining       string        `json:"remainingCollateral"`
	Until           time.Time     `json:"until,omitzero"`
	Reservations    int           `json:"reservations"`
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
	Host string `json:"host"`
	// Member is in whose ledger it is; empty: the host is one process.
	Member       events.Member `json:"member,omitempty"`
	ID           string        `json:"id"`
	Availability string        `json:"availabilityId"`
	Request      string        `json:"requestId"`
	Slot         string        `json:"slotId"`
	SlotIndex    uint64        `json:"slotIndex"`
	Attempt      uint32        `json:"attempt"`
	Bytes        events.Bytes  `json:"bytes"`
	Stored       events.Bytes  `json:"storedBytes"`
	Overhead     events.Bytes  `json:"overheadBytes"`
	Collateral   string        `json:"collateral"`
	ValidUntil   time.Time     `json:"validUntil,omitzero"`
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

// ledgers are the core's folds by member, with what the core does not keep. The host's own ledger has no name
// here: it is that of a host of one process, or of the member that such a host became.
type ledgers struct {
	Of     map[events.Member]saved.Ledger
	Closed []ClosedReservation
}

// members are the names of the ledgers, in order; the host's own comes first.
func (l ledgers) members() []events.Member { return slices.Sorted(maps.Keys(l.Of)) }

func (h *host) foldLedger(member events.Member, e capacity.Event) {
	l, known := h.ledgers.Of[member]
	if !known {
		l.State = capacity.New()
	}
	if e, ok := e.(*messages.ReservationDeleted); ok {
		h.closeReservation(member, l.State, e)
	}
	l.State = capacity.Evolve(l.State, e)
	h.ledgers.Of[member] = l
	h.sectors.shown.Store(nil)                                  // It has what the ledger holds.
	if _, wakes := capacity.Wakes(l.State, e); len(wakes) > 0 { // The same request might fit now.
		h.queue.InARow = slices.DeleteFunc(h.queue.InARow, func(r RefusedRequest) bool {
			return slices.Contains(wakes, capacity.Criterion(r.Criterion))
		})
	}
}

func (h *host) closeReservation(member events.Member, state capacity.State, e *messages.ReservationDeleted) {
	r, open := state.Reservation(events.Must(events.ParseReservationID(e.GetReservationId())))
	if !open {
		return
	}
	row, reason := h.reservation(member, r)
	h.ledgers.Closed, _ = recent(h.ledgers.Closed, ClosedReservation{
		Reservation: row, ReleasedAt: at(e), Reason: reason,
		Returned: e.GetCollateralReturned(), Lost: e.GetCollateralLost(),
	}, h.limits.ClosedReservations)
}

// reservation is the row of an open reservation, and why its sale ended.
func (h *host) reservation(member events.Member, r capacity.Reservation) (row Reservation, reason string) {
	row = Reservation{
		Host: h.address, Member: member, ID: r.ID.String(), Availability: r.Availability.String(),
		Request: r.RequestID.String(), Slot: r.Slot.String(), SlotIndex: r.SlotIndex,
		Attempt: r.Attempt, Bytes: r.Bytes, Stored: r.Stored, Overhead: r.Overhead,
		Collateral: r.Collateral.String(), ValidUntil: r.ValidUntil,
	}
	if s := h.sales.Open[r.Slot]; s != nil && s.State.Attempt == r.Attempt {
		row.Phase, reason = s.State.Phase.String(), s.State.Reason
	}
	return row, reason
}

// Ledgers is the view of the availabilities.
func (v *Views) Ledgers() LedgersView { return LedgersView{v.asOf, rows(v, (*host).ledger)} }

// ledger is the sum of all ledgers of a host.
func (h *host) ledger(out []Ledger) []Ledger {
	if len(h.ledgers.Of) == 0 {
		return out
	}
	all := Ledger{Host: h.address, Availabilities: []Availability{}}
	var deposits capacity.Deposits
	for _, name := range h.ledgers.members() {
		state, member := h.ledgers.Of[name], h.named(name)
		b, d := state.Book(), state.Deposits()
		one := Ledger{
			Host: h.address, Member: member, Quota: b.Quota, Unallocated: b.Unallocated, Free: b.Free,
			Reserved: b.Reserved, Stored: b.Stored, Overhead: b.Overhead, Sectors: b.Sectors,
			Pieces: b.Pieces, Deposits: depositsOf(d),
		}
		all.add(one)
		deposits.Add(d)
		for a := range state.Availabilities() {
			all.Availabilities = append(all.Availabilities, Availability{
				ID: a.ID.String(), Member: member, Enabled: a.Enabled, TotalSize: a.Size, UsedSize: a.Used,
				FreeSize: a.Free(), DurationSeconds: uint64(a.Duration / time.Second),
				MinPrice: a.MinPrice.String(), Collateral: a.Collateral.String(),
				Committed: a.Committed.String(), Lost: a.Lost.String(),
				Remaining: a.Remaining().String(), Until: a.Until, Reservations: a.Reservations,
			})
		}
		if one.HostLedger = name == ""; member != "" {
			all.Members = append(all.Members, one)
		}
	}
	all.Deposits = depositsOf(deposits)
	slices.SortFunc(all.Members, func(a, b Ledger) int { return cmp.Compare(a.Member, b.Member) })
	return append(out, all)
}

// named is the name of a ledger's member: the host's own ledger has the name of the member that has it.
func (h *host) named(ledger events.Member) events.Member { return cmp.Or(ledger, h.starts.HostLedger) }

// add adds the bytes of a member's ledger.
func (l *Ledger) add(one Ledger) {
	l.Quota += one.Quota
	l.Unallocated += one.Unallocated
	l.Free += one.Free
	l.Reserved += one.Reserved
	l.Stored += one.Stored
	l.Overhead += one.Overhead
	l.Sectors += one.Sectors
	l.Pieces += one.Pieces
}

func depositsOf(d capacity.Deposits) Deposits {
	return Deposits{d.Held.String(), d.Returned.String(), d.Lost.String(), d.Withdrawn.String()}
}

// Reservations is the view of the reservations.
func (v *Views) Reservations() ReservationsView {
	out := ReservationsView{AsOf: v.asOf, Open: []Reservation{}, Closed: []ClosedReservation{}}
	for _, h := range v.inOrder() {
		first := len(out.Open)
		for _, member := range h.ledgers.members() {
			for r := range h.ledgers.Of[member].Reservations() {
				row, _ := h.reservation(h.named(member), r)
				out.Open = append(out.Open, row)
			}
		}
		if len(h.ledgers.Of) > 1 {
			slices.SortFunc(out.Open[first:], func(a, b Reservation) int { return cmp.Compare(a.ID, b.ID) })
		}
		for _, row := range h.ledgers.Closed {
			row.Member = h.named(row.Member)
			out.Closed = append(out.Closed, row)
		}
	}
	return out
}

// sortedSlots are in order of the bytes of their ids.
func sortedSlots(all iter.Seq[events.SlotID]) []events.SlotID {
	return slices.SortedFunc(all, func(a, b events.SlotID) int { return bytes.Compare(a[:], b[:]) })
}
