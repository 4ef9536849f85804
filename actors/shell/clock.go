package shell

import (
	"context"
	"time"
)

// Clock is the machine's time: for logs, back-off and the timeouts of our own calls, never for
// a decision about the market.
type Clock interface {
	Now() time.Time
	// After calls f once, on its own goroutine, after d; stop prevents it.
	After(d time.Duration, f func()) (stop func())
}

// guardedClock is a clock whose callbacks may panic without ending the process.
type guardedClock struct {
	Clock
	rt *Runtime
}

// GuardClock returns a clock whose callbacks may panic without ending the process.
func GuardClock(clock Clock, rt *Runtime) Clock { return guardedClock{clock, rt} }

func (c guardedClock) After(d time.Duration, f func()) func() {
	return c.Clock.After(d, func() {
		_ = c.rt.Guarded("a timer", func() error {
			f()
			return nil
		})
	})
}

// Sleep waits by the clock, or until the context ends.
func Sleep(ctx context.Context, clock Clock, d time.Duration) error {
	done := make(chan struct{})
	defer clock.After(d, func() { close(done) })()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
