package shell

import (
	"testing"
	"testing/synctest"
)

func TestWorkersAreUsedAgainAndWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &workers{}
		held := make(chan struct{})
		ran := 0
		w.Schedule(func() { <-held })
		for range 3 {
			w.Schedule(func() { ran++ })
			synctest.Wait()
		}
		if ran != 3 || len(w.idle) != 1 {
			t.Errorf("%d ran beside one that is held, %d wait for work, want 3 and 1", ran, len(w.idle))
		}
		close(held)
		synctest.Wait()
		if len(w.idle) != 2 {
			t.Errorf("%d wait for work, want 2", len(w.idle))
		}
		w.end()
		w.Schedule(func() { ran++ })
		synctest.Wait() // The bubble ends only when all goroutines have.
		if ran != 4 {
			t.Errorf("after the end %d ran, want 4", ran)
		}
	})
}

func TestNoMoreWorkersWaitThanAreAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &workers{}
		held := make(chan struct{})
		for range mostIdle + 10 {
			w.Schedule(func() { <-held })
		}
		close(held)
		synctest.Wait()
		if len(w.idle) != mostIdle {
			t.Errorf("%d wait for work, want %d", len(w.idle), mostIdle)
		}
		w.end()
	})
}
