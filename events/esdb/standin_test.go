package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
)

// numberedEvent is the n-th event of a stream.
func numberedEvent(stream string, n int) []events.NewEvent {
	return []events.NewEvent{{
		ID: events.NewEventID(stream, "stand-in", n), Type: "written", Data: fmt.Appendf(nil, `{"n":%d}`, n),
	}}
}

// keepAppending appends as the host's journals do: one after the other, and what has no
// outcome again as it was. It returns when count events are acknowledged.
func keepAppending(ctx context.Context, s *esdb.Store, stream string, count int, each func(n int)) error {
	for n := range count {
		for {
			r, err := s.Append(ctx, stream, events.ExpectNext(uint64(n)), numberedEvent(stream, n))
			if errors.Is(err, events.ErrAway) && ctx.Err() == nil {
				continue
			}
			if err != nil || r.Revision != uint64(n) {
				return fmt.Errorf("event %d of %s: revision %d, %w", n, stream, r.Revision, err)
			}
			break
		}
		each(n)
	}
	return nil
}

// demand demands exactly the events of keepAppending.
func demand(t *testing.T, store events.Store, stream string, count int) {
	t.Helper()
	n := 0
	for r, err := range store.ReadStream(t.Context(), stream, events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := numberedEvent(stream, n)[0].ID; r.ID != want || r.Revision != uint64(n) {
			t.Fatalf("revision %d of %s is not event %d", r.Revision, stream, n)
		}
		n++
	}
	if n != count {
		t.Fatalf("%s has %d events, %d were acknowledged", stream, n, count)
	}
}

