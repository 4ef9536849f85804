package slotqueue

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// mutate replaces the numbers of an example.
func mutate(e Event, index, revision uint64) {
	switch e := e.(type) {
	case *messages.SlotsQueued:
		e.SlotIndices, e.MarketRevision = []uint64{index, index + 1, index}, revision
	case *messages.SlotTaken:
		e.SlotIndex = index
	case *messages.SlotReleased:
		e.SlotIndex, e.Requeue = index, revision%2 == 0
	case *messages.SlotRemoved:
		e.SlotIndices = []uint64{index}
	case *messages.SlotsRefused:
		e.SlotIndices = []uint64{index, index}
	case *messages.QueuePaused:
		e.ByOperator = index%2 == 0
	case *messages.QueueResumed:
		e.ByOperator = index%2 == 0
		if e.Criteria = nil; revision%3 == 0 {
			e.Criteria = []string{"price"}
		}
	case *messages.ClientAvoided:
		e.Client = events.Address{byte(index)}.String()
	}
}

// numbered is the offer of one slot of a request, whose place in the order does not follow from
// its number.
func numbered(i uint64) Queue {
	var id events.RequestID
	binary.BigEndian.PutUint64(id[:], i)
	c := Queue{At: start, RequestID: id, SlotIndices: []uint64{0}, Terms: terms(i * 0x9e3779b97f4a7c15 >> 20)}
	c.Terms.Expiry = start.Add(time.Duration(i) * time.Second)
	return c
}

// holding is a queue of n slots, each of another request.
func holding(b *testing.B, n int, l Limits) State {
	b.Helper()
	s := New(l)
	for i := range n {
		s = apply(b, s, numbered(uint64(i)))
	}
	if s.Len() != n {
		b.Fatalf("%d slots, want %d", s.Len(), n)
	}
	return s
}

func apply(b *testing.B, s State, c Command) State {
	out, err := Decide(s, c)
	if err != nil || len(out) == 0 {
		b.Fatal(out, err)
	}
	for _, e := range out {
		s = Evolve(s, e)
	}
	return s
}

// BenchmarkQueue decides and folds commands on a queue of 100,000 slots.
func BenchmarkQueue(b *testing.B) {
	const n = 100_000
	b.Run("push and remove", func(b *testing.B) {
		s := holding(b, n, Limits{MaxItems: 2 * n})
		b.ReportAllocs()
		for i := uint64(n); b.Loop(); i++ {
			c := numbered(i)
			s = apply(b, s, c)
			s = apply(b, s, Remove{At: start, RequestID: c.RequestID})
		}
	})
	b.Run("pop and requeue", func(b *testing.B) {
		s := holding(b, n, Limits{MaxItems: 2 * n})
		b.ReportAllocs()
		for b.Loop() {
			s = apply(b, s, Take{start, 1})
			it := s.Taken()[0]
			s = apply(b, s, Release{At: start, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Outcome: "done", Requeue: true})
			if s.seen.n == n/2 {
				b.StopTimer()
				s = apply(b, s, Wake{At: start, Reason: "again"})
				b.StartTimer()
			}
		}
	})
	b.Run("push on a full queue", func(b *testing.B) {
		s := holding(b, n, Limits{MaxItems: n})
		b.ReportAllocs()
		for i := uint64(n); b.Loop(); i++ {
			s = apply(b, s, numbered(i))
		}
	})
	b.Run("wake 50,000 seen", func(b *testing.B) {
		s := holding(b, n, Limits{MaxItems: 2 * n})
		for b.Loop() {
			b.StopTimer()
			for range n / 2 {
				s = apply(b, s, Take{start, 1})
				it := s.Taken()[0]
				s = apply(b, s, Release{At: start, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Outcome: "done", Requeue: true})
			}
			b.StartTimer()
			s = apply(b, s, Wake{At: start, Reason: "again"})
		}
	})
}

// BenchmarkMemory says how many bytes a queued slot takes at the worst, alone
// in its request.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := holding(b, n, Limits{MaxItems: n})
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/slot")
		runtime.KeepAlive(s)
	}
}

// BenchmarkPieces1M writes and restores a queue of a million slots, each of
// another request: the most that a setting allows, and the worst of that.
func BenchmarkPieces1M(b *testing.B) {
	const n = 1_000_000
	limits := Limits{MaxItems: n}
	s := holding(b, n, limits)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			size := 0
			pieces := s.Pieces()
			for _, piece := range pieces {
				size += len(piece)
			}
			b.ReportMetric(float64(len(pieces)), "pieces")
			b.ReportMetric(float64(size)/n, "B/slot")
		}
	})
	pieces := s.Pieces()
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if r, err := RestorePieces(limits, pieces); err != nil || r.Len() != n {
				b.Fatal(r.Len(), err)
			}
		}
	})
}
