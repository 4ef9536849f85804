package shell

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// Base is what all actors of a host share.
type Base struct {
	RT         *Runtime
	Log        *logrus.Entry
	Clock      Clock
	Store      events.Store
	Codec      *events.Codec
	Streams    events.Streams // how the streams of all machines are named
	StoreWatch *StoreWatch    // says whether the event store answers
	Me         events.Address
	// Member is the name of this process among the members of the host; empty: it is alone. Ledger
	// names its ledger, as events.LedgerStream does. Both are set before the actors exist.
	Member, Ledger events.Member

	Epoch uint64 // of this process, for the metadata of what it writes
	Node  string // the same
	// RetryAfter and RetryMost are the first and the longest pause between two tries of a call
	// with a temporary failure.
	RetryAfter, RetryMost time.Duration
	// SnapshotEvery is how many events lie between two snapshots of a state; negative: none are
	// written.
	SnapshotEvery int
	// Bell rings when the event store is back, or the chain: a task that pauses before another try
	// need not wait longer.
	Bell *Bell
	// Yield is called by every task when it begins, and when it goes on after a pause or a new
	// block; a simulation uses it to run one task at a time.
	Yield func(ctx context.Context, task string)
	// MinEvents is how many events each of this host's streams had at the start: a store that has fewer is behind.
	// It is set before the actors exist that read it.
	MinEvents map[string]uint64
	// HasTerm reads on in the host's stream and returns an error if this process does not have the term any more:
	// whatever it has read may be by another owner then. Nil: it is the whole host.
	HasTerm func(context.Context) error
	// Savers save unsaved states at a stop, by the name of their owner. The root actor adds
	// them; they are read when it has stopped.
	Savers map[string]Saver
}

// Mine reports whether a sale that names a member is one of this process: what was sold before the
// host had members belongs to the one that has the host's ledger.
func (b *Base) Mine(member events.Member) bool {
	return member == b.Member || member == "" && b.Ledger == ""
}

// Metadata returns the metadata of an event of this process.
func (b *Base) Metadata(correlation string) events.Metadata {
	return events.Metadata{Correlation: correlation, Epoch: b.Epoch, Node: b.Node}
}

// Later runs a task of the actor whose turn it is, and tells the actor what it comes to.
func (b *Base) Later(a *Turn, task string, work func(ctx context.Context) any) {
	a.Do(func(ctx context.Context) {
		b.Yield(ctx, task)
		a.Self.Tell(work(ctx)) // It is dropped when the host stops: the runtime is dead before ctx ends.
	})
}

// In runs a call inside a pool.
func In[T any](ctx context.Context, p *Pool, deadline time.Time, call func() (T, error)) (T, error) {
	leave, err := p.Enter(ctx, deadline)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return call()
}

// Backoff is the pause before the nth retry of what the key names, n from 1.
func (b *Base) Backoff(key string, n int) time.Duration {
	return retry.Backoff(b.RetryAfter, b.RetryMost, key, n)
}

// Pause is the pause before the nth retry. It ends early when the bell rings; then the next one is the first again.
// Take rung, which is Bell.Next, before the try: what is back since then is not waited for.
func (b *Base) Pause(ctx context.Context, key string, n int, rung <-chan struct{}) (next int, err error) {
	rang, err := b.Bell.sleep(ctx, b.Clock, b.Backoff(key, n), min(b.RetryAfter, appendRetry), rung)
	if rang {
		return 1, err
	}
	return n + 1, err
}

// Retry repeats a call until it succeeds or fails for good. It calls note for each temporary
// failure.
func (b *Base) Retry(ctx context.Context, key string, note func(error), final func(error) bool,
	call func(context.Context) error,
) error {
	for n := 1; ; {
		b.Yield(ctx, key)
		rung := b.Bell.Next()
		err := call(ctx)
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case final(err):
			return err
		}
		note(err)
		if n, err = b.Pause(ctx, key, n, rung); err != nil {
			return err
		}
	}
}

// WhenUp asks a part until it answers, and pauses while it is down.
func WhenUp[T any](ctx context.Context, b *Base, task string, ask func() Question[T]) (T, error) {
	for n := 1; ; n++ {
		v, err := ask().Wait(ctx)
		if !errors.Is(err, ErrPartDown) {
			return v, err
		}
		if err := Sleep(ctx, b.Clock, b.Backoff(task, n)); err != nil {
			return v, err
		}
		b.Yield(ctx, task)
	}
}
