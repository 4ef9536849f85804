package projections

import (
	"testing"

	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// BenchmarkReplay folds 100,000 events of whole lives into all views.
func BenchmarkReplay(b *testing.B) {
	store := storetest.NewMemory()
	w := history.New(b, store, me)
	w.Offer(100)
	head := history.Fill(w, 100_000)
	for b.Loop() {
		if v := built(b, store); v.AsOf() != head {
			b.Fatalf("as of %d, not %d", v.AsOf(), head)
		}
	}
	b.ReportMetric(float64(head)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkCheckpoint saves and loads the views of 100,000 events.
func BenchmarkCheckpoint(b *testing.B) {
	store := storetest.NewMemory()
	w := history.New(b, store, me)
	w.Offer(100)
	history.Fill(w, 100_000)
	v := built(b, store)
	for b.Loop() {
		reloaded(b, v)
	}
	b.ReportMetric(float64(len(must(snapshot.Encode(v.State)))), "bytes")
}
