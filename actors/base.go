package actors

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// base is what all actors of a host share, whatever machine they run.
type base struct {
	rt     *shell.Runtime
	log    *logrus.Entry
	Clock  shell.Clock
	Store  events.Store
	codec  *events.Codec
	record *shell.Record // says whether the event store answers
	me     events.Address
	epoch  uint64 // of this process, for the metadata of what it writes
	Node   string // the same
	// RetryAfter and RetryMost are the first and the longest pause between two tries of a
	// call that failed for a reason that may pass.
	RetryAfter, RetryMost time.Duration
	// SnapshotEvery is how many events are stored between two snapshots of a state;
	// negative: none are written.
	SnapshotEvery int
	// Turn is called by every task when it begins, and when it goes on after a pause or a
	// new block; a simulation lets them go on one after the other there.
	Turn func(ctx context.Context, task string)
	// shown is how many events of streams of this host the start has seen; set before the
	// actors that read it exist.
	shown map[string]uint64
	// savers save what is not saved at a stop, by the name of whose state it is. They are
	// added by the actor at the root, and read when it has stopped.
	savers map[string]saver
}

func (b *base) metadata(correlation string) events.Metadata {
	return events.Metadata{Correlation: correlation, Epoch: b.epoch, Node: b.Node}
}

// in runs a call inside a pool.
func in[T any](ctx context.Context, p *shell.Pool, deadline time.Time, call func() (T, error)) (T, error) {
	leave, err := p.Enter(ctx, deadline)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return call()
}

// backoff is the pause before the nth try again, n from 1: doubled each time,
// bounded, and spread by up to a half so that many sales do not knock at once.
// The spread follows from the key, so that a run can be repeated.
func (b *base) backoff(key string, n int) time.Duration {
	pause := b.RetryAfter << min(n-1, 20)
	if pause <= 0 || pause > b.RetryMost {
		pause = b.RetryMost
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", key, n)
	return pause/2 + time.Duration(h.Sum64()%uint64(pause/2+1))
}

// retry repeats a call until it succeeds or fails for good. It tells each
// passing failure to note.
func (b *base) retry(ctx context.Context, key string, note func(error), final func(error) bool,
	call func(context.Context) error,
) error {
	for n := 1; ; n++ {
		b.Turn(ctx, key)
		err := call(ctx)
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case final(err):
			return err
		}
		note(err)
		if err := shell.Sleep(ctx, b.Clock, b.backoff(key, n)); err != nil {
			return err
		}
	}
}

// whenUp asks a part until it answers, with a pause while it is down.
func whenUp[T any](ctx context.Context, b *base, task string, ask func() shell.Question[T]) (T, error) {
	for n := 1; ; n++ {
		v, err := ask().Wait(ctx)
		if !errors.Is(err, shell.ErrPartDown) {
			return v, err
		}
		if err := shell.Sleep(ctx, b.Clock, b.backoff(task, n)); err != nil {
			return v, err
		}
		b.Turn(ctx, task)
	}
}
