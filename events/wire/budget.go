package wire

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// budget is memory that all calls share. A call that wants more than is free
// waits in a queue, and is refused when its turn does not come in time.
// Incoming and outgoing messages have a budget each, so that readers who take
// nothing cannot keep others from appending.
//
// A call must not wait while it holds memory that only further memory would
// free, or calls could wait for each other for ever: see intake and reader.
type budget struct {
	of    string // Who holds it, for people.
	limit int64
	wait  time.Duration // The longest that a caller waits.

	mu   sync.Mutex
	used int64
	peak int64
	line []*waiter // The first is served first, however much it wants.
}

// waiter is a caller's place in the line.
type waiter struct {
	bytes int64
	comes chan struct{} // Closed when the bytes are granted.
}

// take waits for memory and returns how much was granted: the whole limit when
// more is wanted, so that a message larger than the limit passes too, alone.
func (b *budget) take(ctx context.Context, bytes int64) (granted int64, err error) {
	bytes = min(bytes, b.limit)
	b.mu.Lock()
	if len(b.line) == 0 && b.grant(bytes) {
		b.mu.Unlock()
		return bytes, nil
	}
	t := &waiter{bytes, make(chan struct{})}
	b.line = append(b.line, t)
	b.mu.Unlock()
	late := time.NewTimer(b.wait)
	defer late.Stop()
	select {
	case <-t.comes:
		return bytes, nil
	case <-ctx.Done():
		err = refuse(ctx.Err(), "")
	case <-late.C:
		err = b.busy()
	}
	b.leave(t)
	return 0, err
}

// try is take for callers that must not wait: it grants all, or nothing.
func (b *budget) try(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.grant(bytes) {
		return b.busy()
	}
	return nil
}

// busy is the error for a client whose turn does not come in time.
func (b *budget) busy() error {
	return refused(codes.ResourceExhausted,
		"this server is too busy: %s hold its limit of %d bytes; try again later", b.of, b.limit)
}

// grant takes bytes when they are free. The lock is held.
func (b *budget) grant(bytes int64) bool {
	if b.used+bytes > b.limit {
		return false
	}
	b.used += bytes
	b.peak = max(b.peak, b.used)
	return true
}

// give returns memory, and admits the next waiter.
func (b *budget) give(bytes int64) {
	if bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used -= bytes; b.used < 0 {
		panic("wire: more memory was given back than was taken")
	}
	b.admit()
}

// admit grants memory from the front of the queue, as long as it suffices. The lock is held.
func (b *budget) admit() {
	for len(b.line) > 0 && b.grant(b.line[0].bytes) {
		close(b.line[0].comes)
		b.line[0] = nil
		b.line = b.line[1:]
	}
}

// leave removes a turn from the queue; memory that was granted meanwhile is returned.
func (b *budget) leave(t *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.line, t); i >= 0 {
		b.line = slices.Delete(b.line, i, i+1) // It may have been in the way.
	} else {
		b.used -= t.bytes
	}
	b.admit()
}

// wanted reports whether a caller waits.
func (b *budget) wanted() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.line) > 0
}
