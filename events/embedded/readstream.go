package embedded

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// mostTargets is how many heads of other streams a read of a virtual stream keeps, about 200 bytes each: as many as
// streams may take turns in it without being looked up for each event.
const mostTargets = 8192

// span is the range of readable revisions of a stream: from first on, before
// end.
type span struct{ first, end uint64 }

// streamReader reads one stream as it was when the read began.
type streamReader struct {
	*reader
	stream   string
	virtual  bool
	backward bool
	span     *span // nil before the first chunk
	next     uint64
	over     bool // nothing is left
	// targets are the heads of the streams whose events a virtual stream lists,
	// each as it was when first asked for.
	targets map[string]head
	// at is the position of the log's iterator; 0: it has none yet.
	at  events.Position
	key []byte
}

// ReadStream implements events.Store. What is appended while the read goes on
// is not part of it.
func (s *Store) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		r := &streamReader{
			reader: s.newReader(ctx, q.Limit), stream: stream, virtual: events.IsVirtual(stream),
			backward: q.Backward, next: q.From,
		}
		for !r.over {
			err := r.fill(r.fillStream)
			if failed := r.follow(); err == nil {
				err = failed
			}
			if !r.yield(yield) {
				return
			}
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
		}
	}
}

// fillStream reads the next events.
func (r *streamReader) fillStream(most int) error {
	if r.span == nil {
		if err := r.begin(); err != nil || r.over {
			return err
		}
	}
	return r.fillRevisions(most)
}

// begin finds out what can be read and where.
func (r *streamReader) begin() error {
	h, err := r.store.readableHead(r.stream)
	if err != nil {
		return err
	}
	if h.ended {
		return fmt.Errorf("read %s: %w", r.stream, events.ErrStreamDeleted)
	}
	if h.count == 0 || h.deleted() {
		return events.ErrStreamNotFound
	}
	meta := h.shown.metadata()
	first := meta.First(h.count)
	if meta.MaxAge > 0 {
		first, err = r.youngerThan(r.store.now().Add(-meta.MaxAge), first, h.count)
		if err != nil {
			return err
		}
	}
	r.span = &span{first, h.count}
	if r.backward {
		r.next = min(r.next, h.count-1)
		r.over = r.next < first
	} else {
		r.next = max(r.next, first)
		r.over = r.next >= h.count
	}
	return nil
}

// readableHead returns the durable head of a stream; for a metadata stream,
// with what follows from the stream that it describes.
func (s *Store) readableHead(stream string) (head, error) {
	h, err := s.durableHead(stream)
	of, isMetadata := events.MetadataOf(stream)
	if err != nil || !isMetadata || h.ended {
		return h, err
	}
	target, err := s.durableHead(of)
	h.ended, h.shown.maxCount = target.ended, 1
	return h, err
}

// youngerThan returns the first revision from first on, before end, that was
// recorded at or after a time; end if there is none. It relies on times not
// going back within a stream, which holds on one machine as long as nobody sets
// its clock back.
func (r *streamReader) youngerThan(oldest time.Time, first, end uint64) (uint64, error) {
	for first < end {
		middle := first + (end-first)/2
		at, err := r.recorded(middle)
		if err != nil {
			return 0, err
		}
		if at.Before(oldest) {
			first = middle + 1
		} else {
			end = middle
		}
	}
	return first, nil
}

// recorded is when an event of the stream was recorded.
func (r *streamReader) recorded(revision uint64) (time.Time, error) {
	r.key = appendIndexKey(r.key[:0], r.stream, revision)
	entry, err := readEntry(r.store.db, r.key, r.stream, revision)
	if err != nil {
		return time.Time{}, err
	}
	r.key = appendEventKey(r.key[:0], entry.position)
	where := DamagedError{Stream: r.stream, Revision: revision, Position: entry.position}
	return get(r.store.db, r.key, where, func(value []byte) (time.Time, error) {
		if err := checkRecord(value); err != nil {
			return time.Time{}, err
		}
		return recordTime(value), nil
	})
}

