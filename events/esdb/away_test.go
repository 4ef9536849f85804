package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

// calls are all methods that go to the server, made with a context.
func calls(s *esdb.Store) map[string]func(context.Context) error {
	first := func(seq func(func(events.Recorded, error) bool)) (err error) {
		for _, e := range seq {
			return e
		}
		return nil
	}
	return map[string]func(context.Context) error{
		"append": func(ctx context.Context) error {
			_, err := s.Append(ctx, "a-1", events.NoStream(), oneEvent(1))
			return err
		},
		"check": func(ctx context.Context) error {
			_, err := s.Append(ctx, "a-1", events.NoStream(), nil)
			return err
		},
		"delete":   func(ctx context.Context) error { _, err := s.Delete(ctx, "a-1", events.Any(), true); return err },
		"head":     func(ctx context.Context) error { _, err := s.Head(ctx); return err },
		"read all": func(ctx context.Context) error { return first(s.ReadAll(ctx, 0, 0)) },
		"read stream": func(ctx context.Context) error {
			return first(s.ReadStream(ctx, "a-1", events.ReadStream{}))
		},
	}
}

func TestEveryCallEndsWithItsContextWhileTheServerHangs(t *testing.T) {
	b := newBench(t, func(c *esdb.Config) {
		c.CallTimeout, c.Patience, c.ProbeEvery = time.Hour, time.Hour, time.Hour
	})
	b.proxy.set(paused)
	all := calls(b.store)
	all["wait"] = func(ctx context.Context) error { return b.store.Wait(ctx, 0) }
	// Long enough for the calls to reach the point where they wait for the server.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for name, call := range all {
		wg.Go(func() {
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want the context's error", name, err)
			}
		})
	}
	wg.Wait()
}

func TestCallsGiveUpWhenPatienceIsOver(t *testing.T) {
	for _, m := range []mode{paused, refusing} {
		t.Run(fmt.Sprint("mode ", m), func(t *testing.T) {
			b := newBench(t, func(c *esdb.Config) { c.Patience = 300 * time.Millisecond })
			b.proxy.set(m)
			b.proxy.cut()
			for name, call := range calls(b.store) {
				if err := call(t.Context()); !errors.Is(err, events.ErrAway) {
					t.Errorf("%s: %v, want that the server does not answer", name, err)
				}
			}
			if err := b.awaitAway(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			since, reason, away := b.store.Away()
			if !away || since.IsZero() || since.After(time.Now()) || reason == "" {
				t.Errorf("away since %v, %q, %v", since, reason, away)
			}
		})
	}
}

// The official client gives up for good after ten searches (maxDiscoverAttempts).
func TestTheStoreComesBackAfterMoreLooksThanTheClientTakes(t *testing.T) {
	b := newBench(t, nil)
	b.proxy.set(refusing)
	b.proxy.cut()
	written := make(chan error, 1)
	go func() {
		_, err := b.store.Append(t.Context(), "a-1", events.NoStream(), oneEvent(0))
		written <- err
	}()
	for range 25 {
		<-b.proxy.refused
	}
	b.proxy.set(passing)
	if err := <-written; err != nil {
		t.Errorf("the append that waited: %v", err)
	}
	if last, found, err := events.Last(t.Context(), b.store, "a-1"); !found || err != nil || last.ID != oneEvent(0)[0].ID {
		t.Errorf("the stream ends with %+v, %v", last, err)
	}
}

func TestCloseEndsEverythingWhileTheServerHangs(t *testing.T) {
	for _, m := range []mode{paused, refusing, blackhole} {
		t.Run(fmt.Sprint("mode ", m), func(t *testing.T) {
			b := newBench(t, func(c *esdb.Config) { c.Patience = time.Hour })
			ignored := goleak.IgnoreCurrent()
			second := open(t, impatient(plain(b.proxy.address())))
			b.proxy.set(m)
			var wg, under sync.WaitGroup
			all := calls(second)
			all["wait"] = func(ctx context.Context) error { return second.Wait(ctx, 0) }
			for name, call := range all {
				under.Add(1)
				wg.Go(func() {
					under.Done()
					err := call(t.Context())
					// A deletion is not repeated, so it may have ended before.
					if !errors.Is(err, events.ErrClosed) && (name != "delete" || !errors.Is(err, events.ErrAway)) {
						t.Errorf("%s: %v, want closed", name, err)
					}
				})
			}
			under.Wait()
			if err := second.Close(); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			b.proxy.set(refusing) // Ends what the proxy holds.
			b.proxy.cut()
			if err := b.store.Close(); err != nil {
				t.Fatal(err)
			}
			if err := goleak.Find(ignored); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReadGoesOnWhereItWasWhenTheConnectionIsCut(t *testing.T) {
	b := newBench(t, func(c *esdb.Config) { *c = eager(c.URL) })
	const total = 400
	for n := range total {
		e := oneEvent(n)
		e[0].Data = fmt.Appendf(nil, `{"filler":%q}`, make([]byte, 4000)) // More than one connection holds ready.
		if _, err := b.behind.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)), e); err != nil {
			t.Fatal(err)
		}
	}
	for name, read := range map[string]func() iter.Seq2[events.Recorded, error]{
		"a stream": func() iter.Seq2[events.Recorded, error] {
			return b.store.ReadStream(t.Context(), "a-1", events.ReadStream{})
		},
		"a stream backward": func() iter.Seq2[events.Recorded, error] {
			return b.store.ReadStream(t.Context(), "a-1", events.ReadStream{From: events.End, Backward: true})
		},
		"the log":          func() iter.Seq2[events.Recorded, error] { return b.store.ReadAll(t.Context(), 0, 0) },
		"the log backward": func() iter.Seq2[events.Recorded, error] { return b.store.ReadBack(t.Context(), events.EndPosition, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[uint64]int{}
			for r, err := range read() {
				if err != nil {
					t.Fatal(err)
				}
				if seen[r.Revision]++; len(seen)%100 == 7 {
					b.proxy.cut()
				}
			}
			if len(seen) != total {
				t.Fatalf("%d of %d events came", len(seen), total)
			}
			for revision, n := range seen {
				if n != 1 {
					t.Fatalf("revision %d came %d times", revision, n)
				}
			}
		})
	}
}

func TestOpenSaysThatNobodyAnswers(t *testing.T) {
	for _, m := range []mode{refusing, paused} {
		t.Run(fmt.Sprint("mode ", m), func(t *testing.T) {
			p := newProxy(t, "127.0.0.1:1")
			p.set(m)
			cfg := impatient(plain(p.address()))
			cfg.OpenTimeout = 300 * time.Millisecond
			if s, err := esdb.Open(t.Context(), cfg); !errors.Is(err, events.ErrAway) {
				t.Fatalf("open: %v, %v, want that the server does not answer", s, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if s, err := esdb.Open(ctx, cfg); !errors.Is(err, context.Canceled) {
				t.Fatalf("open: %v, %v, want the context's error", s, err)
			}
		})
	}
}
