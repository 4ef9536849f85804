package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// subscriptions holds a store to the rules of Subscribe.
func subscriptions(t *testing.T, b bench) {
	t.Run("first what exists, then what comes", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1, 2, 3)
		next, stop := iter.Pull2(s.Subscribe(t.Context(), 1))
		defer stop()
		wantNext(t, next, recorded(event(2), "a-1", 1, 2))
		wantNext(t, next, recorded(event(3), "a-1", 2, 3))
		for n := 4; n < 50; n++ {
			mustAppend(t, s, "b-1", events.Any(), n)
			wantNext(t, next, recorded(event(n), "b-1", uint64(n-4), events.Position(n)))
		}
	})
	t.Run("an empty store can be subscribed to, and the future too", func(t *testing.T) {
		s := b.open(t)
		got := make(chan events.Recorded)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for _, after := range []events.Position{0, 2} {
			wg.Go(func() {
				for r, err := range s.Subscribe(ctx, after) {
					if err != nil {
						return
					}
					select {
					case got <- r:
					case <-ctx.Done():
					}
				}
			})
		}
		mustAppend(t, s, "a-1", events.NoStream(), 1)
		if r := <-got; r.Position != 1 {
			t.Fatalf("got position %d, want 1", r.Position)
		}
		mustAppend(t, s, "a-1", events.Exact(0), 2, 3)
		count := map[events.Position]int{}
		for range 3 {
			count[(<-got).Position]++
		}
		if count[2] != 1 || count[3] != 2 {
			t.Fatalf("positions seen: %v, want 2 once and 3 twice", count)
		}
	})
	t.Run("no gap and no duplicate under concurrent writers", func(t *testing.T) {
		liveUnderLoad(t, b.open(t))
	})
	t.Run("it ends with its context", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range s.Subscribe(ctx, 0) {
			if n++; n == 1 {
				cancel()
				continue
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("ended with %v", err)
			}
		}
		if n != 2 {
			t.Fatalf("yielded %d times, want one event and one error", n)
		}
	})
	t.Run("a consumer that is slow delays nobody", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		next, stop := iter.Pull2(s.Subscribe(t.Context(), 0))
		defer stop()
		wantNext(t, next, recorded(event(0), "a-1", 0, 1))
		const more = 1500
		for n := 1; n < more; n += 100 {
			var batch []events.NewEvent
			for i := range 100 {
				batch = append(batch, event(n+i))
			}
			if _, err := s.Append(t.Context(), "a-1", events.Exact(uint64(n-1)), batch); err != nil {
				t.Fatal(err)
			}
		}
		for n := 1; n < more; n++ {
			wantNext(t, next, recorded(event(n), "a-1", uint64(n), events.Position(n+1)))
		}
	})
}

func wantNext(
	t testing.TB, next func() (events.Recorded, error, bool), want events.Recorded,
) {
	t.Helper()
	got, err, ok := next()
	if err != nil || !ok {
		t.Fatalf("subscription ended: %v", err)
	}
	if d := diff([]events.Recorded{want}, []events.Recorded{got}); d != "" {
		t.Fatalf("next event (-want +got):\n%s", d)
	}
}

// liveUnderLoad has writers and subscribers at the same time. Some subscribers
// start late, and so change from old to new events meanwhile.
func liveUnderLoad(t *testing.T, s events.Store) {
	const (
		writers     = 8
		subscribers = 4
		each        = 60
		total       = writers * each
	)
	var wg sync.WaitGroup
	problems := make(chan error, writers+subscribers)
	halfway := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			name := fmt.Sprintf("w-%d", w)
			for n := range each {
				_, err := s.Append(t.Context(), name, events.ExpectNext(uint64(n)),
					numbered(w*each+n))
				if err != nil {
					problems <- fmt.Errorf("writer %d: %w", w, err)
					return
				}
				if w == 0 && n == each/2 {
					close(halfway)
				}
			}
		})
	}
	for i := range subscribers {
		wg.Go(func() {
			if i%2 == 1 {
				select {
				case <-halfway:
				case <-t.Context().Done():
				}
			}
			problems <- follow(t.Context(), s, total)
		})
	}
	wg.Wait()
	close(problems)
	for err := range problems {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// follow subscribes from the start up to a position, and demands every position
// once and every stream in order.
func follow(ctx context.Context, s events.Store, last events.Position) error {
	revisions := map[string]uint64{}
	at := events.Position(0)
	for r, err := range s.Subscribe(ctx, 0) {
		if err != nil {
			return err
		}
		if at++; r.Position != at {
			return fmt.Errorf("position %d where %d is due", r.Position, at)
		}
		if r.Revision != revisions[r.Stream] {
			return fmt.Errorf("%s: revision %d where %d is due",
				r.Stream, r.Revision, revisions[r.Stream])
		}
		revisions[r.Stream]++
		if at == last {
			break
		}
	}
	return nil
}
