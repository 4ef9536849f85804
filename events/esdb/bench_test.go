package esdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
)

// benchBytes is the data of one event, as in the benchmarks of the embedded
// store.
const benchBytes = 300

// benchStores are an embedded store, and the way to another one through the
// protocol, so that both are measured in one run on one disk.
func benchStores(b *testing.B) map[string]func() events.Store {
	direct := func() *embedded.Store {
		s, _, err := embedded.Open(b.TempDir(), embedded.Config{CacheBytes: embedded.DefaultCacheBytes})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	through := func(noBatch bool) func() events.Store {
		return func() events.Store {
			return open(b, esdb.Config{URL: plain(serveStore(b, direct())), NoBatch: noBatch})
		}
	}
	return map[string]func() events.Store{
		"direct":         func() events.Store { return direct() },
		"wire":           through(false),
		"wire, no batch": through(true),
	}
}

func benchEvents(w, n, each int) []events.NewEvent {
	batch := make([]events.NewEvent, each)
	for i := range batch {
		batch[i] = events.NewEvent{
			ID: events.NewEventID("bench", fmt.Sprint(w), n*each+i), Type: "measured", Data: make([]byte, benchBytes),
			Binary: true,
		}
	}
	return batch
}

// BenchmarkWireAppend measures durable appends, each writer in a stream of its
// own, direct and through client, protocol and server on one machine.
func BenchmarkWireAppend(b *testing.B) {
	for _, writers := range []int{1, 64, 1024} {
		for _, each := range []int{1, 100} {
			for _, way := range []string{"direct", "wire", "wire, no batch"} {
				b.Run(fmt.Sprintf("writers=%d/events=%d/%s", writers, each, way), func(b *testing.B) {
					benchAppend(b, benchStores(b)[way](), writers, each)
				})
			}
		}
	}
}

// benchAppend lets writers append, and for comparison measures how often the disk syncs in the
// same run.
func benchAppend(b *testing.B, s events.Store, writers, each int) {
	raw := rawSyncs(b)
	b.Cleanup(func() { s.Close() })
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			stream := fmt.Sprintf("w-%d", w)
			for n := 0; next.Add(1) <= int64(b.N); n++ {
				_, err := s.Append(b.Context(), stream, events.ExpectNext(uint64(n*each)), benchEvents(w, n, each))
				if err != nil {
					b.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(b.N*each)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(raw, "raw-fdatasyncs/s")
}

// rawSyncs is how many times a second the disk syncs 4 KiB in a file that has
// its size already.
func rawSyncs(b *testing.B) float64 {
	b.Helper()
	const syncs = 300
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	write := func(sync func() error) {
		for n := range syncs {
			if _, err := f.WriteAt(block, int64(n*len(block))); err != nil {
				b.Fatal(err)
			}
			if err := sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
	write(func() error { return nil })
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	write(func() error { return syscall.Fdatasync(int(f.Fd())) })
	return syncs / time.Since(start).Seconds()
}

// BenchmarkWireReplay reads a log of 100,000 events.
func BenchmarkWireReplay(b *testing.B) {
	const total, each = 100_000, 1000
	for _, way := range []string{"direct", "wire"} {
		b.Run(way, func(b *testing.B) {
			s := benchStores(b)[way]()
			b.Cleanup(func() { s.Close() })
			for n := range total / each {
				_, err := s.Append(b.Context(), fmt.Sprintf("s-%d", n), events.NoStream(), benchEvents(n, 0, each))
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				n := 0
				for _, err := range s.ReadAll(b.Context(), 0, 0) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != total {
					b.Fatalf("%d events", n)
				}
			}
			b.ReportMetric(float64(b.N*total)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
