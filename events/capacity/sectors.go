package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Part names what a sector holds bytes for. The names are stored in events.
type Part string

// The parts. They are given back at different times: scratch when the sector is
// finalized, the others when it is removed, and unsealed earlier if no copy of
// the data is kept.
const (
	PartUnsealed Part = "unsealed"
	PartSealed   Part = "sealed"
	PartTree     Part = "tree"
	PartScratch  Part = "scratch"
)

// Parts are all of them.
func Parts() []Part { return []Part{PartUnsealed, PartSealed, PartTree, PartScratch} }

// Space is how many bytes the parts of a sector take.
type Space struct{ Unsealed, Sealed, Tree, Scratch events.Bytes }

// Of is the bytes of one part; 0 for a part that is unknown.
func (s Space) Of(p Part) events.Bytes {
	if at := s.at(p); at != nil {
		return *at
	}
	return 0
}

func (s *Space) at(p Part) *events.Bytes {
	switch p {
	case PartUnsealed:
		return &s.Unsealed
	case PartSealed:
		return &s.Sealed
	case PartTree:
		return &s.Tree
	case PartScratch:
		return &s.Scratch
	}
	return nil
}

func (p Part) known() bool { return new(Space).at(p) != nil }

// total does not wrap around for parts within MaxQuota.
func (s Space) total() events.Bytes { return s.Unsealed + s.Sealed + s.Tree + s.Scratch }

func (s Space) check() error {
	for _, p := range Parts() {
		if s.Of(p) > MaxQuota {
			return fmt.Errorf("%w: %d bytes for its %s files, the most is %d", ErrInvalid, s.Of(p), p, MaxQuota)
		}
	}
	if s.total() == 0 {
		return fmt.Errorf("%w: it needs no bytes", ErrInvalid)
	}
	return nil
}

// Sector is what a sector holds: the bytes of the parts that were not released, and
// its deposit.
type Sector struct {
	Number uint64
	Space
	// Deposit is at stake; Lost was burnt.
	Deposit, Lost events.Amount
}

// Deposits is the deposits of all sectors, also of those that have ended, and how much the contract has paid:
// returned deposits and rewards.
type Deposits struct {
	Held, Returned, Lost, Withdrawn events.Amount
	// Withdrawals counts the payments.
	Withdrawals uint64
}

// Add adds those of another ledger.
func (d *Deposits) Add(of Deposits) {
	d.Held, d.Returned = d.Held.AddSaturating(of.Held), d.Returned.AddSaturating(of.Returned)
	d.Lost, d.Withdrawn = d.Lost.AddSaturating(of.Lost), d.Withdrawn.AddSaturating(of.Withdrawn)
}

// Commands for sectors.
type (
	// Hold claims space and deposit for a sector, whose number is never used again. A
	// sector that gave its scratch space back, and is sealed again, gets it once more.
	// Errors: *SpaceError when there is no room, *DepositError when the deposits of
	// all sectors would be too much, ErrHeld, ErrEnded, ErrLimit.
	Hold struct {
		At      time.Time
		Sector  uint64 // from 1
		Space   Space
		Deposit events.Amount
		// MaxDeposits bounds the deposits of all sectors together, this one
		// included; nil: no bound. A sector without a deposit is never refused for
		// it.
		MaxDeposits *events.Amount
		// Quota is what the host may use in all, as in Ask.
		Quota events.Bytes
	}
	// ReleasePart gives the bytes of a part back. Its files must be deleted
	// before. A part that was released already, or never held, is left alone.
	ReleasePart struct {
		At     time.Time
		Sector uint64
		Part   Part
	}
	// SettleDeposit says how much of the deposit is still set aside and how much is
	// lost in all; the rest was returned. More may be set aside than before, within
	// MaxDeposits: a message that expired cost some of it, and is sent again.
	SettleDeposit struct {
		At          time.Time
		Sector      uint64
		Held, Lost  events.Amount
		MaxDeposits *events.Amount
	}
	// Withdraw says that the contract has paid what it owed. Number is one more than
	// Deposits.Withdrawals was; one that is recorded already is left alone.
	Withdraw struct {
		At      time.Time
		Number  uint64
		Amount  events.Amount
		Message events.Hash
	}
)

func (c Hold) given() time.Time          { return c.At }
func (c ReleasePart) given() time.Time   { return c.At }
func (c SettleDeposit) given() time.Time { return c.At }
func (c Withdraw) given() time.Time      { return c.At }

