package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// together checks the rules when many use the store at once.
func together(t *testing.T, b bench) {
	t.Run("exactly one writer wins each revision", func(t *testing.T) { races(t, b.open(t)) })
	t.Run("writers of the same append write it once", func(t *testing.T) { twins(t, b) })
	t.Run("an append is seen whole or not at all", func(t *testing.T) { whole(t, b.open(t)) })
	t.Run("who has the answer can read the event", func(t *testing.T) {
		s := b.open(t)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				name := fmt.Sprintf("w-%d", w)
				for n := range 20 {
					result, err := s.Append(t.Context(), name, events.ExpectNext(uint64(n)), numbered(n))
					if err != nil {
						t.Errorf("append: %v", err)
						return
					}
					all, err := collect(s.ReadStream(t.Context(), name, events.ReadStream{}))
					if err != nil || len(all) != n+1 || all[n].Position != result.Position {
						t.Errorf("after %+v the stream has %d events, %v", result, len(all), err)
						return
					}
					if head, err := s.Head(t.Context()); err != nil || head < result.Position {
						t.Errorf("after %+v the head is %d, %v", result, head, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// races lets writers compete for every revision of one stream.
func races(t *testing.T, s events.Store) {
	const writers, rounds = 16, 12
	for round := range rounds {
		var won atomic.Int32
		var winner atomic.Int64
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				number := 1000*round + w
				_, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(round)),
					numbered(number))
				if err == nil {
					won.Add(1)
					winner.Store(int64(number))
				} else if !errors.Is(err, events.ErrWrongRevision) {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d writers won, want 1", round, won.Load())
		}
		last := mustRead(t, s.ReadStream(t.Context(), "a-1", events.ReadStream{From: uint64(round)}))
		if len(last) != 1 || last[0].ID != id(int(winner.Load())) {
			t.Fatalf("round %d: the stream does not have the winner's event", round)
		}
	}
	wantHead(t, s, rounds)
}

// twins has several goroutines make the same append, like a client that repeats
// one whose answer is late.
func twins(t *testing.T, b bench) {
	s := b.open(t)
	const copies, rounds = 6, 15
	for round := range rounds {
		results := make([]events.AppendResult, copies)
		var wg sync.WaitGroup
		for i := range copies {
			wg.Go(func() {
				var err error
				results[i], err = s.Append(t.Context(), "a-1", events.ExpectNext(uint64(2*round)),
					numbered(2*round, 2*round+1))
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		first := 0
		for _, r := range results {
			if !r.Repeated {
				first++
			}
			if r.Revision != uint64(2*round+1) || r.Position != events.Position(2*round+2) {
				t.Fatalf("round %d: %+v", round, r)
			}
		}
		if first != 1 && !b.remote {
			t.Fatalf("round %d: %d appends say they were the first", round, first)
		}
	}
	wantHead(t, s, 2*rounds)
}

// whole reads while batches of three are written: no reader may see a part of one.
func whole(t *testing.T, s events.Store) {
	const batches = 60
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				all, err := collect(s.ReadStream(ctx, "a-1", events.ReadStream{Limit: 3 * batches}))
				if err == nil && len(all)%3 != 0 {
					t.Errorf("a reader saw %d events, written were threes", len(all))
					return
				}
				if head, err := s.Head(ctx); err == nil && head%3 != 0 {
					t.Errorf("the head is %d, written were threes", head)
					return
				}
			}
		})
	}
	for n := range batches {
		mustAppend(t, s, "a-1", events.ExpectNext(uint64(3*n)), 3*n, 3*n+1, 3*n+2)
	}
	cancel()
	wg.Wait()
}
