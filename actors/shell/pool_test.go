package shell

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlacesGoToTheEarliestDeadlineFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool("proofs", 1)
		leave, err := p.Enter(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got []string
		now := time.Now()
		for _, w := range []struct {
			name     string
			deadline time.Time
		}{
			{"none", time.Time{}},
			{"late", now.Add(time.Hour)},
			{"soon", now.Add(time.Minute)},
			{"soon too", now.Add(time.Minute)},
		} {
			go func() {
				leave, err := p.Enter(t.Context(), w.deadline)
				if err != nil {
					return
				}
				mu.Lock()
				got = append(got, w.name)
				mu.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		if running, waiting := p.Busy(); running != 1 || waiting != 4 {
			t.Fatalf("%d run, %d wait", running, waiting)
		}
		leave()
		synctest.Wait()
		if diff := cmp.Diff([]string{"soon", "soon too", "late", "none"}, got); diff != "" {
			t.Fatal(diff)
		}
		if running, waiting := p.Busy(); running != 0 || waiting != 0 {
			t.Fatalf("%d run, %d wait at the end", running, waiting)
		}
	})
}

func TestAPlaceThatCameTooLateIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool("proofs", 1)
		leave, err := p.Enter(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := p.Enter(ctx, time.Time{})
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled wait ended with %v", err)
		}
		// The other order: the place comes at the moment of the cancellation.
		w := &waiter{ready: make(chan struct{})}
		p.waiters = append(p.waiters, w)
		leave()
		if running, _ := p.Busy(); running != 1 {
			t.Fatalf("%d run after the place was handed on", running)
		}
		p.giveUp(w)
		if running, waiting := p.Busy(); running != 0 || waiting != 0 {
			t.Fatalf("%d run, %d wait after it was given up", running, waiting)
		}
	})
}

// Whatever enters, gives up and leaves in any order: never more run than the
// pool has places, and no place is lost.
func TestPoolNeverLosesOrInventsPlaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(rt, "size")
		steps := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 40).Draw(rt, "steps")
		picks := rapid.SliceOfN(rapid.IntRange(0, 1000), len(steps), len(steps)).Draw(rt, "picks")
		p := NewPool("any", size)
		var mu sync.Mutex
		var inside []func()
		var waits []context.CancelFunc
		done := make(chan struct{}, len(steps))
		began := 0
		for i, s := range steps {
			switch {
			case s == 0:
				ctx, cancel := context.WithCancel(context.Background())
				waits = append(waits, cancel)
				began++
				go func() {
					defer func() { done <- struct{}{} }()
					leave, err := p.Enter(ctx, time.Unix(int64(picks[i]), 0))
					if err == nil {
						mu.Lock()
						inside = append(inside, leave)
						mu.Unlock()
					}
				}()
			case s == 1 && len(waits) > 0:
				waits[picks[i]%len(waits)]()
			default:
				mu.Lock()
				if len(inside) > 0 {
					n := picks[i] % len(inside)
					leave := inside[n]
					inside = slices.Delete(inside, n, n+1)
					mu.Unlock()
					leave()
				} else {
					mu.Unlock()
				}
			}
			if running, _ := p.Busy(); running > size {
				rt.Fatalf("%d run in a pool of %d", running, size)
			}
		}
		for _, cancel := range waits {
			cancel()
		}
		for range began {
			<-done
		}
		for _, leave := range inside {
			leave()
		}
		if running, waiting := p.Busy(); running != 0 || waiting != 0 || p.free != size {
			rt.Fatalf("%d run, %d wait, %d are free of %d", running, waiting, p.free, size)
		}
	})
}
