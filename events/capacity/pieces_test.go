package capacity

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// A ledger that is saved and restored at any points equals, in every part, one that never was,
// and decides the same.
func TestARestoredLedgerGoesOnAsTheReplayedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		limits := Limits{MaxAvailabilities: 2, MaxReservations: 3, MaxSettled: 1 + draw(3)}
		replayed, saved := NewWithin(limits), NewWithin(limits)
		for range 5 + draw(80) {
			if draw(4) == 0 {
				var err error
				if saved, err = RestorePieces(limits, saved.Pieces()); err != nil {
					t.Fatalf("restore: %v", err)
				}
			}
			c := anyCommand(draw, replayed)
			want, err := Decide(replayed, c)
			got, err2 := Decide(saved, c)
			if len(want) != len(got) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
				t.Fatalf("%T: %d events, restored %d; errors %v and %v", c, len(want), len(got), err, err2)
			}
			for i := range want {
				if !proto.Equal(want[i], got[i]) {
					t.Fatalf("%T: %v, restored %v", c, want[i], got[i])
				}
				replayed, saved = Evolve(replayed, want[i]), Evolve(saved, proto.CloneOf(got[i]))
			}
			if err := saved.Check(); err != nil {
				t.Fatalf("after %T: %v", c, err)
			}
			if diff := difference(replayed.Snapshot(), saved.Snapshot()); diff != "" {
				t.Fatalf("after %T (-replayed +restored):\n%s", c, diff)
			}
		}
	})
}

func TestFaultsAreRestoredToo(t *testing.T) {
	s := Evolve(New(), &messages.AvailabilityDeleted{AvailabilityId: fill[events.AvailabilityID](1).String()})
	r, err := RestorePieces(Limits{}, s.Pieces())
	if err != nil || difference(s.Snapshot(), r.Snapshot()) != "" || r.Check() == nil {
		t.Fatalf("%+v, %v", r.Snapshot(), err)
	}
}

func TestPiecesThatContradictEachOtherAreRefused(t *testing.T) {
	id := bytes.Repeat([]byte{1}, 32)
	book := &messages.LedgerState{Book: &messages.LedgerBook{}}
	offer := func(change func(*messages.LedgerAvailability)) *messages.LedgerState {
		a := &messages.LedgerAvailability{Id: id, MinPrice: "1", Collateral: "1", Committed: "0", Lost: "0"}
		change(a)
		return &messages.LedgerState{Availabilities: []*messages.LedgerAvailability{a}}
	}
	same := func(*messages.LedgerAvailability) {}
	sold := func(change func(*messages.LedgerReservation)) *messages.LedgerState {
		r := &messages.LedgerReservation{Id: id, AvailabilityId: id, RequestId: id, SlotId: id, Collateral: "1"}
		change(r)
		return &messages.LedgerState{Reservations: []*messages.LedgerReservation{r}}
	}
	fine := func(*messages.LedgerReservation) {}
	for name, bits := range map[string][]proto.Message{
		"no book":               {offer(same)},
		"an availability twice": {book, offer(same), offer(same)},
		"a reservation twice":   {book, offer(same), sold(fine), sold(fine)},
		"sold from nothing":     {book, sold(fine)},
		"a short id":            {book, offer(func(a *messages.LedgerAvailability) { a.Id = id[1:] })},
		"no price":              {book, offer(func(a *messages.LedgerAvailability) { a.MinPrice = "" })},
		"no collateral":         {book, offer(func(a *messages.LedgerAvailability) { a.Collateral = "x" })},
		"no commitment":         {book, offer(func(a *messages.LedgerAvailability) { a.Committed = "x" })},
		"no loss":               {book, offer(func(a *messages.LedgerAvailability) { a.Lost = "-1" })},
		"a short reservation":   {book, offer(same), sold(func(r *messages.LedgerReservation) { r.Id = nil })},
		"a short availability":  {book, offer(same), sold(func(r *messages.LedgerReservation) { r.AvailabilityId = nil })},
		"a short request":       {book, offer(same), sold(func(r *messages.LedgerReservation) { r.RequestId = nil })},
		"a short slot":          {book, offer(same), sold(func(r *messages.LedgerReservation) { r.SlotId = nil })},
		"no collateral sold":    {book, offer(same), sold(func(r *messages.LedgerReservation) { r.Collateral = "" })},
		"a short slot settled":  {book, &messages.LedgerState{Settled: []*messages.LedgerSettled{{}}}},
	} {
		var p events.Pieces
		for _, bit := range bits {
			p.Add(bit)
		}
		if _, err := RestorePieces(Limits{}, p.All()); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRestorePieces(f *testing.F) {
	s := given(f, SetQuota{At: start, Bytes: 10_000}, Create{start, fill[events.AvailabilityID](1), standard()},
		Reserve{At: start, Slot: fill[events.SlotID](2), Attempt: 1, Ask: standardAsk()})
	f.Add(bytes.Join(s.Pieces(), nil), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		pieces := [][]byte{data}
		if n := int(cut); n < len(data) {
			pieces = [][]byte{data[:n], data[n:]}
		}
		r, err := RestorePieces(Limits{}, pieces)
		if err != nil {
			return
		}
		again, err := RestorePieces(Limits{}, r.Pieces())
		if err != nil || difference(r.Snapshot(), again.Snapshot()) != "" {
			t.Fatalf("what was read is not what is written: %v", err)
		}
	})
}