// fillRevisions reads events by the index of their stream.
func (r *streamReader) fillRevisions(most int) error {
	prefix := appendStreamPrefix(nil, r.stream)
	index, err := r.store.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix, UpperBound: appendIndexKey(nil, r.stream, r.span.end),
	})
	if err != nil {
		return err
	}
	defer index.Close()
	log, err := r.store.db.NewIter(under(prefixEvent))
	if err != nil {
		return err
	}
	defer log.Close()
	r.at = 0
	r.key = appendIndexKey(r.key[:0], r.stream, r.next)
	ok := index.SeekGE(r.key)
	for size := 0; len(r.chunk) < most && size < maxChunkBytes && !r.over; {
		e, err := r.indexed(index, log, ok, len(prefix))
		if err != nil {
			return err
		}
		size += len(e.Data) + entryBytes
		if r.virtual && !e.Link.Follows(&e) {
			shown, err := r.shows(&e)
			if err != nil {
				return err
			}
			if !shown {
				e = events.Unresolved(e.Link, e.Position, e.Recorded)
			}
		}
		r.chunk = append(r.chunk, e)
		ok = r.step(index)
	}
	return nil
}

// follow replaces links that a client wrote by the events that they name. These
// are separate reads, so the chunk is complete by now.
func (r *streamReader) follow() error {
	for i := range r.chunk {
		e := &r.chunk[i]
		if e.Link == nil || !e.Link.Follows(e) {
			continue
		}
		found, err := events.ResolveLink(r.ctx, r.store, *e)
		if err != nil {
			r.chunk = r.chunk[:i]
			return err
		}
		*e = found
	}
	return nil
}

// shows reports whether an event can be read in its own stream.
func (r *streamReader) shows(e *events.Recorded) (bool, error) {
	h, known := r.targets[e.Stream]
	if !known {
		var err error
		if h, err = r.store.readableHead(e.Stream); err != nil {
			return false, err
		}
		if r.targets == nil || len(r.targets) >= mostTargets {
			r.targets = map[string]head{}
		}
		r.targets[e.Stream] = h
	}
	meta := h.shown.metadata()
	return !h.ended && e.Revision >= meta.First(h.count) &&
		(meta.MaxAge == 0 || !e.Recorded.Before(r.store.now().Add(-meta.MaxAge))), nil
}

// step moves to the next revision.
func (r *streamReader) step(index *pebble.Iterator) bool {
	if r.backward {
		r.over = r.next == r.span.first
		r.next--
		return !r.over && index.Prev()
	}
	r.next++
	r.over = r.next == r.span.end
	return !r.over && index.Next()
}

// indexed reads the event that the index points to, and checks that both agree.
// name is the length of the stream's name in the key.
func (r *streamReader) indexed(index, log *pebble.Iterator, ok bool, name int) (events.Recorded, error) {
	fail := func(position events.Position, reason error) (events.Recorded, error) {
		return events.Recorded{}, &DamagedError{r.stream, r.next, position, reason}
	}
	if !ok {
		if err := index.Error(); err != nil {
			return events.Recorded{}, damaged(err, r.stream, r.next, 0)
		}
		return fail(0, errMissing)
	}
	// The bounds of the iterator guarantee the name.
	if key := index.Key(); len(key) != name+numberBytes || revisionOf(key) != r.next {
		return fail(0, errMissing)
	}
	value, err := index.ValueAndErr()
	if err != nil {
		return events.Recorded{}, damaged(err, r.stream, r.next, 0)
	}
	entry, err := parseEntry(value, indexPrefix(r.stream))
	if err != nil {
		return fail(0, err)
	}
	found := r.seek(log, entry.position)
	if err := log.Error(); err != nil {
		return events.Recorded{}, damaged(err, r.stream, r.next, entry.position)
	}
	e, err := r.event(log, found, entry.position)
	if err != nil {
		if d, ok := errors.AsType[*DamagedError](err); ok {
			return fail(entry.position, d.Reason)
		}
		return events.Recorded{}, err
	}
	if r.virtual {
		e.Link = events.LinkTo(&e, r.stream, r.next)
		if !events.Belongs(r.stream, &e) {
			return fail(entry.position, fmt.Errorf("%w: it is %q revision %d, a %s",
				errVirtual, e.Stream, e.Revision, e.Type))
		}
	} else if e.Stream != r.stream || e.Revision != r.next || e.ID != entry.id {
		return fail(entry.position, fmt.Errorf("%w: it is %q revision %d, id %s",
			errIndex, e.Stream, e.Revision, e.ID))
	}
	return e, nil
}

// seek puts the iterator of the log on a position. The next position, frequent
// in virtual streams, is reached without a search.
func (r *streamReader) seek(log *pebble.Iterator, position events.Position) bool {
	before := r.at
	r.at = position
	switch {
	case before != 0 && position == before+1:
		return log.Next()
	case before != 0 && position == before-1:
		return log.Prev()
	}
	r.key = appendEventKey(r.key[:0], position)
	return log.SeekGE(r.key)
}
