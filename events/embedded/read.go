package embedded

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Readers take events in chunks and hold nothing of pebble while the consumer
// works on one: a slow consumer neither keeps old tables on disk nor delays
// Close.
const (
	firstChunk    = 16      // events; most reads are of short streams
	largestChunk  = 512     // events
	maxChunkBytes = 1 << 20 // of records; one event may be more
)

// reader is one read: it remembers strings from chunk to chunk.
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

// fill runs read with pebble kept open and the chunk empty.
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

// yield hands the chunk out; false ends the read.
func (r *reader) yield(yield func(events.Recorded, error) bool) bool {
	for _, e := range r.chunk {
		if err := r.ctx.Err(); err != nil {
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
	return func(yield func(events.Recorded, error) bool) {
		r := s.newReader(ctx, limit)
		for {
			err := r.fillAll(after)
			if len(r.chunk) > 0 {
				after = r.chunk[len(r.chunk)-1].Position
			}
			if !r.yield(yield) {
				return
			}
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
			if len(r.chunk) == 0 {
				return
			}
		}
	}
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(
	ctx context.Context, after events.Position,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		r := s.newReader(ctx, 0)
		for {
			// The channel is taken before the read, else a batch between the two
			// would wake nobody. So is the failure: what was durable before it
			// is still delivered.
			changed, failed := s.changed(), s.failed()
			err := r.fillAll(after)
			if len(r.chunk) > 0 {
				after = r.chunk[len(r.chunk)-1].Position
			}
			if !r.yield(yield) {
				return
			}
			if err == nil && len(r.chunk) == 0 {
				err = failed
			}
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
			if len(r.chunk) > 0 {
				continue
			}
			select {
			case <-changed:
			case <-s.guard.failed:
			case <-s.closing:
			case <-ctx.Done():
			}
		}
	}
}

// changed is closed when there is more to read.
func (s *Store) changed() <-chan struct{} {
	s.tail.Lock()
	defer s.tail.Unlock()
	return s.tail.changed
}

// fillAll reads the next events in global order, up to what is durable.
func (r *reader) fillAll(after events.Position) error {
	return r.fill(func(most int) error {
		synced := events.Position(r.store.synced.Load())
		if after >= synced {
			return nil
		}
		it, err := r.store.db.NewIter(&pebble.IterOptions{
			LowerBound: appendEventKey(nil, after+1), UpperBound: appendEventKey(nil, synced+1),
		})
		if err != nil {
			return err
		}
		defer it.Close()
		size := 0
		for ok := it.First(); len(r.chunk) < most && size < maxChunkBytes; ok = it.Next() {
			after++
			if !ok && it.Error() != nil {
				return damaged(it.Error(), "", 0, after)
			}
			if !ok && after > synced {
				return nil
			}
			e, err := r.event(it, ok, after)
			if err != nil {
				return err
			}
			size += len(e.Data)
			r.chunk = append(r.chunk, e)
		}
		return nil
	})
}

// event decodes what the iterator stands on, which must be the event of this
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

// ReadStream implements events.Store.
func (s *Store) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		r := s.newReader(ctx, q.Limit)
		next, found := q.From, false
		for {
			err := r.fillStream(stream, next, q.Backward, &found)
			over := len(r.chunk) == 0
			if !over {
				last := r.chunk[len(r.chunk)-1].Revision
				if next = last + 1; q.Backward {
					next, over = last-1, last == 0
				}
			}
			if !r.yield(yield) {
				return
			}
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
			if over {
				return
			}
		}
	}
}

// fillStream reads the next events of a stream. The first time, found is
// false, and a stream without events is an error.
func (r *reader) fillStream(stream string, from uint64, backward bool, found *bool) error {
	return r.fill(func(most int) error {
		count, err := r.durableCount(stream)
		if err != nil {
			return err
		}
		if count == 0 && !*found {
			return events.ErrStreamNotFound
		}
		*found = true
		if backward {
			from = min(from, count-1)
		} else if from >= count {
			return nil
		}
		return r.fillRevisions(stream, from, count, backward, most)
	})
}

