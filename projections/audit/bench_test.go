package audit

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// BenchmarkAudit audits 100,000 events of whole lives.
func BenchmarkAudit(b *testing.B) {
	store := events.NewMemory()
	w := history.New(b, store, me)
	w.Offer(100)
	head := history.Fill(w, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if report := audited(b, store, Options{}); len(report.Findings) > 0 {
			b.Fatal(report.Findings)
		}
	}
	b.ReportMetric(float64(head)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
