package capacity

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// StateSchema names the form of Pieces. A change of the form, or of the meaning
// of a field, needs a new name; older snapshots are then not used. A test holds
// the form to it (testdata/shape.golden).
const StateSchema = "capacity/3"

// Size is how many entries the state has: availabilities, reservations, sectors,
// pieces, and what is remembered of settled slots and ended sectors.
func (s State) Size() int {
	return len(s.availabilities) + len(s.reservations) + len(s.settled.order) + len(s.sectors) + len(s.ended.order) +
		len(s.pieces)
}

// Pieces is the whole state as bytes, for a snapshot.
func (s State) Pieces() [][]byte {
	var out events.Pieces
	out.Add(&messages.LedgerState{Book: &messages.LedgerBook{
		Quota: uint64(s.book.Quota), Unallocated: uint64(s.book.Unallocated), Free: uint64(s.book.Free),
		Reserved: uint64(s.book.Reserved), Stored: uint64(s.book.Stored), Overhead: uint64(s.book.Overhead),
		Faults: uint64(s.faults), FirstFault: s.firstFault, Sectors: uint64(s.book.Sectors),
		DepositsReturned: s.returned.String(), DepositsLost: s.lost.String(),
		Pieces:    uint64(s.book.Pieces),
		Withdrawn: s.withdrawn.String(), Withdrawals: s.withdrawals,
	}})
	for a := range s.Availabilities() {
		out.Add(&messages.LedgerState{Availabilities: []*messages.LedgerAvailability{{
			Id: a.ID[:], Size: uint64(a.Size), DurationSeconds: uint64(a.Duration / time.Second),
			MinPrice: a.MinPrice.String(), Collateral: a.Collateral.String(), Enabled: a.Enabled,
			Until: events.TimeToMessage(a.Until), Used: uint64(a.Used), Committed: a.Committed.String(),
			Lost: a.Lost.String(), Reservations: uint64(a.Reservations),
		}}})
	}
	for r := range s.Reservations() {
		out.Add(&messages.LedgerState{Reservations: []*messages.LedgerReservation{{
			Id: r.ID[:], AvailabilityId: r.Availability[:], RequestId: r.RequestID[:], SlotId: r.Slot[:],
			SlotIndex: r.SlotIndex, Attempt: r.Attempt, Bytes: uint64(r.Bytes), Stored: uint64(r.Stored),
			Overhead: uint64(r.Overhead), Collateral: r.Collateral.String(),
			ValidUntil: events.TimeToMessage(r.ValidUntil),
		}}})
	}
	for _, slot := range s.settled.order {
		out.Add(&messages.LedgerState{Settled: []*messages.LedgerSettled{{
			SlotId: slot[:], Attempt: s.settled.attempts[slot],
		}}})
	}
	for one := range s.Sectors() {
		out.Add(&messages.LedgerState{Sectors: []*messages.LedgerSector{{
			Sector: one.Number, Unsealed: uint64(one.Unsealed), Sealed: uint64(one.Sealed), Tree: uint64(one.Tree),
			Scratch: uint64(one.Scratch), Deposit: one.Deposit.String(), Lost: one.Lost.String(),
		}}})
	}
	for _, sector := range s.ended.order {
		out.Add(&messages.LedgerState{EndedSectors: []uint64{sector}})
	}
	for _, one := range s.PieceFiles() {
		out.Add(&messages.LedgerState{Pieces: []*messages.LedgerPiece{{Cid: one.CID, Bytes: uint64(one.Bytes)}}})
	}
	return out.All()
}

// RestorePieces returns the state that Pieces wrote, under the limits of this
// start. Pieces that contradict each other are an error.
func RestorePieces(l Limits, pieces [][]byte) (State, error) {
	b := builder{State: NewWithin(l)}
	err := events.JoinPieces(pieces, b.read)
	if err == nil && !b.booked {
		err = fmt.Errorf("%w: the book is missing", events.ErrMalformed)
	}
	if err != nil {
		return State{}, fmt.Errorf("restore the ledger: %w", err)
	}
	return b.State, nil
}

// builder is a ledger that is being restored from pieces.
type builder struct {
	State
	booked bool
}

