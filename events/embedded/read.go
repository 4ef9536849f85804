package embedded

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Readers take events in chunks, and hold nothing of pebble while the consumer
// processes one: a slow consumer neither keeps old tables on disk nor delays
// Close.
const (
	firstChunk    = 16      // events; most reads are of short streams
	largestChunk  = 512     // events
	maxChunkBytes = 1 << 20 // of records; one event may be more
)

// reader is one read. It reuses strings from chunk to chunk.
type reader struct {
	store *Store
	ctx   context.Context // of the call that is being served
	names interner
	chunk []events.Recorded
	size  int // of the next chunk, in events
	left  int // events that may still be yielded; negative means all
}

func (s *Store) newReader(ctx context.Context, limit int) *reader {
	if limit <= 0 {
		limit = -1
	}
	return &reader{store: s, ctx: ctx, size: firstChunk, left: limit}
}

// fill empties the chunk and calls read, while pebble is kept open.
func (r *reader) fill(read func(most int) error) error {
	r.store.reading.RLock()
	defer r.store.reading.RUnlock()
	if err := r.store.usable(r.ctx); err != nil {
		return err
	}
	r.chunk = r.chunk[:0]
	most := r.size
	if r.left >= 0 {
		most = min(most, r.left)
	}
	r.size = min(2*r.size, largestChunk)
	return read(most)
}

// yield yields the chunk; false ends the read.
func (r *reader) yield(yield func(events.Recorded, error) bool) bool {
	for _, e := range r.chunk {
		if err := r.store.usable(r.ctx); err != nil {
			yield(events.Recorded{}, err)
			return false
		}
		if !yield(e, nil) {
			return false
		}
		if r.left > 0 {
			r.left--
		}
	}
	return r.left != 0
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return s.readLog(ctx, after, limit, false, false)
}

// ReadBack implements events.Store.
func (s *Store) ReadBack(
	ctx context.Context, before events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return s.readLog(ctx, before, limit, true, false)
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(
	ctx context.Context, after events.Position,
) iter.Seq2[events.Recorded, error] {
	return s.readLog(ctx, after, 0, false, true)
}

// readLog reads on from a position, or back from it; to the end, or for ever.
func (s *Store) readLog(
	ctx context.Context, at events.Position, limit int, back, follow bool,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		r := s.newReader(ctx, limit)
		for {
			var changed <-chan struct{}
			var failed error
			if follow {
				// The channel is taken before the read, or a batch between the two
				// would wake nobody. The failure, too, so that what became durable
				// before it is still delivered.
				changed, failed = s.changed(), s.failed()
			}
			err := r.fillLog(at, back)
			if len(r.chunk) > 0 {
				at = r.chunk[len(r.chunk)-1].Position
			}
			if !r.yield(yield) {
				return
			}
			if err == nil && len(r.chunk) == 0 {
				err = failed
			}
			switch {
			case err != nil:
				yield(events.Recorded{}, err)
				return
			case len(r.chunk) > 0:
			case follow:
				s.awaitChange(ctx, changed)
			default:
				return
			}
		}
	}
}

// awaitChange waits until there is more to read, or never will be, or nobody wants it.
func (s *Store) awaitChange(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-s.guard.failed:
	case <-s.closing:
	case <-ctx.Done():
	}
}

// changed is closed when there is more to read.
func (s *Store) changed() <-chan struct{} {
	s.tail.Lock()
	defer s.tail.Unlock()
	return s.tail.changed
}

// Wait implements events.Store.
func (s *Store) Wait(ctx context.Context, after events.Position) error {
	for {
		// The order matters, as in Subscribe.
		changed, failed := s.changed(), s.failed()
		if err := s.usable(ctx); err != nil {
			return err
		}
		if events.Position(s.synced.Load()) > after {
			return nil
		}
		if failed != nil {
			return failed
		}
		s.awaitChange(ctx, changed)
	}
}

// fillLog reads the next events in global order, up to the last durable one; or,
// backward, those before a position.
func (r *reader) fillLog(at events.Position, back bool) error {
	return r.fill(func(most int) error {
		synced := events.Position(r.store.synced.Load())
		first, end := min(at, synced)+1, synced+1
		if back {
			first, end = 1, min(at, end)
		}
		if first >= end {
			return nil
		}
		it, err := r.store.db.NewIter(between(first, end))
		if err != nil {
			return err
		}
		defer it.Close()
		begin, step := it.First, it.Next
		if back {
			begin, step = it.Last, it.Prev
		}
		size := 0
		for ok := begin(); len(r.chunk) < most && size < maxChunkBytes && first < end; ok = step() {
			position := first
			if back {
				end--
				position = end
			} else {
				first++
			}
			if !ok && it.Error() != nil {
				return damaged(it.Error(), "", 0, position)
			}
			e, err := r.event(it, ok, position)
			if err != nil {
				return err
			}
			size += len(e.Data)
			r.chunk = append(r.chunk, e)
		}
		return nil
	})
}

// event decodes the event at the iterator, which must be the one of this
// position.
func (r *reader) event(
	it *pebble.Iterator, ok bool, position events.Position,
) (events.Recorded, error) {
	if !ok {
		return events.Recorded{}, &DamagedError{Position: position, Reason: errMissing}
	}
	if at, err := parseEventKey(it.Key()); err != nil || at != position {
		return events.Recorded{}, &DamagedError{
			Position: position, Reason: errors.Join(errMissing, err),
		}
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return events.Recorded{}, damaged(err, "", 0, position)
	}
	e, err := decodeRecord(value, &r.names)
	if err == nil && e.Position != position {
		err = fmt.Errorf("%w: record says position %d", errIndex, e.Position)
	}
	if err != nil {
		return events.Recorded{}, &DamagedError{Position: position, Reason: err}
	}
	return e, nil
}
