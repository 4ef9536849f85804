package capacity

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
)

// source draws numbers below n: from rapid, or from the bytes of a fuzzer.
type source func(n int) int

// anyCommand draws from few ids and sizes, so that commands concern the same things, and draws
// mostly valid commands.
func anyCommand(draw source, s State) Command {
	at := start.Add(time.Duration(draw(100)) * time.Second)
	availability := fill[events.AvailabilityID](byte(draw(3) + 1))
	slot, attempt := fill[events.SlotID](byte(draw(4)+1)), uint32(1+draw(2))
	few := func(n int) int { // Zero is rare: it is refused nearly everywhere.
		if draw(15) == 1 {
			return 0
		}
		return 1 + draw(n)
	}
	bytes := func() events.Bytes { return events.Bytes(few(5)) * 100 }
	tokens := func() events.Amount { return amount(uint64(few(5)) * 300) }
	price := func() events.Amount { return amount(uint64(few(3))) }
	hours := func() time.Duration { return time.Duration(few(3)) * time.Hour }
	kind := draw(14)
	switch kind {
	case 11, 12, 13:
		return anySectorCommand(draw, s, at, bytes, tokens)
	case 0:
		return SetQuota{At: at, Bytes: bytes() * 8, Near: draw(2) == 0}
	case 1, 2:
		o := Offer{bytes() * 2, hours(), price(), tokens(), draw(4) > 0, time.Time{}}
		if draw(3) == 1 {
			o.Until = start.Add(hours())
		}
		return Create{at, availability, o}
	case 3:
		return anyUpdate(draw, Update{
			At: at, ID: availability, Size: ptr(bytes() * 2), Duration: ptr(hours()),
			MinPrice: ptr(price()), Collateral: ptr(tokens()), Enabled: ptr(draw(3) > 0),
			Until: ptr(start.Add(hours())),
		})
	case 4:
		return Delete{at, availability}
	case 5, 6, 7:
		return Reserve{
			At: at, Slot: slot, Attempt: attempt * uint32(few(1)),
			Ask: anyAsk(draw),
		}
	case 8:
		return Release{at, ReservationIDOf(slot, attempt), events.Bytes(draw(600))}
	}
	returned, lost := tokens(), tokens()
	if r, held := s.Reservation(ReservationIDOf(slot, attempt)); held && draw(4) > 0 {
		returned = r.Collateral.SubFloor(lost)
		lost = r.Collateral.Sub(returned)
	}
	settle := Settle{at, events.ReservationID{}, slot, attempt, returned, lost}
	if kind == 9 {
		return Renew{settle, Reserve{At: at, Slot: slot, Attempt: attempt + 1, Ask: anyAsk(draw)}}
	}
	return settle
}

// anySectorCommand draws a command about one of two sectors.
func anySectorCommand(
	draw source, s State, at time.Time, bytes func() events.Bytes, tokens func() events.Amount,
) Command {
	sector := uint64(1 + draw(3))
	most := ptr(amount(uint64(draw(10)) * 300))
	if draw(2) == 0 {
		most = nil
	}
	switch draw(7) {
	case 6:
		return Withdraw{at, s.Deposits().Withdrawals + uint64(draw(3)), tokens(), events.Hash{1}}
	case 0, 1:
		space := Space{Unsealed: bytes() / 2, Sealed: bytes() / 2, Scratch: events.Bytes(draw(60))}
		return Hold{at, sector, space, tokens(), most, events.Bytes(draw(2) * draw(4000))}
	case 2:
		return ReleasePart{at, sector, Parts()[draw(4)]}
	case 3:
		return HoldPiece{at, Piece{fmt.Sprintf("baga%d", draw(3)), events.Bytes(draw(3)) * 100}, events.Bytes(draw(2) * draw(4000))}
	case 4:
		return ReleasePiece{at, fmt.Sprintf("baga%d", draw(3))}
	}
	one, _ := s.Sector(sector)
	lost := amount(uint64(draw(4)) * 100)
	return SettleDeposit{at, sector, one.Deposit.SubFloor(lost), one.Lost.AddSaturating(lost), most}
}