func (b *builder) read(m *messages.LedgerState) error {
	if book := m.GetBook(); book != nil {
		if err := b.putBook(book); err != nil {
			return err
		}
	}
	for _, a := range m.GetAvailabilities() {
		if err := b.putAvailability(a); err != nil {
			return fmt.Errorf("availability %x: %w", a.GetId(), err)
		}
	}
	for _, r := range m.GetReservations() {
		if err := b.putReservation(r); err != nil {
			return fmt.Errorf("reservation %x: %w", r.GetId(), err)
		}
	}
	for _, one := range m.GetSettled() {
		var slot events.SlotID
		if err := events.SetID(&slot, one.GetSlotId()); err != nil {
			return err
		}
		b.settled.add(slot, one.GetAttempt(), b.limits.MaxSettled)
	}
	for _, one := range m.GetSectors() {
		if err := b.putSector(one); err != nil {
			return fmt.Errorf("sector %d: %w", one.GetSector(), err)
		}
	}
	for _, sector := range m.GetEndedSectors() {
		b.ended.add(sector, 1, b.limits.MaxSettled)
	}
	for _, one := range m.GetPieces() {
		if b.pieces[one.GetCid()] != 0 {
			return fmt.Errorf("piece %s: %w: it is there twice", one.GetCid(), events.ErrMalformed)
		}
		b.pieces[one.GetCid()] = events.Bytes(one.GetBytes())
	}
	return nil
}

func (b *builder) putBook(m *messages.LedgerBook) error {
	b.booked = true
	b.book = Book{
		Quota: events.Bytes(m.GetQuota()), Unallocated: events.Bytes(m.GetUnallocated()),
		Free: events.Bytes(m.GetFree()), Reserved: events.Bytes(m.GetReserved()),
		Stored: events.Bytes(m.GetStored()), Overhead: events.Bytes(m.GetOverhead()),
		Sectors: events.Bytes(m.GetSectors()), Pieces: events.Bytes(m.GetPieces()),
	}
	b.faults, b.firstFault = int(m.GetFaults()), m.GetFirstFault()
	b.withdrawals = m.GetWithdrawals()
	return cmp.Or(
		b.returned.UnmarshalText([]byte(m.GetDepositsReturned())),
		b.lost.UnmarshalText([]byte(m.GetDepositsLost())),
		b.withdrawn.UnmarshalText([]byte(m.GetWithdrawn())),
	)
}

func (b *builder) putSector(m *messages.LedgerSector) error {
	one := &Sector{Number: m.GetSector(), Space: SpaceOf(m)}
	if err := cmp.Or(
		one.Deposit.UnmarshalText([]byte(m.GetDeposit())), one.Lost.UnmarshalText([]byte(m.GetLost())),
	); err != nil {
		return err
	}
	if b.sectors[one.Number] != nil {
		return fmt.Errorf("%w: it is there twice", events.ErrMalformed)
	}
	b.sectors[one.Number] = one
	return nil
}

func (b *builder) putAvailability(m *messages.LedgerAvailability) error {
	a := &Availability{
		Used: events.Bytes(m.GetUsed()), Reservations: int(m.GetReservations()),
		Offer: Offer{
			Size: events.Bytes(m.GetSize()), Duration: events.Seconds(m.GetDurationSeconds()),
			Enabled: m.GetEnabled(), Until: events.TimeFromMessage(m.GetUntil()),
		},
	}
	if err := cmp.Or(
		events.SetID(&a.ID, m.GetId()),
		a.MinPrice.UnmarshalText([]byte(m.GetMinPrice())), a.Collateral.UnmarshalText([]byte(m.GetCollateral())),
		a.Committed.UnmarshalText([]byte(m.GetCommitted())), a.Lost.UnmarshalText([]byte(m.GetLost())),
	); err != nil {
		return err
	}
	if b.availabilities[a.ID] != nil {
		return fmt.Errorf("%w: it is there twice", events.ErrMalformed)
	}
	b.availabilities[a.ID] = a
	return nil
}

func (b *builder) putReservation(m *messages.LedgerReservation) error {
	r := &Reservation{
		SlotIndex: m.GetSlotIndex(), Attempt: m.GetAttempt(), Bytes: events.Bytes(m.GetBytes()),
		Stored: events.Bytes(m.GetStored()), Overhead: events.Bytes(m.GetOverhead()),
		ValidUntil: events.TimeFromMessage(m.GetValidUntil()),
	}
	if err := cmp.Or(
		events.SetID(&r.ID, m.GetId()), events.SetID(&r.Availability, m.GetAvailabilityId()),
		events.SetID(&r.RequestID, m.GetRequestId()), events.SetID(&r.Slot, m.GetSlotId()),
		r.Collateral.UnmarshalText([]byte(m.GetCollateral())),
	); err != nil {
		return err
	}
	if b.reservations[r.ID] != nil || b.availabilities[r.Availability] == nil {
		return fmt.Errorf("%w: it is there twice, or belongs to no availability", events.ErrMalformed)
	}
	b.reservations[r.ID] = r
	return nil
}
