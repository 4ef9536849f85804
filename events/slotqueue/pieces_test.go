package slotqueue

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// restored is the state that was saved and loaded again.
func restored(t interface{ Fatalf(string, ...any) }, s State, l Limits) State {
	r, err := RestorePieces(l, s.Pieces())
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if err := r.Check(); err != nil {
		t.Fatalf("the restored queue: %v", err)
	}
	return r
}

// A queue that is saved and restored at any points equals, in every part, one that never was,
// and decides the same.
func TestARestoredQueueGoesOnAsTheReplayedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		limits := Limits{MaxItems: 1 + draw(6), MaxRefused: 1 + draw(3)}
		replayed, saved := New(limits), New(limits)
		for range 5 + draw(60) {
			if draw(4) == 0 {
				saved = restored(t, saved, limits)
			}
			c := anyCommand(draw, replayed)
			want, err := Decide(replayed, c)
			got, err2 := Decide(saved, c)
			if len(want) != len(got) || (err == nil) != (err2 == nil) {
				t.Fatalf("%T: %d events, restored %d; errors %v and %v", c, len(want), len(got), err, err2)
			}
			for i := range want {
				if !proto.Equal(want[i], got[i]) {
					t.Fatalf("%T: %v, restored %v", c, want[i], got[i])
				}
				replayed, saved = Evolve(replayed, want[i]), Evolve(saved, proto.CloneOf(got[i]))
			}
			if diff := difference(replayed.Snapshot(), saved.Snapshot()); diff != "" {
				t.Fatalf("after %T (-replayed +restored):\n%s", c, diff)
			}
		}
	})
}

func TestNothingOfAQueueIsLostInPieces(t *testing.T) {
	limits := Limits{MaxItems: 8, MaxRefused: 3}
	s := given(t, limits,
		queue(1, 5, 0, 1, 2), queue(2, 9, 0), queue(3, 1, 7),
		Take{start, 3}, Take{start, 3}, Take{start, 3},
		Wake{At: start, Reason: "space"},
		Release{At: start, RequestID: request(2), SlotIndex: 0, Outcome: "done", Requeue: true},
		Remove{start, request(1), []uint64{0, 1}, "filled", 3},
		queue(1, 6, 0, 1), // Both wait for their release.
		Queue{
			At: start, RequestID: request(5), SlotIndices: []uint64{3}, MarketRevision: 9,
			Refusal: &Refusal{"price", "numbers"},
		},
		Pause{start, "maintenance"},
	)
	before := s.Snapshot()
	if len(before.Taken) != 2 || before.Taken[0].Again == nil || len(before.Refused) != 1 || !before.Stopped {
		t.Fatalf("the story does not show all: %+v", before)
	}
	if diff := difference(before, restored(t, s, limits).Snapshot()); diff != "" {
		t.Fatalf("(-saved +restored):\n%s", diff)
	}
	a, b := Decide(s, release(1, 0, false))
	r := restored(t, s, limits)
	c, d := Decide(r, release(1, 0, false))
	if len(a) != 2 || len(c) != 2 || b != nil || d != nil || !proto.Equal(a[1], c[1]) {
		t.Fatalf("the newer offer: %v, restored %v", a, c)
	}
	if r.items[key{request(1), 0}].again != r.items[key{request(1), 1}].again {
		t.Fatal("two slots of one newer offer do not share it any more")
	}
}

func TestFaultsAreRestoredToo(t *testing.T) {
	s := Evolve(New(Limits{}), &messages.SlotTaken{RequestId: request(1).String()})
	r, err := RestorePieces(Limits{}, s.Pieces())
	if err != nil || difference(s.Snapshot(), r.Snapshot()) != "" || r.Check() == nil {
		t.Fatalf("%+v, %v", r.Snapshot(), err)
	}
}

func TestAQueueOfManyRequestsIsManyPieces(t *testing.T) {
	const n = 20_000
	s := New(Limits{})
	for i := range uint64(n) {
		o := &offer{request: events.RequestID{byte(i), byte(i >> 8), 1}, at: start, Terms: terms(i % 100)}
		s.insert(&item{offer: o, order: i})
	}
	s.order = n
	pieces := s.Pieces()
	if len(pieces) < 3 {
		t.Fatalf("%d slots are in %d pieces", n, len(pieces))
	}
	if diff := difference(s.Snapshot(), restored(t, s, Limits{}).Snapshot()); diff != "" {
		t.Fatalf("(-saved +restored):\n%.1000s", diff)
	}
}

func TestPiecesThatContradictEachOtherAreRefused(t *testing.T) {
	flags := &messages.QueueState{Flags: &messages.QueueFlags{NextOrder: 9}}
	id := request(1)
	slots := func(change func(*messages.QueueOffer), list ...*messages.QueueSlot) *messages.QueueState {
		o := &messages.QueueOffer{RequestId: id[:], Profitability: "1", Collateral: "1", Slots: list}
		change(o)
		return &messages.QueueState{Offers: []*messages.QueueOffer{o}}
	}
	same := func(*messages.QueueOffer) {}
	for name, bits := range map[string][]proto.Message{
		"no flags":              {slots(same, &messages.QueueSlot{})},
		"a slot twice":          {flags, slots(same, &messages.QueueSlot{}), slots(same, &messages.QueueSlot{Order: 1})},
		"taken twice":           {flags, slots(same, &messages.QueueSlot{Taken: 1}, &messages.QueueSlot{Index: 1, Order: 1, Taken: 1})},
		"no number of its own":  {flags, slots(same, &messages.QueueSlot{}, &messages.QueueSlot{Index: 1})},
		"a number to come":      {flags, slots(same, &messages.QueueSlot{Order: 9})},
		"one taken is missing":  {flags, slots(same, &messages.QueueSlot{Taken: 2})},
		"taken by too many":     {flags, slots(same, &messages.QueueSlot{Taken: 1 << 40})},
		"taken and seen":        {flags, slots(same, &messages.QueueSlot{Taken: 1, Seen: true})},
		"waits for what is not": {flags, slots(same, &messages.QueueSlot{Taken: 1, Again: 1})},
		"a short id":            {flags, slots(func(o *messages.QueueOffer) { o.RequestId = id[:31] })},
		"no amount":             {flags, slots(func(o *messages.QueueOffer) { o.Profitability = "x" })},
		"no collateral":         {flags, slots(func(o *messages.QueueOffer) { o.Collateral = "" })},
		"a short id refused":    {flags, &messages.QueueState{Refusals: []*messages.QueueRefusal{{}}}},
		"a short id waiting":    {flags, &messages.QueueState{Waiting: []*messages.QueueOffer{{}}}},
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
	s, err := Decide(New(Limits{}), queue(1, 5, 0, 1, 2))
	if err != nil {
		f.Fatal(err)
	}
	state := Evolve(New(Limits{}), s[0])
	f.Add(bytes.Join(state.Pieces(), nil), uint8(3))
	state.take(key{request(1), 1})
	f.Add(bytes.Join(state.Pieces(), nil), uint8(7))
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