func TestEveryCommandIsDrawn(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	var drawn []Command
	for range 1000 {
		drawn = append(drawn, anyCommand(chance.IntN, New()))
	}
	housetest.Complete(t, ".", "command", drawn, "commands that anyCommand draws")
}

// anyAsk draws mostly demands that some availability meets.
func anyAsk(draw source) Ask {
	ask := Ask{
		SlotSize: events.Bytes(1+draw(5)) * 100, Duration: time.Duration(1+draw(3)) * time.Hour,
		PricePerBytePerSecond: amount(uint64(1 + draw(3))), CollateralPerByte: amount(uint64(draw(4))),
		RequestEnd: start.Add(time.Duration(1+draw(3)) * time.Hour), Overhead: events.Bytes(draw(50)),
	}
	if draw(2) == 0 {
		ask.MaxAtRisk = ptr(amount(uint64(draw(8)) * 300))
	}
	if draw(4) == 0 {
		ask.Quota = events.Bytes(1 + draw(3000))
	}
	return ask
}

// anyUpdate is an update with one of the given changes.
func anyUpdate(draw source, all Update) Command {
	u := Update{At: all.At, ID: all.ID}
	switch draw(6) {
	case 0:
		u.Size = all.Size
	case 1:
		u.Duration = all.Duration
	case 2:
		u.MinPrice = all.MinPrice
	case 3:
		u.Collateral = all.Collateral
	case 4:
		u.Enabled = all.Enabled
	case 5:
		u.Until = all.Until
	}
	return u
}

// fatal is what rapid's and testing's T have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// machine holds the live ledger and one that is folded from stored events.
type machine struct {
	live, replayed State
	codec          *events.Codec
	settled        map[events.ReservationID]int
}

func newMachine() *machine {
	return &machine{New(), New(), events.NewCodec(Table()), map[events.ReservationID]int{}}
}

// do decides a command, twice, and checks everything that must always hold.
func (m *machine) do(t fatal, c Command) {
	t.Helper()
	before := m.live.Snapshot()
	out, err := Decide(m.live, c)
	if err != nil && len(out) > 0 {
		t.Fatalf("%+v: events %v with an error: %v", c, out, err)
	}
	if diff := difference(before, m.live.Snapshot()); diff != "" {
		t.Fatalf("%+v: Decide changed the state:\n%s", c, diff)
	}
	for _, e := range out {
		m.live = Evolve(m.live, e)
		m.replayed = Evolve(m.replayed, m.stored(t, e))
	}
	if err := m.live.Check(); err != nil {
		t.Fatalf("after %+v: %v", c, err)
	}
	if diff := difference(m.live.Snapshot(), m.replayed.Snapshot()); diff != "" {
		t.Fatalf("after %+v the replayed ledger differs (-live +replayed):\n%s", c, diff)
	}
	if again, err := Decide(m.live, c); len(out) > 0 && (len(again) > 0 || err != nil) {
		t.Fatalf("%+v given twice: %v, %v", c, again, err)
	}
	m.checkOutcome(t, c, before, err)
}

func (m *machine) stored(t fatal, e Event) Event {
	name, version, data, err := m.codec.Encode(e)
	if err != nil {
		t.Fatalf("store %T: %v", e, err)
	}
	back, err := m.codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil {
		t.Fatalf("read %T: %v", e, err)
	}
	return back.(Event)
}

