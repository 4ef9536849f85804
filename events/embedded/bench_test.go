package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// benchBytes is the data of one event in the benchmarks.
const benchBytes = 300

// BenchmarkAppend measures durable appends, each writer in a stream of its own, and for
// comparison what the disk does in the same run: one fdatasync after another of 4 KiB in a
// preallocated file.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64, 1024} {
		for _, each := range []int{1, 100} {
			b.Run(fmt.Sprintf("writers=%d/events=%d", writers, each), func(b *testing.B) {
				benchAppend(b, writers, each)
			})
		}
	}
}

func benchAppend(b *testing.B, writers, each int) {
	raw := rawSyncs(b, b.TempDir())
	s, _ := mustOpen(b, b.TempDir(), Config{CacheBytes: DefaultCacheBytes})
	b.Cleanup(func() { mustClose(b, s) })
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			stream := fmt.Sprintf("w-%d", w)
			for n := 0; next.Add(1) <= int64(b.N); n++ {
				batch := make([]events.NewEvent, 0, each)
				for i := range each {
					batch = append(batch, numbered(w<<32+n*each+i, benchBytes)...)
				}
				_, err := s.Append(b.Context(), stream, events.ExpectNext(uint64(n*each)), batch)
				if err != nil {
					b.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	stats := s.Stats()
	b.ReportMetric(float64(stats.Appends)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(stats.Events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(stats.Appends)/float64(stats.Syncs), "appends/sync")
	b.ReportMetric(raw, "raw-fdatasyncs/s")
}

// rawSyncs is how many times a second the disk syncs 4 KiB.
func rawSyncs(b *testing.B, dir string) float64 {
	b.Helper()
	const syncs = 300
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for n := range syncs {
		if _, err := f.WriteAt(block, int64(n*len(block))); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for n := range syncs {
		block[0] = byte(n)
		if _, err := f.WriteAt(block, int64(n*len(block))); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	return syncs / time.Since(start).Seconds()
}

// replayEvents is how many events the reading benchmarks read.
const replayEvents = 100_000

// filled is a store with 100,000 events in 1,000 streams, opened anew.
func filled(b *testing.B) *Store {
	b.Helper()
	dir := b.TempDir()
	s, _ := mustOpen(b, dir, Config{})
	const streams, each = 1000, replayEvents / 1000
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for part := range each / 10 {
				for stream := w; stream < streams; stream += 20 {
					var batch []events.NewEvent
					for n := range 10 {
						batch = append(batch, numbered(stream<<20+part*10+n, benchBytes)...)
					}
					_, err := s.Append(b.Context(), fmt.Sprintf("s-%d", stream),
						events.ExpectNext(uint64(part*10)), batch)
					if err != nil {
						b.Errorf("append: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	mustClose(b, s)
	s, _ = mustOpen(b, dir, Config{CacheBytes: DefaultCacheBytes})
	b.Cleanup(func() { mustClose(b, s) })
	return s
}

// BenchmarkReplay100k reads all events once; the peer is pebble's own iterator
// over the same keys in the same run, which decodes and checks nothing.
func BenchmarkReplay100k(b *testing.B) {
	s := filled(b)
	var raw time.Duration
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.ReadAll(b.Context(), 0, 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != replayEvents {
			b.Fatalf("%d events", n)
		}
		b.StopTimer()
		raw += rawScan(b, s)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*replayEvents/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(b.N)*replayEvents/raw.Seconds(), "raw-scan-events/s")
	b.ReportMetric(b.Elapsed().Seconds()/raw.Seconds(), "x-raw-scan")
}

// rawScan is how long pebble takes to go over all events.
func rawScan(b *testing.B, s *Store) time.Duration {
	b.Helper()
	start := time.Now()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixEvent}, UpperBound: []byte{prefixEvent + 1},
	})
	if err != nil {
		b.Fatal(err)
	}
	n, size := 0, 0
	for ok := it.First(); ok; ok = it.Next() {
		n++
		size += len(it.Value())
	}
	if err := it.Close(); err != nil || n != replayEvents || size == 0 {
		b.Fatalf("%d events, %v", n, err)
	}
	return time.Since(start)
}

// BenchmarkReplay100kCategory reads all events through a virtual stream.
func BenchmarkReplay100kCategory(b *testing.B) {
	s := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		readStream(b, s, "$ce-s", replayEvents)
	}
	b.ReportMetric(float64(b.N)*replayEvents/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReplay100kStreams reads whole streams of 100 events, one after the
// other.
func BenchmarkReplay100kStreams(b *testing.B) {
	s := filled(b)
	b.ReportAllocs()
	stream := 0
	for b.Loop() {
		readStream(b, s, fmt.Sprintf("s-%d", stream%1000), replayEvents/1000)
		stream += 7
	}
	b.ReportMetric(float64(b.N)*replayEvents/1000/b.Elapsed().Seconds(), "events/s")
}

func readStream(b *testing.B, s *Store, name string, want int) {
	b.Helper()
	n := 0
	for _, err := range s.ReadStream(b.Context(), name, events.ReadStream{}) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("%s: %d events, want %d", name, n, want)
	}
}

// BenchmarkReplay100kVerify checks every event, index and head.
func BenchmarkReplay100kVerify(b *testing.B) {
	s := filled(b)
	for b.Loop() {
		if v, err := s.Verify(b.Context()); err != nil || !v.OK() {
			b.Fatalf("%+v, %v", v, err)
		}
	}
	b.ReportMetric(float64(b.N)*replayEvents/b.Elapsed().Seconds(), "events/s")
}
