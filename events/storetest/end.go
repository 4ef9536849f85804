package storetest

import (
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// ends holds a store to the rules of Close.
func ends(t *testing.T, b bench) {
	t.Run("after Close everything answers that it is closed", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1, 2)
		for range 3 {
			if err := s.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
		}
		_, appended := s.Append(t.Context(), "a-1", events.Any(), numbered(3))
		_, checked := s.Append(t.Context(), "a-1", events.Any(), nil)
		_, headed := s.Head(t.Context())
		_, all := collect(s.ReadAll(t.Context(), 0, 0))
		_, one := collect(s.ReadStream(t.Context(), "a-1", events.ReadStream{}))
		_, none := collect(s.ReadStream(t.Context(), "a-2", events.ReadStream{}))
		_, backward := collect(s.ReadBack(t.Context(), events.EndPosition, 0))
		_, deleted := s.Delete(t.Context(), "a-1", events.Any(), false)
		_, ended := s.Delete(t.Context(), "a-1", events.Any(), true)
		_, virtual := collect(s.ReadStream(t.Context(), "$ce-a", events.ReadStream{}))
		_, subscribed := collect(s.Subscribe(t.Context(), 0))
		for what, err := range map[string]error{
			"append": appended, "check": checked, "head": headed, "read all": all,
			"read stream": one, "read unknown stream": none, "subscribe": subscribed,
			"read back": backward, "delete": deleted, "end": ended, "read virtual stream": virtual,
			"wait": s.Wait(t.Context(), 0),
		} {
			if !errors.Is(err, events.ErrClosed) {
				t.Errorf("%s after Close: %v, want closed", what, err)
			}
		}
	})
	t.Run("Close ends reads and subscriptions that are under way", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1, 2, 3)
		sequences := []iter.Seq2[events.Recorded, error]{
			s.ReadAll(t.Context(), 0, 0), s.Subscribe(t.Context(), 0), s.ReadBack(t.Context(), events.EndPosition, 0),
			s.ReadStream(t.Context(), "a-1", events.ReadStream{}),
		}
		var started, over sync.WaitGroup
		closed := make(chan struct{})
		for i, seq := range sequences {
			started.Add(1)
			over.Go(func() {
				n := 0
				for _, err := range seq {
					if n++; n == 1 {
						started.Done()
						<-closed
					}
					if err != nil && !errors.Is(err, events.ErrClosed) {
						t.Errorf("sequence %d ended with %v", i, err)
					}
					if err != nil {
						return
					}
				}
				t.Errorf("sequence %d ended without an error", i)
			})
		}
		started.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		close(closed)
		over.Wait()
	})
	t.Run("Close wakes subscribers that wait", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1)
		caughtUp := make(chan struct{})
		ended := make(chan error)
		go func() {
			var last error
			for r, err := range s.Subscribe(t.Context(), 0) {
				if last = err; err == nil && r.Position == 1 {
					close(caughtUp)
				}
			}
			ended <- last
		}()
		<-caughtUp
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, events.ErrClosed) {
			t.Fatalf("the subscription ended with %v", err)
		}
	})
	t.Run("an append beside Close is written or refused, and never hangs", func(t *testing.T) {
		s := b.open(t)
		var wg sync.WaitGroup
		var first sync.WaitGroup
		first.Add(1)
		var once sync.Once
		for w := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					_, err := s.Append(t.Context(), "a-1", events.Any(), numbered(w<<32+n))
					once.Do(first.Done)
					if errors.Is(err, events.ErrClosed) {
						return
					} else if err != nil {
						t.Errorf("append: %v", err)
						return
					}
				}
			})
		}
		first.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}
