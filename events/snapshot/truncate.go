package snapshot

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hostnode/hostnode/events"
)

// Errors of truncation.
var (
	// ErrNeverTruncated: an audit needs the stream, so all of it stays.
	ErrNeverTruncated = errors.New("audits need this stream: it is never truncated")
	// ErrTruncated: the beginning of a stream is gone, and no snapshot replaces
	// it.
	ErrTruncated = fmt.Errorf("%w: the beginning of the stream was truncated, and no snapshot of it can be used; "+
		"restore the event store from a backup", events.ErrDamaged)
)

// Truncate hides the events of a stream before a revision. It never makes
// hidden events readable again. Streams that an audit needs are refused with
// ErrNeverTruncated.
func Truncate(
	ctx context.Context, store events.Store, streams events.Streams, stream string, before uint64,
) error {
	if !streams.MayTruncate(stream) {
		return fmt.Errorf("truncate %s: %w", stream, ErrNeverTruncated)
	}
	err := events.ChangeMetadata(ctx, store, stream, func(m *events.StreamMetadata) bool {
		if before <= m.TruncateBefore {
			return false
		}
		m.TruncateBefore = before
		return true
	})
	if err != nil {
		return fmt.Errorf("truncate %s: %w", stream, err)
	}
	return nil
}

// Tail yields the events of a stream from a revision on, without a gap.
// Truncated events are read from the log, which takes as long as reading the
// whole store; when the store no longer has them the error is ErrTruncated. A
// stream that does not exist yields nothing.
func Tail(ctx context.Context, store events.Store, stream string, from uint64) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		next := from
		for r, err := range store.ReadStream(ctx, stream, events.ReadStream{From: from}) {
			switch {
			case errors.Is(err, events.ErrStreamNotFound):
				return
			case err != nil:
				yield(events.Recorded{}, err)
				return
			case r.Revision > next:
				for hidden, err := range fromLog(ctx, store, stream, next, r.Revision) {
					if !yield(hidden, err) || err != nil {
						return
					}
				}
			}
			if !yield(r, nil) {
				return
			}
			next = r.Revision + 1
		}
	}
}

// Kept yields all events of a stream that the store still has: truncated ones are read from the log, as by Tail.
func Kept(ctx context.Context, store events.Store, stream string) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range Tail(ctx, store, stream, 0) {
			if errors.Is(err, ErrTruncated) {
				store.ReadStream(ctx, stream, events.ReadStream{})(yield)
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// fromLog finds the revisions of a stream from one up to, but not including, another in the log.
func fromLog(
	ctx context.Context, store events.Store, stream string, from, to uint64,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		next := from
		for r, err := range store.ReadAll(ctx, 0, 0) {
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
			if r.Stream != stream || r.Revision != next {
				continue
			}
			if !yield(r, nil) {
				return
			}
			if next++; next == to {
				return
			}
		}
		yield(events.Recorded{}, fmt.Errorf("revisions %d to %d of %s: %w", next, to-1, stream, ErrTruncated))
	}
}
