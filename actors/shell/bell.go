package shell

import (
	"context"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Bell rings when something that calls are waiting for is back. The zero value is ready, and safe for
// concurrent use; a nil one never rings.
type Bell struct {
	mu   sync.Mutex
	next chan struct{} // closed when it rings; nil: nobody listens
}

// Ring wakes all who listen.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// Next returns a channel that is closed when the bell rings next.
func (b *Bell) Next() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// sleep waits for d, or at least for a while until the bell has rung.
func (b *Bell) sleep(
	ctx context.Context, clock Clock, d, least time.Duration, rung <-chan struct{},
) (rang bool, err error) {
	if err := Sleep(ctx, clock, min(d, least)); err != nil || d <= least {
		return false, err
	}
	over := make(chan struct{})
	defer clock.After(d-least, func() { close(over) })()
	select {
	case <-rung:
		return true, nil
	case <-over:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// RingFor rings the bell whenever a store says that its server is back, until ctx ends.
func (b *Base) RingFor(ctx context.Context, store events.Watchful) {
	was := false
	for {
		changed := store.Changed()
		_, _, away := store.Away()
		if was && !away {
			b.Yield(ctx, "the event store is back")
			b.Bell.Ring()
		}
		was = away
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