// awaitState waits until the store knows that its server is away, or back.
func awaitState(ctx context.Context, s *esdb.Store, want bool) error {
	for {
		changed := s.Changed()
		if _, _, away := s.Away(); away == want {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestARefusedAppendIsNeverAWrittenOne has a server without a leader that goes on serving
// reads: only its answers to appends, which have the code of success, show it.
func TestARefusedAppendIsNeverAWrittenOne(t *testing.T) {
	const half, all = 20, 40
	for name, harm := range map[string]func(c *standin.Cluster){
		"nobody leads":                          func(c *standin.Cluster) { c.Elect(false) },
		"nobody leads, and reads go on":         func(c *standin.Cluster) { c.Elect(true) },
		"success at a revision that cannot be":  func(c *standin.Cluster) { c.Decide(always(standin.OddSuccess)) },
		"an error of a code that nobody knows":  func(c *standin.Cluster) { c.Decide(always(standin.OddError)) },
		"neither success nor error":             func(c *standin.Cluster) { c.Decide(always(standin.NoResult)) },
		"no answer, and nothing is written":     func(c *standin.Cluster) { c.Decide(always(standin.Lost)) },
		"no answer, although it is written":     func(c *standin.Cluster) { c.Decide(always(standin.Unanswered)) },
		"the leader is killed, and another one": func(c *standin.Cluster) { c.Kill(0); c.Elect(false); c.Start(0) },
	} {
		bothWays(t, name, func(t *testing.T, noBatch bool) {
			behind := storetest.NewMemory()
			c := standin.New(t, behind, 3)
			cfg := impatient(c.URL())
			cfg.NoBatch = noBatch
			s := open(t, cfg)
			defer s.Close()
			harmed := make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- keepAppending(t.Context(), s, "a-1", all, func(n int) {
					if n == half-1 {
						harm(c)
						close(harmed)
					}
				})
			}()
			<-harmed
			// While nothing is written nothing is acknowledged, and the outage is reported.
			if name != "no answer, although it is written" && name != "no answer, and nothing is written" &&
				name != "an error of a code that nobody knows" {
				if err := awaitState(t.Context(), s, true); err != nil {
					t.Fatal(err)
				}
			}
			c.Decide(nil)
			c.Lead(1)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			demand(t, behind, "a-1", all)
		})
	}
}

// bothWays runs a test with appends in batches, and each by itself as with a server that has
// no batches.
func bothWays(t *testing.T, name string, test func(t *testing.T, noBatch bool)) {
	for _, noBatch := range []bool{false, true} {
		t.Run(fmt.Sprintf("%s, noBatch=%t", name, noBatch), func(t *testing.T) { test(t, noBatch) })
	}
}

func always(fate standin.Fate) func(string) standin.Fate {
	return func(string) standin.Fate { return fate }
}

// TestWhatIsNotCommittedYetIsNotLost has a leader that is cut off with an append in its log:
// the repetition is not answered, and another append is compared with events that nobody can
// read.
func TestWhatIsNotCommittedYetIsNotLost(t *testing.T) {
	for _, commit := range []bool{true, false} {
		bothWays(t, fmt.Sprintf("commit=%t", commit), func(t *testing.T, noBatch bool) {
			behind := storetest.NewMemory()
			c := standin.New(t, behind, 1)
			cfg := impatient(c.URL())
			cfg.Patience, cfg.NoBatch = cfg.CallTimeout, noBatch
			s := open(t, cfg)
			defer s.Close()
			if _, err := s.Append(t.Context(), "a-1", events.NoStream(), numberedEvent("a-1", 0)); err != nil {
				t.Fatal(err)
			}
			c.CutOff()
			// Repeated until the patience is over, with a result that is still unknown.
			if _, err := s.Append(t.Context(), "a-1", events.Exact(0), numberedEvent("a-1", 1)); !errors.Is(err, events.ErrAway) {
				t.Fatalf("an append that is not committed: %v", err)
			}
			// A repetition with more events is not told that another client wrote.
			grown := append(numberedEvent("a-1", 1), numberedEvent("a-1", 2)...)
			_, err := s.Append(t.Context(), "a-1", events.Exact(0), grown)
			if errors.Is(err, events.ErrWrongRevision) || !errors.Is(err, events.ErrAway) {
				t.Fatalf("an append behind one that is not committed: %v, want that nobody knows", err)
			}
			if n := c.Heal(commit); n != 1 {
				t.Fatalf("the leader had %d appends in its log, want 1", n)
			}
			_, err = s.Append(t.Context(), "a-1", events.Exact(0), grown)
			if commit != errors.Is(err, events.ErrWrongRevision) {
				t.Fatalf("committed %t, and the append that has grown: %v", commit, err)
			}
			if commit {
				if _, err := s.Append(t.Context(), "a-1", events.Exact(0), numberedEvent("a-1", 1)); err != nil {
					t.Fatalf("the append as it was: %v", err)
				}
			}
			demand(t, behind, "a-1", map[bool]int{true: 2, false: 3}[commit])
		})
	}
}

// TestWhatAStreamHidesIsNoUncommittedEvent: the refusal stands although nothing can be read.
func TestWhatAStreamHidesIsNoUncommittedEvent(t *testing.T) {
	behind := storetest.NewMemory()
	s := open(t, eager(standin.New(t, behind, 1).URL()))
	defer s.Close()
	for n := range 3 {
		if _, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)), numberedEvent("a-1", n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Delete(t.Context(), "a-1", events.Exact(2), false); err != nil {
		t.Fatal(err)
	}
	_, err := s.Append(t.Context(), "a-1", events.Exact(0), numberedEvent("a-1", 9))
	if !errors.Is(err, events.ErrWrongRevision) {
		t.Fatalf("append to a deleted stream: %v", err)
	}
	// The first event that can be read has the wanted id, but another revision.
	if _, err := s.Append(t.Context(), "a-1", events.Exact(2), numberedEvent("a-1", 9)); err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), "a-1", events.Exact(0), numberedEvent("a-1", 9))
	if !errors.Is(err, events.ErrWrongRevision) {
		t.Fatalf("append of what stands behind hidden events: %v", err)
	}
}