// Errors about sectors.
var (
	// ErrHeld: the sector holds space already, of another size than it asks for now.
	ErrHeld = errors.New("the sector holds space of another size")
	// ErrEnded: the sector gave everything back. A new sector needs a new number.
	ErrEnded = errors.New("the sector has ended")
)

// DepositError says that the deposits of all sectors together would be too much.
type DepositError struct {
	Sector             uint64
	Wanted, Held, Most events.Amount // by this sector; by the others; by all
}

func (e *DepositError) Error() string {
	return fmt.Sprintf("sector %d needs a deposit of %s, the others have %s at stake, the most is %s",
		e.Sector, e.Wanted, e.Held, e.Most)
}

func decideHold(s State, c Hold) ([]Event, error) {
	doing := fmt.Sprintf("hold space for sector %d", c.Sector)
	if c.Sector == 0 {
		return nil, fmt.Errorf("%s: %w: sectors are counted from 1", doing, ErrInvalid)
	}
	if err := c.Space.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	claim, deposit := c.Space, c.Deposit
	if one := s.sectors[c.Sector]; one != nil {
		if claim, deposit = (Space{}), (events.Amount{}); one.Scratch == 0 {
			claim.Scratch = c.Space.Scratch
		}
		for _, p := range Parts() {
			if held := one.Of(p); held != 0 && held != c.Space.Of(p) {
				return nil, fmt.Errorf("%s: %w: %d bytes for its %s files, not %d",
					doing, ErrHeld, held, p, c.Space.Of(p))
			}
		}
		if claim.total() == 0 {
			return nil, nil
		}
	} else if s.ended.attempts[c.Sector] > 0 {
		return nil, fmt.Errorf("%s: %w", doing, ErrEnded)
	} else if n := len(s.sectors); n >= s.limits.MaxSectors {
		return nil, fmt.Errorf("%s: %w: %d sectors", doing, ErrLimit, n)
	}
	if s.beyond(c.Quota) || claim.total() > s.room(c.Quota) {
		return nil, &SpaceError{doing, claim.total(), s.book}
	}
	if err := s.mayDeposit(c.Sector, deposit, c.MaxDeposits); err != nil {
		return nil, err
	}
	return []Event{&messages.SectorSpaceHeld{
		Sector: c.Sector, Unsealed: uint64(claim.Unsealed), Sealed: uint64(claim.Sealed),
		Tree: uint64(claim.Tree), Scratch: uint64(claim.Scratch), Deposit: deposit.String(),
	}}, nil
}

// mayDeposit reports whether a sector may have this much at stake.
func (s State) mayDeposit(sector uint64, wanted events.Amount, most *events.Amount) error {
	var others events.Amount
	if most == nil || wanted.IsZero() {
		return nil
	}
	for _, one := range s.sectors {
		if one.Number != sector {
			others = others.AddSaturating(one.Deposit)
		}
	}
	if most.SubFloor(others).Less(wanted) {
		return &DepositError{sector, wanted, others, *most}
	}
	return nil
}

func decideReleasePart(s State, c ReleasePart) ([]Event, error) {
	if !c.Part.known() {
		return nil, fmt.Errorf("release a part of sector %d: %w: %q is none of %v",
			c.Sector, ErrInvalid, c.Part, Parts())
	}
	one := s.sectors[c.Sector]
	if one == nil || one.Of(c.Part) == 0 {
		return nil, nil
	}
	return []Event{&messages.SectorSpaceReleased{
		Sector: c.Sector, Part: string(c.Part), Bytes: uint64(one.Of(c.Part)),
	}}, nil
}

func decideDeposit(s State, c SettleDeposit) ([]Event, error) {
	one := s.sectors[c.Sector]
	switch {
	case one == nil || one.Deposit == c.Held && one.Lost == c.Lost:
		return nil, nil
	case c.Lost.Less(one.Lost):
		return nil, fmt.Errorf("settle the deposit of sector %d: %w: %s are lost, and %s were before",
			c.Sector, ErrInvalid, c.Lost, one.Lost)
	case one.Deposit.Less(c.Held):
		if err := s.mayDeposit(c.Sector, c.Held, c.MaxDeposits); err != nil {
			return nil, err
		}
	}
	return []Event{&messages.SectorDepositSettled{Sector: c.Sector, Held: c.Held.String(), Lost: c.Lost.String()}}, nil
}

