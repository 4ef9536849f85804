package capacity

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// fatal is what rapid's and testing's T have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// model holds the live ledger and one that is folded from stored events.
type model struct {
	live, replayed State
	codec          *events.Codec
	settled        map[events.ReservationID]int
}

func newMachine() *model {
	return &model{New(), New(), events.NewCodec(Table()), map[events.ReservationID]int{}}
}

// do decides a command, twice, and checks everything that must always hold.
func (m *model) do(t fatal, c Command) {
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

func (m *model) stored(t fatal, e Event) Event {
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
func (m *model) checkOutcome(t fatal, c Command, before Snapshot, err error) {
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
