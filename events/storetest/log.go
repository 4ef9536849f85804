package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// logs checks the rules of ReadBack and Wait.
func logs(t *testing.T, b bench) {
	t.Run("the log is read backward from any event", func(t *testing.T) { back(t, b.open(t)) })
	t.Run("a part of the log is read by how its streams begin", func(t *testing.T) { prefixed(t, b.open(t)) })
	t.Run("reading backward ends with its context", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range s.ReadBack(ctx, events.EndPosition, 0) {
			if n++; n == 1 {
				cancel()
			} else if !errors.Is(err, context.Canceled) {
				t.Fatalf("after the end of the context: %v", err)
			}
		}
		if n != 2 {
			t.Fatalf("yielded %d times, want one event and one error", n)
		}
	})
	t.Run("waiting for what is there returns at once", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
		for _, after := range []events.Position{0, 1} {
			if err := s.Wait(t.Context(), after); err != nil {
				t.Fatalf("wait after %d: %v", after, err)
			}
		}
	})
	t.Run("an append wakes all who wait for it", func(t *testing.T) {
		s := b.open(t)
		for round := range 20 {
			const waiting = 4
			woken := make(chan error, waiting)
			for range waiting {
				go func() { woken <- s.Wait(t.Context(), events.Position(round)) }()
			}
			mustAppend(t, s, "a-1", events.ExpectNext(uint64(round)), round)
			for range waiting {
				if err := <-woken; err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
		}
	})
	t.Run("a deletion wakes who waits", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		for round, forever := range []bool{false, true} {
			woken := make(chan error, 1)
			go func() { woken <- s.Wait(t.Context(), events.Position(round+1)) }()
			mustDelete(t, s, "a-1", events.Any(), forever)
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("waiting ends with its context", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Wait(ctx, 1) }()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("wait ended with %v", err)
		}
		if err := s.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("wait with a context that has ended: %v", err)
		}
	})
	t.Run("waiting ends with Close", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		ended := make(chan error, 1)
		go func() { ended <- s.Wait(t.Context(), 1) }()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, events.ErrClosed) {
			t.Fatalf("wait ended with %v", err)
		}
	})
}

func prefixed(t *testing.T, s events.Store) {
	const all = 1_000 // more than one search of any server
	n := 0
	for n < all {
		for _, stream := range []string{"a-1", "a-12", "b-1", "ab-1", "c-1"} {
			batch := make([]int, 40)
			for i := range batch {
				batch[i], n = n, n+1
			}
			mustAppend(t, s, stream, events.Any(), batch...)
		}
	}
	mustDelete(t, s, "a-12", events.Any(), false) // Its metadata is the system's, its events stay.
	log := mustRead(t, s.ReadAll(t.Context(), 0, 0))
	middle, head := log[len(log)/2].Position, log[len(log)-1].Position
	for _, c := range []struct {
		after    events.Position
		prefixes []string
	}{
		{0, []string{"a-"}},
		{0, []string{"a-1"}},
		{0, []string{"b-", "c-1"}},
		{0, []string{"none-"}},
		{middle, []string{"a-", "ab-"}},
		{middle, []string{"none-"}},
		{head, []string{"a-"}},
	} {
		var want []events.Recorded
		for _, r := range log {
			if r.Position > c.after && events.HasPrefix(r.Stream, c.prefixes) {
				want = append(want, r)
			}
		}
		got := mustRead(t, events.ReadPrefixed(t.Context(), s, c.after, c.prefixes))
		if diff := diff(want, got); diff != "" {
			t.Fatalf("after %d, %v:\n%s", c.after, c.prefixes, diff)
		}
	}
	taken := 0
	for _, err := range events.ReadPrefixed(t.Context(), s, 0, []string{"a-"}) {
		if taken++; err != nil {
			t.Fatal(err)
		}
		if taken == 3 { // Nobody wants the rest.
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range events.ReadPrefixed(ctx, s, 0, []string{"a-"}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("with a context that has ended: %v", err)
		}
	}
}

func back(t *testing.T, s events.Store) {
	if got := mustRead(t, s.ReadBack(t.Context(), events.EndPosition, 0)); len(got) != 0 {
		t.Fatalf("the empty log has %d events", len(got))
	}
	const all = 700 // more than one chunk of any store
	var want []events.Recorded
	for n := 0; n < all; n += 7 {
		name := []string{"a-1", "b-1"}[n%2]
		result := mustAppend(t, s, name, events.Any(), n, n+1, n+2, n+3, n+4, n+5, n+6)
		for i := range 7 {
			revision := result.Revision - 6 + uint64(i)
			want = append(want, recorded(event(n+i), name, revision, events.Position(n+i+1)))
		}
	}
	slices.Reverse(want)
	for _, c := range []struct {
		before          events.Position
		limit, from, to int
	}{
		{events.EndPosition, 0, 0, all},
		{events.EndPosition, 1, 0, 1},
		{events.EndPosition, 300, 0, 300},
		{events.EndPosition, all + 1, 0, all},
		{all, 0, 1, all},
		{all, 3, 1, 4},
		{2, 0, all - 1, all},
		{1, 0, all, all},
		{0, 0, all, all},
	} {
		got := mustRead(t, s.ReadBack(t.Context(), c.before, c.limit))
		if d := diff(want[c.from:c.to], got); d != "" {
			t.Fatalf("before %d, limit %d (-want +got):\n%s", c.before, c.limit, d)
		}
	}
	for range s.ReadBack(t.Context(), events.EndPosition, 0) {
		break // A consumer may stop at any event.
	}
}
