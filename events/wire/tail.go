package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// tailPage is how many events the tail reads at once.
const tailPage = 1024

// tailPause is how long the tail waits after a temporary error.
const tailPause = time.Second

// tail follows the end of the log and wakes those who follow the log, or a
// stream with new events.
type tail struct {
	store events.Store

	mu        sync.Mutex
	followers map[string]map[*follower]bool // By stream; allStream is the log.
	dead      error                         // Why nothing comes any more.
}

// follower is a subscription that waits for events.
type follower struct {
	// wake has a buffer of one: who is woken reads everything there is.
	wake chan struct{}
	// ended receives the tombstone of the stream, which no read yields.
	ended chan events.Recorded
	// failed receives the reason when no more events will come.
	failed chan error
}

func newTail(store events.Store) *tail {
	return &tail{store: store, followers: map[string]map[*follower]bool{}}
}

// follow registers a follower, who must read the store afterwards: it is woken
// for whatever becomes durable later.
func (t *tail) follow(stream string) (f *follower, unfollow func()) {
	f = &follower{
		wake: make(chan struct{}, 1), ended: make(chan events.Recorded, 1), failed: make(chan error, 1),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead != nil {
		f.failed <- t.dead
	}
	if t.followers[stream] == nil {
		t.followers[stream] = map[*follower]bool{}
	}
	t.followers[stream][f] = true
	return f, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.followers[stream], f)
		if len(t.followers[stream]) == 0 {
			delete(t.followers, stream)
		}
	}
}

// run follows the log until ctx ends or the store is gone for good. A temporary
// error ends those who follow now; they come back by themselves.
func (t *tail) run(ctx context.Context) {
	for {
		err := t.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		gone := errors.Is(err, events.ErrClosed) || errors.Is(err, events.ErrStoreFailed)
		t.fail(err, gone)
		if gone || retry.Sleep(ctx, tailPause) != nil {
			return
		}
	}
}

// watch follows the log from its end on. It begins by waking everybody, because
// of what was written before it knew the end.
func (t *tail) watch(ctx context.Context) error {
	at, err := t.store.Head(ctx)
	if err != nil {
		return err
	}
	t.wakeEverybody()
	for err == nil {
		if err = t.store.Wait(ctx, at); err == nil {
			at, err = t.step(ctx, at)
		}
	}
	return err
}

// step wakes the followers of the events after a position, and returns how far
// it got. When nobody follows a stream it skips to the end of the log. It reads
// the end before it counts the followers, because one that comes later reads
// everything before that itself.
func (t *tail) step(ctx context.Context, at events.Position) (events.Position, error) {
	head, err := t.store.Head(ctx)
	if err != nil {
		return at, err
	}
	if t.wakeLog() {
		return max(at, head), nil
	}
	for r, err := range t.store.ReadAll(ctx, at, tailPage) {
		if err != nil {
			return at, err
		}
		at = r.Position
		t.wake(r)
	}
	return at, nil
}

// wakeLog wakes the followers of the log, and reports whether there are no
// others.
func (t *tail) wakeLog() (alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	log := t.followers[allStream]
	signal(log)
	return len(t.followers) == 0 || len(t.followers) == 1 && log != nil
}

func (t *tail) wake(r events.Recorded) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Type == events.TypeTombstone {
		for f := range t.followers[r.Stream] {
			offer(f.ended, r)
		}
	}
	signal(t.followers[r.Stream])
	for _, virtual := range events.VirtualOf(&r) {
		signal(t.followers[virtual])
	}
}

func signal(all map[*follower]bool) {
	for f := range all {
		offer(f.wake, struct{}{})
	}
}

// offer puts something into a channel that has room for it.
func offer[T any](to chan<- T, what T) {
	select {
	case to <- what:
	default:
	}
}

func (t *tail) wakeEverybody() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, all := range t.followers {
		signal(all)
	}
}

// fail tells all followers that no more events will come; if it is for good,
// later followers too.
func (t *tail) fail(err error, forGood bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if forGood {
		t.dead = err
	}
	for _, all := range t.followers {
		for f := range all {
			offer(f.failed, err)
		}
	}
}