// durableCount is the number of events of a stream that are synced: pebble may
// show some that are not yet.
func (r *reader) durableCount(stream string) (uint64, error) {
	synced := events.Position(r.store.synced.Load())
	prefix := appendStreamPrefix(nil, stream)
	it, err := r.store.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix, UpperBound: behind(prefix),
	})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for ok := it.Last(); ok; ok = it.Prev() {
		_, revision, err := parseIndexKey(it.Key())
		if err != nil {
			return 0, &DamagedError{Stream: stream, Reason: err}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, damaged(err, stream, revision, 0)
		}
		entry, err := parseIndexEntry(value)
		if err != nil {
			return 0, &DamagedError{Stream: stream, Revision: revision, Reason: err}
		}
		if entry.position <= synced {
			return revision + 1, nil
		}
	}
	if err := it.Error(); err != nil {
		return 0, damaged(err, stream, 0, 0)
	}
	return 0, nil
}

// behind is the smallest key that is larger than all keys with the prefix. The
// prefix ends with the end of a name, so adding one never overflows.
func behind(prefix []byte) []byte {
	upper := append([]byte(nil), prefix...)
	upper[len(upper)-1]++
	return upper
}

// fillRevisions reads events by the index of their stream.
func (r *reader) fillRevisions(
	stream string, from, count uint64, backward bool, most int,
) error {
	prefix := appendStreamPrefix(nil, stream)
	index, err := r.store.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix, UpperBound: appendIndexKey(nil, stream, count),
	})
	if err != nil {
		return err
	}
	defer index.Close()
	log, err := r.store.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixEvent}, UpperBound: []byte{prefixEvent + 1},
	})
	if err != nil {
		return err
	}
	defer log.Close()
	var ok bool
	var key []byte
	if backward {
		ok = index.SeekLT(appendIndexKey(nil, stream, from+1))
	} else {
		ok = index.SeekGE(appendIndexKey(nil, stream, from))
	}
	for size := 0; len(r.chunk) < most && size < maxChunkBytes; {
		e, err := r.indexed(index, log, ok, &key, stream, from)
		if err != nil {
			return err
		}
		size += len(e.Data)
		r.chunk = append(r.chunk, e)
		if backward {
			if from == 0 {
				return nil
			}
			from, ok = from-1, index.Prev()
		} else {
			if from+1 == count {
				return nil
			}
			from, ok = from+1, index.Next()
		}
	}
	return nil
}

// indexed reads the event to which the index points, and checks that both mean
// the same.
func (r *reader) indexed(
	index, log *pebble.Iterator, ok bool, key *[]byte, stream string, revision uint64,
) (events.Recorded, error) {
	fail := func(position events.Position, reason error) (events.Recorded, error) {
		return events.Recorded{}, &DamagedError{stream, revision, position, reason}
	}
	if !ok {
		if err := index.Error(); err != nil {
			return events.Recorded{}, damaged(err, stream, revision, 0)
		}
		return fail(0, errMissing)
	}
	if _, at, err := parseIndexKey(index.Key()); err != nil || at != revision {
		return fail(0, errors.Join(errMissing, err))
	}
	value, err := index.ValueAndErr()
	if err != nil {
		return events.Recorded{}, damaged(err, stream, revision, 0)
	}
	entry, err := parseIndexEntry(value)
	if err != nil {
		return fail(0, err)
	}
	*key = appendEventKey((*key)[:0], entry.position)
	found := log.SeekGE(*key)
	if err := log.Error(); err != nil {
		return events.Recorded{}, damaged(err, stream, revision, entry.position)
	}
	e, err := r.event(log, found, entry.position)
	var d *DamagedError
	if errors.As(err, &d) {
		return fail(entry.position, d.Reason)
	} else if err != nil {
		return events.Recorded{}, err
	}
	if e.Stream != stream || e.Revision != revision || e.ID != entry.id {
		return fail(entry.position, fmt.Errorf("%w: it is %q revision %d, id %s",
			errIndex, e.Stream, e.Revision, e.ID))
	}
	return e, nil
}
