package audit

import (
	"math/bits"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// smallState is the number of entries up to which a core's whole state is
// checked after every event. A larger state is checked after as many events as
// it has entries, which costs the same per event for any size, and at the end.
// Each event is always compared with the state before it.
const smallState = 64

// ledger is the core's fold of a member's ledger. It sees only events that fit
// the state before them.
type ledger struct {
	Member  events.Member // as in the stream's name: the host's own has none
	State   saved.Ledger
	Broken  bool
	Entries int // availabilities, open reservations, sectors and pieces
	Since   int // events since the last whole check
	Last    place
}

func newLedger(member events.Member) *ledger {
	return &ledger{Member: member, State: saved.Ledger{State: capacity.New()}}
}

func (a *auditor) judgeLedger(h *host, l *ledger, p place, e capacity.Event) {
	if !a.fitsLedger(h, l, p, e) {
		return // As the core does: it is passed over.
	}
	switch e.(type) {
	case *messages.AvailabilityCreated, *messages.ReservationCreated, *messages.PieceSpaceHeld:
		l.Entries++
	case *messages.AvailabilityDeleted, *messages.ReservationDeleted, *messages.PieceSpaceReleased:
		l.Entries--
	}
	a.followBooks(h, l, p, e)
	var of uint64
	if about, ok := e.(interface{ GetSector() uint64 }); ok {
		of = about.GetSector()
	}
	_, held := l.State.Sector(of)
	l.State.State = capacity.Evolve(l.State.State, e)
	// A sector counts from when it was given space until it has neither space nor deposit.
	if _, holds := l.State.Sector(of); holds && !held {
		l.Entries++
	} else if held && !holds {
		l.Entries--
	}
	l.Since++
	l.Last = p
	if b := l.State.Book(); !closed(b) {
		a.find(LedgerUnbalanced, p, "the places do not add up: %s", b)
		a.streams[p.Stream].giveUp()
		return
	}
	if l.Entries <= smallState || l.Since >= l.Entries {
		a.checkWhole(LedgerUnbalanced, &l.State, &l.Since, l.Last)
	}
}

// closed adds up the parts of the quota independently of the core.
func closed(b capacity.Book) bool {
	var total, carry, over uint64
	for _, n := range []events.Bytes{
		b.Unallocated, b.Free, b.Reserved, b.Stored, b.Overhead, b.Sectors, b.Pieces,
	} {
		total, carry = bits.Add64(total, uint64(n), 0)
		over += carry
	}
	return over == 0 && total == uint64(b.Quota)
}

// checkWhole checks the whole state of a core, which has seen so many events since the last time.
func (a *auditor) checkWhole(rule Rule, state interface{ Check() error }, since *int, last place) {
	*since = 0
	if err := state.Check(); err != nil {
		a.find(rule, last, "%v", err)
		a.streams[last.Stream].giveUp()
	}
}

func (a *auditor) endOfLedgers(h *host) {
	for _, name := range sortedKeys(h.Ledgers) {
		if l := h.Ledgers[name]; l.Since > 0 && !l.Broken {
			a.checkWhole(LedgerUnbalanced, &l.State, &l.Since, l.Last)
		}
	}
}

// fitsLedger compares an event with the state before it.
func (a *auditor) fitsLedger(h *host, l *ledger, p place, e capacity.Event) bool {
	switch e := e.(type) {
	case *messages.QuotaSet:
		return true
	case *messages.AvailabilityCreated:
		_, known := l.availability(e.GetAvailabilityId())
		return a.fits(p, !known, "availability %s was created twice", e.GetAvailabilityId())
	case *messages.AvailabilityUpdated:
		_, known := l.availability(e.GetAvailabilityId())
		return a.fits(p, known, "availability %s was updated, but does not exist", e.GetAvailabilityId())
	case *messages.AvailabilityDeleted:
		v, known := l.availability(e.GetAvailabilityId())
		return a.fits(p, known && v.Reservations == 0,
			"availability %s was deleted, but does not exist or is in use", e.GetAvailabilityId())
	case *messages.ReservationCreated:
		return a.fitsReservation(h, l, p, e)
	case *messages.BytesReleased:
		r, open := l.reservation(e.GetReservationId())
		return a.fits(p, open && e.GetBytes() <= uint64(r.Bytes-r.Stored),
			"%d bytes of reservation %s were released, which it does not have", e.GetBytes(), e.GetReservationId())
	case *messages.ReservationDeleted:
		return a.fitsRelease(h, l, p, e)
	case *messages.SectorSpaceHeld, *messages.SectorSpaceReleased, *messages.SectorDepositSettled:
		return a.fitsSector(l, p, e)
	case *messages.PieceSpaceHeld:
		return a.fits(p, l.State.PieceBytes(e.GetCid()) == 0, "piece %s was given space twice", e.GetCid())
	case *messages.PieceSpaceReleased:
		had := uint64(l.State.PieceBytes(e.GetCid()))
		return a.fits(p, had == e.GetBytes() && had > 0, "%d bytes of piece %s were released, it has %d",
			e.GetBytes(), e.GetCid(), had)
	case *messages.SectorFundsWithdrawn:
		had := l.State.Deposits().Withdrawals
		return a.fits(p, e.GetNumber() == had+1, "withdrawal %d comes after %d", e.GetNumber(), had)
	}
	return false
}

// fitsSector compares an event with what the sector was given: each part comes back as a whole, and only
// scratch space is given once more, and what a deposit has lost stays lost.
func (a *auditor) fitsSector(l *ledger, p place, e capacity.Event) bool {
	switch e := e.(type) {
	case *messages.SectorSpaceHeld:
		one, known := l.State.Sector(e.GetSector())
		again := one.Scratch == 0 && e.GetUnsealed()+e.GetSealed()+e.GetTree() == 0 && amount(e.GetDeposit()).IsZero()
		return a.fits(p, !known || again, "sector %d was given space twice", e.GetSector())
	case *messages.SectorSpaceReleased:
		one, known := l.State.Sector(e.GetSector())
		had := uint64(one.Of(capacity.Part(e.GetPart())))
		return a.fits(p, known && had == e.GetBytes() && had > 0,
			"%d bytes of the %s files of sector %d were released, it has %d",
			e.GetBytes(), e.GetPart(), e.GetSector(), had)
	case *messages.SectorDepositSettled:
		one, known := l.State.Sector(e.GetSector())
		return a.fits(p, known && !amount(e.GetLost()).Less(one.Lost),
			"sector %d has lost %s of its deposit, and had lost %s before; it holds something: %t",
			e.GetSector(), e.GetLost(), one.Lost, known)
	}
	return false
}

func (a *auditor) fits(p place, ok bool, format string, args ...any) bool {
	if !ok {
		a.find(LedgerContradiction, p, format, args...)
	}
	return ok
}

func (l *ledger) availability(id string) (capacity.Availability, bool) {
	return l.State.Availability(events.Must(events.ParseAvailabilityID(id)))
}

func (l *ledger) reservation(id string) (capacity.Reservation, bool) {
	return l.State.Reservation(events.Must(events.ParseReservationID(id)))
}

func (a *auditor) fitsReservation(h *host, in *ledger, p place, e *messages.ReservationCreated) bool {
	_, open := in.reservation(e.GetReservationId())
	_, known := in.availability(e.GetAvailabilityId())
	if !a.fits(p, known && !open, "reservation %s was created twice, or in an unknown availability",
		e.GetReservationId()) {
		return false
	}
	slot := events.Must(events.ParseSlotID(e.GetSlotId()))
	if id := capacity.ReservationIDOf(slot, e.GetAttempt()); id.String() != e.GetReservationId() {
		a.find(ReservationMismatch, p, "the id does not follow from slot %s and attempt %d", slot, e.GetAttempt())
	}
	l := h.sales[slot]
	switch {
	case l != nil && l.Broken:
	case l != nil && l.account != nil && l.Forfeited && l.Attempt+1 == e.GetAttempt():
		// The next attempt at a lost slot goes on with its data; the ledger records
		// that before the sale.
	case l == nil || l.account == nil || l.Attempt != e.GetAttempt():
		a.cross(ReservationOwner, p, "no running sale of slot %s has attempt %d", slot, e.GetAttempt())
	case l.Request != e.GetRequestId() || l.Index != e.GetSlotIndex() || l.SlotSize != e.GetBytes():
		a.cross(ReservationMismatch, p, "the ledger has %d bytes for slot %d of request %s; "+
			"the sale has %d bytes, slot %d of request %s",
			e.GetBytes(), e.GetSlotIndex(), e.GetRequestId(), l.SlotSize, l.Index, l.Request)
	case h.foreign(in, l.Member):
		a.cross(ReservationOwner, p, "the sale is of member %q, and has its reservation in another ledger", l.Member)
	default:
		a.checkPromise(h, l, p, e)
	}
	return true
}

func (a *auditor) fitsRelease(h *host, in *ledger, p place, e *messages.ReservationDeleted) bool {
	r, open := in.reservation(e.GetReservationId())
	if !open {
		a.find(ReservationNotOpen, p, "reservation %s was released, but is not open", e.GetReservationId())
		return false
	}
	back, lost := amount(e.GetCollateralReturned()), amount(e.GetCollateralLost())
	if !a.fits(p, back.AddSaturating(lost) == r.Collateral, "reservation %s was settled with %s returned and %s lost; "+
		"%s were committed", r.ID, back, lost, r.Collateral) {
		return false
	}
	l := h.sales[r.Slot]
	if l == nil || l.account == nil || l.Attempt != r.Attempt {
		return true // Found before, or nothing can be said.
	}
	if !l.ended() || !l.Deleted && !l.Forfeited {
		a.cross(ReservationEarly, p, "the sale is in phase %s, its data deleted: %t", l.Phase, l.Deleted)
	}
	l.Released, l.LedgerReturn, l.LedgerLoss = true, back, lost
	return true
}
