package transfer_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transfer"
)

// grown is a store in which the streams take turns, two events each.
func grown(b *testing.B, count int) events.Store {
	s := storetest.NewMemory()
	for n := 0; n < count; n += 2 {
		name := fmt.Sprintf("sale-%d", n/2%50)
		if _, err := s.Append(b.Context(), name, events.Any(), []events.NewEvent{small(n), small(n + 1)}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func small(n int) events.NewEvent {
	return events.NewEvent{
		ID: events.NewEventID("", "bench", n), Type: "ProofSubmitted",
		Data: fmt.Appendf(nil, `{"at":"2031-02-03T04:05:06Z","period":"%d","tookMilliseconds":"1200","fill":"%0200d"}`, n, n),
		Meta: events.Metadata{Correlation: "0x4e9e", Causation: fmt.Sprint(n - 1), Version: 1, Epoch: 3, Node: "node"},
	}
}

const benchEvents = 20_000

func rate(b *testing.B) {
	b.ReportMetric(benchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkDigest(b *testing.B) {
	s := grown(b, benchEvents)
	for b.Loop() {
		if _, err := transfer.DigestOf(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	rate(b)
}

func BenchmarkExport(b *testing.B) {
	s := grown(b, benchEvents)
	for b.Loop() {
		if _, err := transfer.Export(b.Context(), s, io.Discard, transfer.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	rate(b)
}

// BenchmarkCopyToTheEmbeddedStore pays a sync for each turn of the streams.
func BenchmarkCopyToTheEmbeddedStore(b *testing.B) {
	s := grown(b, benchEvents)
	for b.Loop() {
		to, _, err := embedded.Open(b.TempDir(), embedded.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := transfer.Copy(b.Context(), s, to, transfer.Options{}); err != nil {
			b.Fatal(err)
		}
		if err := to.Close(); err != nil {
			b.Fatal(err)
		}
	}
	rate(b)
}
