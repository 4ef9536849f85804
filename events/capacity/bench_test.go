package capacity

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// mutate replaces the numbers of an example.
func mutate(m proto.Message, size uint64, tokens string) {
	switch e := m.(type) {
	case *messages.QuotaSet:
		e.Bytes = size
	case *messages.AvailabilityCreated:
		e.TotalSize, e.TotalCollateral = size, tokens
	case *messages.AvailabilityUpdated:
		e.TotalCollateral = tokens
	case *messages.ReservationCreated:
		e.Bytes, e.Collateral = size, tokens
	case *messages.BytesReleased:
		e.Bytes = size
	case *messages.ReservationDeleted:
		e.CollateralLost = tokens
	case *messages.SectorSpaceHeld:
		e.Sealed, e.Deposit = size, tokens
	case *messages.SectorSpaceReleased:
		e.Bytes = size
	case *messages.SectorDepositSettled:
		e.Lost = tokens
	}
}

// busy is a ledger with ten offers and n reservations.
func busy(b *testing.B, n int) State {
	b.Helper()
	s := New()
	do := func(c Command) {
		out, err := Decide(s, c)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range out {
			s = Evolve(s, e)
		}
	}
	do(SetQuota{At: start, Bytes: MaxQuota})
	for i := range 10 {
		do(Create{start, fill[events.AvailabilityID](byte(i)), Offer{
			Size: MaxQuota / 20, Duration: 24 * time.Hour, MinPrice: amount(1),
			Collateral: events.MaxAmount(), Enabled: true,
		}})
	}
	for i := range n {
		do(reserveNumber(uint64(i)))
	}
	return s
}

func reserveNumber(i uint64) Reserve {
	var slot events.SlotID
	binary.BigEndian.PutUint64(slot[:], i)
	ask := standardAsk()
	ask.SlotSize, ask.Overhead = 1<<30, 1<<20
	return Reserve{At: start, Slot: slot, Attempt: 1, Ask: ask}
}

// BenchmarkLedger is the whole life of a reservation beside 1,000 others:
// reserve, 100 grants, settle.
func BenchmarkLedger(b *testing.B) {
	s := busy(b, 1000)
	apply := func(c Command) {
		out, err := Decide(s, c)
		if err != nil || len(out) != 1 {
			b.Fatal(out, err)
		}
		s = Evolve(s, out[0])
	}
	b.Run("reserve and settle", func(b *testing.B) {
		b.ReportAllocs()
		for i := uint64(1 << 32); b.Loop(); i++ {
			c := reserveNumber(i)
			apply(c)
			collateral, _ := c.Ask.collateral()
			apply(Settle{At: start, Slot: c.Slot, Attempt: 1, CollateralReturned: collateral})
		}
	})
	b.Run("store a slot", func(b *testing.B) {
		b.ReportAllocs()
		for i := uint64(1 << 33); b.Loop(); i++ {
			c := reserveNumber(i)
			apply(c)
			for part := range events.Bytes(GrantSteps) {
				apply(Release{start, ReservationIDOf(c.Slot, 1), (part + 1) * c.Ask.SlotSize / GrantSteps})
			}
			collateral, _ := c.Ask.collateral()
			apply(Settle{At: start, Slot: c.Slot, Attempt: 1, CollateralReturned: collateral})
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if err := s.Check(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	reserved, _ := Decide(busy(b, 0), reserveNumber(1))
	var log []Event
	for i := range 1000 {
		e := proto.Clone(reserved[0]).(*messages.ReservationCreated)
		e.ReservationId = ReservationIDOf(reserveNumber(uint64(i)).Slot, 1).String()
		log = append(log, e)
	}
	for b.Loop() {
		b.StopTimer()
		s := busy(b, 0)
		b.StartTimer()
		for _, e := range log {
			s = Evolve(s, e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log)), "ns/event")
}

// BenchmarkMemory says how many bytes an open reservation takes.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := busy(b, n)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/reservation")
		runtime.KeepAlive(s)
	}
}