// TestOnlyTheLeaderIsRead has a follower that stands still, and is asked first.
func TestOnlyTheLeaderIsRead(t *testing.T) {
	behind := storetest.NewMemory()
	c := standin.New(t, behind, 2)
	c.StandStill(0)
	c.Lead(1)
	s := open(t, eager(c.URL()))
	defer s.Close()
	for n := range 5 {
		if _, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)), numberedEvent("a-1", n)); err != nil {
			t.Fatal(err)
		}
		demand(t, s, "a-1", n+1)
	}
	c.StandStill(1)
	c.Lead(0) // The old leader stands still now, and does not say so by itself.
	if _, err := s.Append(t.Context(), "a-1", events.Exact(4), numberedEvent("a-1", 5)); err != nil {
		t.Fatal(err)
	}
	demand(t, s, "a-1", 6)
}

// TestAppendsOfEveryFate: appends end in every way, and leaders come, go and are cut off.
func TestAppendsOfEveryFate(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			const writers, each = 4, 25
			behind := storetest.NewMemory()
			c := standin.New(t, behind, 3)
			var mu sync.Mutex
			chance := rand.New(rand.NewPCG(seed, 0))
			c.Decide(func(string) standin.Fate {
				mu.Lock()
				defer mu.Unlock()
				if chance.IntN(4) > 0 {
					return standin.Done
				}
				return standin.Fate(chance.IntN(int(standin.OddSuccess) + 1))
			})
			cfg := impatient(c.URL())
			cfg.NoBatch = seed/2%2 == 1
			s := open(t, cfg)
			defer s.Close()
			var written atomic.Int32
			problems := make(chan error, writers)
			for w := range writers {
				go func() {
					problems <- keepAppending(t.Context(), s, streamOf(w), each, func(int) {
						switch written.Add(1) % 16 {
						case 4:
							c.Lead(int(seed+uint64(written.Load())) % 3)
						case 10:
							c.CutOffFor(2*writers, seed%2 == 0)
						}
					})
				}()
			}
			for range writers {
				if err := <-problems; err != nil {
					t.Errorf("%v (%v)", err, c)
				}
			}
			for w := range writers {
				demand(t, behind, streamOf(w), each)
			}
		})
	}
}

// A node that took no append is asked whether it takes them now, which must not change the stream.
func TestAStreamThatIsDeletedStaysSoWhenANodeWasNotReady(t *testing.T) {
	behind := storetest.NewMemory()
	c := standin.New(t, behind, 3)
	s := open(t, eager(c.URL()))
	defer s.Close()
	err := events.ChangeMetadata(t.Context(), s, "a-1", func(m *events.StreamMetadata) bool {
		m.MaxCount = 2
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), "a-1", events.Any(), false); err != nil { // It has no events.
		t.Fatal(err)
	}
	var asked atomic.Int32
	c.Decide(func(string) standin.Fate {
		if asked.Add(1) == 1 {
			return standin.NotReady
		}
		return standin.Done
	})
	_, err = s.Append(t.Context(), "a-1", events.Exact(7), []events.NewEvent{{ID: events.EventID{2}, Type: "T"}})
	if !errors.Is(err, events.ErrWrongRevision) || asked.Load() < 3 {
		t.Fatalf("%v, asked %d times", err, asked.Load())
	}
	if _, found, err := events.Last(t.Context(), s, "a-1"); found || err != nil {
		t.Fatalf("the stream can be read again: %v", err)
	}
	if last, _, err := events.Last(t.Context(), s, events.MetadataStream("a-1")); err != nil || last.Revision != 1 {
		t.Fatalf("metadata was written %d times, %v", last.Revision+1, err)
	}
}

const notReadyEvery = 40

// TestStoreOverAClusterThatIsOftenNotReady runs the suite while some appends are refused: few,
// because each refusal costs a connection.
func TestStoreOverAClusterThatIsOftenNotReady(t *testing.T) {
	storetest.RunRemote(t, func(t *testing.T) events.Store {
		c := standin.New(t, storetest.NewMemory(), 3)
		var n atomic.Int32
		c.Decide(func(string) standin.Fate {
			if n.Add(1)%notReadyEvery == 0 {
				return standin.NotReady
			}
			return standin.Done
		})
		return open(t, eager(c.URL()))
	}, storetest.Options{})
}