// checkOutcome checks a command's result independently: what was asked for holds, and a match
// is that of a plain search.
func (m *machine) checkOutcome(t fatal, c Command, before Snapshot, err error) {
	t.Helper()
	switch c := c.(type) {
	case Reserve:
		r, held := m.live.Reservation(ReservationIDOf(c.Slot, c.Attempt))
		if held != (err == nil) && !errors.Is(err, ErrInvalid) {
			t.Fatalf("%+v: reservation %v, error %v", c, held, err)
		}
		if held && len(before.Reservations) < len(m.live.Snapshot().Reservations) {
			if want := plainMatch(before, c.Ask); want != r.Availability {
				t.Fatalf("%+v: matched %s, a plain search finds %s", c, r.Availability, want)
			}
		}
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			if want := plainMatch(before, c.Ask); want != (events.AvailabilityID{}) || refusal.Reason == "" {
				t.Fatalf("%+v: refused (%v), a plain search finds %s", c, refusal, want)
			}
		}
	case Release:
		if r, _ := m.live.Reservation(c.Reservation); err == nil && r.Stored < c.TotalStored {
			t.Fatalf("%+v: accepted, but only %d bytes are granted", c, r.Stored)
		}
	case Settle:
		if _, held := m.live.Reservation(ReservationIDOf(c.Slot, c.Attempt)); err == nil && held {
			t.Fatalf("%+v: accepted, but the reservation is there", c)
		}
	case Hold:
		if _, held := m.live.Sector(c.Sector); err == nil && !held {
			t.Fatalf("%+v: accepted, but nothing is held", c)
		}
	case ReleasePart:
		if one, _ := m.live.Sector(c.Sector); err == nil && one.Of(c.Part) != 0 {
			t.Fatalf("%+v: accepted, but %d bytes are held", c, one.Of(c.Part))
		}
	case SettleDeposit:
		if d := m.live.Deposits(); d.Held.Less(c.Held) && err == nil && one(m.live, c.Sector) {
			t.Fatalf("%+v: accepted, but the deposits are %+v", c, d)
		}
	case HoldPiece:
		if held := m.live.PieceBytes(c.CID); err == nil && held != c.Bytes {
			t.Fatalf("%+v: accepted, but %d bytes are held", c, held)
		}
	case ReleasePiece:
		if held := m.live.PieceBytes(c.CID); err == nil && held != 0 {
			t.Fatalf("%+v: accepted, but %d bytes are held", c, held)
		}
	case Withdraw:
		if d := m.live.Deposits(); err == nil && c.Number > d.Withdrawals+1 {
			t.Fatalf("%+v: accepted, but there are %d", c, d.Withdrawals)
		}
	case SetQuota, Create, Update, Delete, Renew:
	}
}

func one(s State, sector uint64) bool {
	_, held := s.Sector(sector)
	return held
}

// plainMatch is an independent implementation of Match.
func plainMatch(s Snapshot, ask Ask) events.AvailabilityID {
	fits := slices.DeleteFunc(slices.Clone(s.Availabilities), func(a Availability) bool {
		committed := a.Committed.Add(a.Lost)
		needed := ask.CollateralPerByte.MulSaturating(uint64(ask.SlotSize))
		return !a.Enabled || ask.SlotSize > a.Size-a.Used || ask.Duration > a.Duration ||
			ask.PricePerBytePerSecond.Less(a.MinPrice) || a.Collateral.Less(committed.Add(needed)) ||
			!a.Until.IsZero() && a.Until.Before(ask.RequestEnd) || ask.Overhead > s.Book.Unallocated ||
			ask.Quota != 0 && s.Book.Quota-s.Book.Unallocated+ask.Overhead > ask.Quota
	})
	slices.SortFunc(fits, func(a, b Availability) int {
		if a.Size-a.Used != b.Size-b.Used {
			return int(a.Size-a.Used) - int(b.Size-b.Used)
		}
		if a.MinPrice != b.MinPrice {
			return b.MinPrice.Cmp(a.MinPrice)
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	added := ask.CollateralPerByte.MulSaturating(uint64(ask.SlotSize))
	atRisk := added
	for _, r := range s.Reservations {
		atRisk = atRisk.Add(r.Collateral)
	}
	// A slot without collateral puts nothing more at risk, however much is already.
	if len(fits) == 0 || ask.MaxAtRisk != nil && !added.IsZero() && ask.MaxAtRisk.Less(atRisk) {
		return events.AvailabilityID{}
	}
	return fits[0].ID
}

func TestLedgerHoldsForAllCommandsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		m.do(t, SetQuota{At: start, Bytes: 3000})
		below := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") }
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			m.do(t, anyCommand(below, m.live))
		}
	})
}

