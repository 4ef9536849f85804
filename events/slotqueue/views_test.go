package slotqueue

import (
	"testing"
)

func TestViewsTellPlacesAndWorkers(t *testing.T) {
	s := given(t, Limits{}, at(7, queue(1, 5, 0, 1)), queue(2, 6, 3), take, remove(2), queue(2, 4, 3))
	if s.Len() != 2 || s.LastMarketRevision() != 7 {
		t.Fatalf("%d slots at revision %d", s.Len(), s.LastMarketRevision())
	}
	if n, queued := s.Position(request(1), 1); n != 1 || !queued {
		t.Fatalf("position %d, %v", n, queued)
	}
	for _, index := range []uint64{3, 4} {
		if _, queued := s.Position(request(2), index); queued {
			t.Fatalf("slot %d of the second request is queued", index)
		}
	}
	taken := s.Taken()
	if len(taken) != 1 || !taken[0].Gone || taken[0].Again == nil || taken[0].Again.Profitability != amount(4) {
		t.Fatalf("taken %+v", taken)
	}
	for it := range s.Items() {
		if it.QueuedAt != start || it.SlotSize != 100 || it.RequestID != request(1) {
			t.Fatalf("item %+v", it)
		}
		break // A sequence may be left early.
	}
	if got := New(Limits{}).limits; got != (Limits{MaxItems: 100_000, MaxRefused: 10_000, MaxAvoided: 1_000}) {
		t.Fatalf("default limits %+v", got)
	}
}

func TestWakingKeepsTheOrderHoweverManyWereSeen(t *testing.T) {
	for _, seen := range []int{1, 3, 30, 64} {
		s := New(Limits{})
		for i := range 64 {
			s, _ = step(t, s, queue(byte(i), uint64(i*37%64), 0))
		}
		want := order(s)
		for range seen {
			s, _ = step(t, s, take)
			it := s.Taken()[0]
			s, _ = step(t, s, Release{At: start, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Outcome: "nothing fits", Requeue: true})
		}
		if got := order(s); got == want {
			t.Fatalf("after %d looks the order is still %s", seen, got)
		}
		s, _ = step(t, s, wake)
		if got := order(s); got != want {
			t.Fatalf("after %d looks and waking: %s,\nwant %s", seen, got, want)
		}
	}
}
