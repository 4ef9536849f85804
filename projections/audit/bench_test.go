package audit

import (
	"context"
	"runtime"
	"testing"

	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// aLot is a record of about so many events of whole lives.
func aLot(b *testing.B, n int) (*storetest.Memory, uint64) {
	b.Helper()
	store := storetest.NewMemory()
	w := history.New(b, store, me)
	w.Start()
	w.Offer(100)
	return store, uint64(history.Fill(w, uint64(n)))
}

// BenchmarkEvents reads the same 100,000 events of whole lives three times: to
// decode them, to fold them into all views, and to audit them.
func BenchmarkEvents(b *testing.B) {
	store, head := aLot(b, 100_000)
	for _, what := range []struct {
		name string
		read func() error
	}{
		{"decode", func() error {
			codec := catalog.Codec()
			for r, err := range store.ReadAll(context.Background(), 0, 0) {
				if err != nil {
					return err
				}
				if _, err := codec.Decode(r); err != nil {
					return err
				}
			}
			return nil
		}},
		{"views", func() error {
			_, err := projections.ViewsAt(context.Background(), store, projections.Scope{}, nil)
			return err
		}},
		{"audit", func() error {
			report, err := Run(context.Background(), store, Options{})
			if err == nil && len(report.Findings) > 0 {
				b.Fatal(report.Findings)
			}
			return err
		}},
	} {
		b.Run(what.name, func(b *testing.B) {
			for b.Loop() {
				if err := what.read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(head)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkMemory measures the memory of an audit of settled sales at the end, without the
// filter of ids and the newest receipts, which have bounds of their own.
func BenchmarkMemory(b *testing.B) {
	store, head := aLot(b, 300_000)
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		before := heap()
		a := newAuditor(Options{})
		a.txs = newReceipts(1, maxAwaited)
		report, err := a.run(context.Background(), store)
		if err != nil {
			b.Fatal(err)
		}
		known := heap() - before - defaultFilterBits/8
		b.ReportMetric(known/(1<<20), "MB")
		b.ReportMetric(known/float64(report.SalesFinished), "B/sale")
		b.ReportMetric(float64(report.SalesFinished), "sales")
		runtime.KeepAlive(a)
	}
	b.ReportMetric(float64(head), "events")
}

// BenchmarkCheckpoint writes and reads the state after 100,000 events.
func BenchmarkCheckpoint(b *testing.B) {
	store, _ := aLot(b, 100_000)
	o := Options{Checkpoint: b.TempDir() + "/audit.state"}
	a := newAuditor(o)
	if _, err := a.run(context.Background(), store); err != nil {
		b.Fatal(err)
	}
	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			if err := a.save(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if c, ignored := resume(context.Background(), store, newAuditor(o).options); c == nil {
				b.Fatal(ignored)
			}
		}
	})
}