// TestSettlingEverythingGivesEverythingBack holds whatever came before.
func TestSettlingEverythingGivesEverythingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		m.do(t, SetQuota{At: start, Bytes: 3000})
		below := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") }
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			m.do(t, anyCommand(below, m.live))
		}
		for r := range m.live.Reservations() {
			m.do(t, Settle{At: start, Reservation: r.ID, CollateralReturned: r.Collateral})
		}
		for a := range m.live.Availabilities() {
			m.do(t, Delete{start, a.ID})
		}
		for one := range m.live.Sectors() {
			for _, p := range Parts() {
				m.do(t, ReleasePart{start, one.Number, p})
			}
			m.do(t, SettleDeposit{At: start, Sector: one.Number, Lost: one.Lost})
		}
		for _, one := range m.live.PieceFiles() {
			m.do(t, ReleasePiece{start, one.CID})
		}
		if d := m.live.Deposits(); !d.Held.IsZero() {
			t.Fatalf("in the end %+v", d)
		}
		if b := m.live.Book(); b.Unallocated != b.Quota {
			t.Fatalf("in the end %s", b)
		}
	})
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 5, 2, 1, 4, 1, 0, 0, 0, 0, 0, 4, 4, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 500)] // A longer one finds no more.
		m := newMachine()
		m.do(t, SetQuota{At: start, Bytes: 3000})
		below := func(n int) int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b) * n / 256
		}
		for len(script) > 0 {
			m.do(t, anyCommand(below, m.live))
		}
	})
}

// FuzzEvolve folds events that no ledger would write: nothing panics, and the sums of every
// state that passes Check are right.
func FuzzEvolve(f *testing.F) {
	f.Add([]byte{0, 1, 3, 4, 5}, uint64(1000), "7")
	f.Add([]byte{1, 3, 3, 6}, uint64(1)<<60, "115792089237316195423570985008687907853269984665640564039457584007913129639935")
	f.Fuzz(func(t *testing.T, order []byte, size uint64, tokens string) {
		s := New()
		for _, b := range order[:min(len(order), 100)] {
			e := Table()[int(b)%len(Table())].Example
			mutate(e, size, tokens)
			if check(e) != nil {
				return
			}
			s = Evolve(s, e.(Event))
		}
		_, _ = Match(s, standardAsk())
		if s.Check() == nil && !s.Book().balanced() {
			t.Fatalf("Check passes %s", s.Book())
		}
	})
}

// A refused slot is judged again when the criterion that it failed may be met. No slot that
// fits is overlooked because of that.
func TestNothingThatFitsNowWasNotWoken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		s := New()
		asks := make([]Ask, 4)
		refused := map[int]Criterion{}
		look := func(i int) {
			delete(refused, i)
			if _, r := Match(s, asks[i]); r != nil {
				refused[i] = r.Criterion
			}
		}
		for i := range asks {
			asks[i] = anyAsk(draw)
			look(i)
		}
		for range 5 + draw(60) {
			out, _ := Decide(s, anyCommand(draw, s)) // An invalid command brings no events.
			for _, e := range out {
				s = Evolve(s, e)
				_, criteria := Wakes(s, e)
				for i, ask := range asks {
					if was, known := refused[i]; !known || slices.Contains(criteria, was) {
						look(i)
					} else if _, r := Match(s, ask); r == nil {
						t.Fatalf("%s lets a slot fit that failed %s, and wakes only %v", tell(e), was, criteria)
					}
				}
			}
		}
	})
}