func decideWithdraw(s State, c Withdraw) ([]Event, error) {
	switch {
	case c.Number > 0 && c.Number <= s.withdrawals:
		return nil, nil
	case c.Number != s.withdrawals+1 || c.Amount.IsZero():
		return nil, fmt.Errorf("record withdrawal %d of %s: %w: there are %d",
			c.Number, c.Amount, ErrInvalid, s.withdrawals)
	}
	return []Event{&messages.SectorFundsWithdrawn{
		Number: c.Number, Amount: c.Amount.String(), Message: c.Message.String(),
	}}, nil
}

// SpaceOf is the space that a message names.
func SpaceOf(e interface {
	GetUnsealed() uint64
	GetSealed() uint64
	GetTree() uint64
	GetScratch() uint64
},
) Space {
	return Space{
		Unsealed: events.Bytes(e.GetUnsealed()), Sealed: events.Bytes(e.GetSealed()),
		Tree: events.Bytes(e.GetTree()), Scratch: events.Bytes(e.GetScratch()),
	}
}

func (s *State) hold(sector uint64, space Space, deposit events.Amount) {
	switch one := s.sectors[sector]; {
	case one == nil:
		s.sectors[sector] = &Sector{Number: sector, Space: space, Deposit: deposit}
	case one.Scratch == 0 && space == Space{Scratch: space.Scratch} && deposit.IsZero(): // It is sealed again.
		one.Scratch = space.Scratch
	default:
		s.fault("sector %d was given space twice", sector)
		return
	}
	move(&s.book.Unallocated, &s.book.Sectors, space.total())
}

func (s *State) releasePart(sector uint64, p Part, bytes events.Bytes) {
	one := s.sectors[sector]
	if one == nil || one.Of(p) != bytes || bytes == 0 {
		s.fault("%d bytes of the %s files of sector %d were released, which it does not have", bytes, p, sector)
		return
	}
	*one.at(p) = 0
	move(&s.book.Sectors, &s.book.Unallocated, bytes)
	s.endSector(one)
}

func (s *State) settleDeposit(sector uint64, held, lost events.Amount) {
	one := s.sectors[sector]
	if one == nil || lost.Less(one.Lost) {
		s.fault("the deposit of sector %d was settled, which it does not have, or it lost less than before", sector)
		return
	}
	before, after := one.Deposit.AddSaturating(one.Lost), held.AddSaturating(lost)
	s.returned = s.returned.AddSaturating(before.SubFloor(after))
	s.lost = s.lost.AddSaturating(lost.Sub(one.Lost))
	one.Deposit, one.Lost = held, lost
	s.endSector(one)
}

func (s *State) withdraw(number uint64, amount events.Amount) {
	if number != s.withdrawals+1 {
		s.fault("withdrawal %d was recorded after %d", number, s.withdrawals)
		return
	}
	s.withdrawals, s.withdrawn = number, s.withdrawn.AddSaturating(amount)
}

// endSector forgets a sector that holds nothing any more.
func (s *State) endSector(one *Sector) {
	if one.total() == 0 && one.Deposit.IsZero() {
		delete(s.sectors, one.Number)
		s.ended.add(one.Number, 1, s.limits.MaxSettled)
	}
}

// Sector returns a copy of what a sector holds; false when it holds nothing.
func (s State) Sector(number uint64) (Sector, bool) {
	return copyOf(s.sectors[number])
}

// Sectors yields copies of what sectors hold, in order of their numbers.
func (s State) Sectors() iter.Seq[Sector] { return inOrder(s.sectors, cmp.Compare[uint64]) }

// Deposits are those of all sectors together. It looks at all of them.
func (s State) Deposits() Deposits {
	d := Deposits{Returned: s.returned, Lost: s.lost, Withdrawn: s.withdrawn, Withdrawals: s.withdrawals}
	for _, one := range s.sectors {
		d.Held = d.Held.AddSaturating(one.Deposit)
	}
	return d
}

// checkSectors checks each sector, and counts what it holds.
func (s State) checkSectors(counted *Book) error {
	var lost events.Amount
	for number, one := range s.sectors {
		if one.Number != number || one.total() == 0 && one.Deposit.IsZero() {
			return fmt.Errorf("capacity: sector %d holds nothing under number %d", one.Number, number)
		}
		lost = lost.AddSaturating(one.Lost)
		move(&counted.Unallocated, &counted.Sectors, one.total())
	}
	if s.lost.Less(lost) {
		return fmt.Errorf("capacity: sectors have lost %s, in all %s are", lost, s.lost)
	}
	return nil
}
