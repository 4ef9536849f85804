package wire_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// payload is as large as hostnode's events are on average.
const payload = 300

// overStores runs a benchmark with a server over each store: what the protocol
// costs, and what a user waits for.
func overStores(b *testing.B, run func(*testing.B, *served)) {
	for name, open := range map[string]func(*testing.B) events.Store{
		"memory": func(*testing.B) events.Store { return storetest.NewMemory() },
		"embedded": func(b *testing.B) events.Store {
			s, _, err := embedded.Open(b.TempDir(), embedded.Config{})
			if err != nil {
				b.Fatal(err)
			}
			return s
		},
	} {
		b.Run(name, func(b *testing.B) {
			run(b, serve(b, func(cfg *wire.Config) { cfg.Store = open(b) }))
		})
	}
}

// split runs n calls by a number of writers at once.
func split(b *testing.B, writers int, call func(writer int) error) {
	b.Helper()
	var all sync.WaitGroup
	next := make(chan struct{}, writers)
	b.ResetTimer()
	for w := range writers {
		all.Go(func() {
			for range next {
				if err := call(w); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for range b.N {
		next <- struct{}{}
	}
	close(next)
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

func BenchmarkAppend(b *testing.B) {
	overStores(b, func(b *testing.B, s *served) {
		data := string(make([]byte, payload))
		for _, writers := range []int{1, 64} {
			b.Run(fmt.Sprint("plain/", writers), func(b *testing.B) {
				c := s.client(b, "")
				split(b, writers, func(w int) error {
					_, err := c.AppendToStream(b.Context(), fmt.Sprint("plain-", w), esdb.AppendToStreamOptions{}, event("x", data))
					return err
				})
			})
			b.Run(fmt.Sprint("batch/", writers), func(b *testing.B) {
				// One call per writer, and one append of it under way.
				calls := make([]batcher, writers)
				for i := range calls {
					calls[i] = openBatch(b, s)
				}
				var n sync.Mutex
				count := 0
				split(b, writers, func(w int) error {
					n.Lock()
					count++
					name := fmt.Sprint(b.N, "/", w, "/", count)
					n.Unlock()
					calls[w].send(name, batchOptions(fmt.Sprint("batch-", w)), 1, true)
					return batchFailure(calls[w].recv())
				})
			})
		}
	})
}

// BenchmarkPipelinedBatches is one call with many appends under way.
func BenchmarkPipelinedBatches(b *testing.B) {
	overStores(b, func(b *testing.B, s *served) {
		const open = 256
		call := openBatch(b, s)
		done := make(chan error, 1)
		room := make(chan struct{}, open)
		b.ResetTimer()
		go func() {
			for range b.N {
				r, err := call.stream.Recv()
				if err == nil {
					err = batchFailure(r)
				}
				if err != nil {
					done <- err
					return
				}
				<-room
			}
			done <- nil
		}()
		for i := range b.N {
			room <- struct{}{}
			call.send(fmt.Sprint(b.N, "/", i), batchOptions(fmt.Sprint("piped-", i%open)), 1, true)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	})
}

func batchFailure(r *streams.BatchAppendResp) error {
	if e := r.GetError(); e != nil {
		return fmt.Errorf("append: %s", e.GetMessage())
	}
	return nil
}

// benchEvents is how many events a benchmark of reading reads.
const benchEvents = 20_000

// reads runs a benchmark that reads all of a large stream, or of the log.
func reads(b *testing.B, read func(*testing.B, *esdb.Client)) {
	overStores(b, func(b *testing.B, s *served) {
		fill(b, s.store, "big-1", benchEvents, payload)
		c := s.client(b, "")
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			read(b, c)
		}
		b.ReportMetric(float64(b.N)*benchEvents/b.Elapsed().Seconds(), "events/s")
	})
}

func receive(b *testing.B, r *esdb.ReadStream, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for range benchEvents {
		if _, err := r.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadLog(b *testing.B) {
	reads(b, func(b *testing.B, c *esdb.Client) {
		r, err := c.ReadAll(b.Context(), esdb.ReadAllOptions{}, math.MaxUint64)
		receive(b, r, err)
	})
}

func BenchmarkReadStream(b *testing.B) {
	reads(b, func(b *testing.B, c *esdb.Client) {
		r, err := c.ReadStream(b.Context(), "big-1", esdb.ReadStreamOptions{}, math.MaxUint64)
		receive(b, r, err)
	})
}

func BenchmarkReadCategory(b *testing.B) {
	reads(b, func(b *testing.B, c *esdb.Client) {
		r, err := c.ReadStream(b.Context(), "$ce-big", esdb.ReadStreamOptions{ResolveLinkTos: true}, math.MaxUint64)
		receive(b, r, err)
	})
}

// BenchmarkCatchUp is a subscription to the log that reads what is there.
func BenchmarkCatchUp(b *testing.B) {
	reads(b, func(b *testing.B, c *esdb.Client) {
		sub, err := c.SubscribeToAll(b.Context(), esdb.SubscribeToAllOptions{From: esdb.Start{}})
		if err != nil {
			b.Fatal(err)
		}
		defer sub.Close()
		for n := 0; n < benchEvents; {
			switch e := sub.Recv(); {
			case e.EventAppeared != nil:
				n++
			case e.SubscriptionDropped != nil:
				b.Fatal(e.SubscriptionDropped.Error)
			}
		}
	})
}

// BenchmarkAppendToSubscriber is how long an event takes from one client to
// another.
func BenchmarkAppendToSubscriber(b *testing.B) {
	for _, kind := range []string{"stream", "log"} {
		b.Run(kind, func(b *testing.B) {
			overStores(b, func(b *testing.B, s *served) {
				c, reader := s.client(b, ""), s.client(b, "")
				var sub *esdb.Subscription
				var err error
				if kind == "log" {
					sub, err = reader.SubscribeToAll(b.Context(), esdb.SubscribeToAllOptions{From: esdb.End{}})
				} else {
					sub, err = reader.SubscribeToStream(b.Context(), "a-1", esdb.SubscribeToStreamOptions{From: esdb.End{}})
				}
				if err != nil {
					b.Fatal(err)
				}
				defer sub.Close()
				for e := sub.Recv(); e.CaughtUp == nil; e = sub.Recv() {
					if e.SubscriptionDropped != nil {
						b.Fatal(e.SubscriptionDropped.Error)
					}
				}
				b.ResetTimer()
				for range b.N {
					appendTo(b, c, "a-1", event("x", "{}"))
					if e := sub.Recv(); e.EventAppeared == nil {
						b.Fatalf("got %+v, want the event", e)
					}
				}
			})
		})
	}
}
