package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Limits of one batch, which is one sync.
const (
	// maxBatchRequests is the most appends that wait for one sync.
	maxBatchRequests = 2048
	// maxBatchBytes is when no further request is added to a batch.
	maxBatchBytes = 16 << 20
)

// committer is the state of the one goroutine that writes.
type committer struct {
	store  *Store
	heads  *heads
	recent *recent
	last   events.Position // of the last event written, synced or not

	batch   *pebble.Batch
	waiting []*request          // decided, to be answered after the sync
	fresh   map[string]struct{} // streams that the batch writes to
	key     []byte
	value   []byte
}

func newCommitter(s *Store, last events.Position) *committer {
	return &committer{
		store: s, heads: newHeads(maxHeads), recent: newRecent(maxRecent), last: last,
		batch: s.db.NewBatch(), fresh: map[string]struct{}{},
	}
}

// commitAll is the committer's life: take everything that waits, decide each,
// sync once, answer all. It ends when Close has closed the channel.
func (s *Store) commitAll(c *committer) {
	defer close(s.over)
	for first := range s.requests {
		size := 0
		for r, more := first, true; more; {
			if r.take() {
				c.handle(r)
				size += r.bytes
			}
			if len(c.waiting) >= maxBatchRequests || size >= maxBatchBytes {
				break
			}
			select {
			case r, more = <-s.requests:
			default:
				more = false
			}
		}
		c.commit()
	}
	// The batch was never handed to pebble; closing it cannot fail.
	_ = c.batch.Close()
}

// handle decides one request and queues it for its answer.
func (c *committer) handle(r *request) {
	if err := c.store.failed(); err != nil {
		r.answer(err)
		return
	}
	if _, written := c.fresh[r.stream]; written && c.mayRepeat(r) {
		// The index of what is being written can be read only when it is written.
		c.commit()
	}
	r.result, r.err = c.decide(r)
	c.waiting = append(c.waiting, r)
}

// mayRepeat reports whether the request expects less than the stream has, so
// that its ids must be compared.
func (c *committer) mayRepeat(r *request) bool {
	n, exact := r.expected.Count()
	count, _ := c.heads.get(r.stream)
	return exact && n < count && len(r.ids) > 0
}

// decide applies the rules of events.Store.Append.
func (c *committer) decide(r *request) (events.AppendResult, error) {
	count, err := c.head(r.stream)
	if err != nil {
		return events.AppendResult{}, err
	}
	wrong := &events.WrongRevisionError{
		Stream: r.stream, Expected: r.expected, Exists: count > 0, Actual: max(count, 1) - 1,
	}
	n, exact := r.expected.Count()
	switch {
	case len(r.ids) == 0 && exact && n != count:
		return events.AppendResult{}, wrong
	case len(r.ids) == 0:
		return events.AppendResult{Revision: wrong.Actual, Exists: count > 0}, nil
	case !exact:
		last, known := c.recent.known(r.stream, r.ids)
		if known == len(r.ids) {
			return repeated(last.revision, last.position), nil
		} else if known > 0 {
			return events.AppendResult{}, wrong
		}
	case n > count:
		return events.AppendResult{}, wrong
	case n < count:
		position, same, err := c.same(r, n, count)
		if err != nil {
			return events.AppendResult{}, err
		} else if !same {
			return events.AppendResult{}, wrong
		}
		return repeated(n+uint64(len(r.ids))-1, position), nil
	}
	return c.write(r, count)
}

func repeated(revision uint64, position events.Position) events.AppendResult {
	return events.AppendResult{
		Revision: revision, Exists: true, Position: position, Repeated: true,
	}
}

// head is the number of events of a stream, those of this batch included.
func (c *committer) head(stream string) (uint64, error) {
	if count, ok := c.heads.get(stream); ok {
		return count, nil
	}
	c.key = appendHeadKey(c.key[:0], stream)
	value, closer, err := c.store.db.Get(c.key)
	if errors.Is(err, pebble.ErrNotFound) {
		c.heads.set(stream, 0)
		return 0, nil
	} else if err != nil {
		return 0, damaged(err, stream, 0, 0)
	}
	count, err := parseHead(value)
	if err := errors.Join(err, closer.Close()); err != nil {
		return 0, &DamagedError{Stream: stream, Reason: err}
	}
	c.heads.set(stream, count)
	return count, nil
}

// same compares the ids with those of the events from a revision on, and gives
// the position of the last.
func (c *committer) same(r *request, from, count uint64) (events.Position, bool, error) {
	if uint64(len(r.ids)) > count-from {
		return 0, false, nil
	}
	var last events.Position
	for i, id := range r.ids {
		revision := from + uint64(i)
		c.key = appendIndexKey(c.key[:0], r.stream, revision)
		value, closer, err := c.store.db.Get(c.key)
		if errors.Is(err, pebble.ErrNotFound) {
			return 0, false, &DamagedError{Stream: r.stream, Revision: revision, Reason: errMissing}
		} else if err != nil {
			return 0, false, damaged(err, r.stream, revision, 0)
		}
		entry, err := parseIndexEntry(value)
		if err := errors.Join(err, closer.Close()); err != nil {
			return 0, false, &DamagedError{Stream: r.stream, Revision: revision, Reason: err}
		}
		if entry.id != id {
			return 0, false, nil
		}
		last = entry.position
	}
	return last, true, nil
}

// write numbers the events and adds them to the batch.
func (c *committer) write(r *request, count uint64) (events.AppendResult, error) {
	now := c.store.now()
	for i, record := range r.records {
		c.last++
		sealRecord(record, c.last, count, now)
		c.key = appendEventKey(c.key[:0], c.last)
		err := c.batch.Set(c.key, record, nil)
		c.key = appendIndexKey(c.key[:0], r.stream, count)
		c.value = appendIndexEntry(c.value[:0], indexEntry{c.last, r.ids[i]})
		if err := errors.Join(err, c.batch.Set(c.key, c.value, nil)); err != nil {
			return events.AppendResult{}, c.broken(err)
		}
		c.recent.add(recentEvent{r.ids[i], r.stream, count, c.last})
		count++
	}
	c.key = appendHeadKey(c.key[:0], r.stream)
	c.value = appendHead(c.value[:0], count)
	if err := c.batch.Set(c.key, c.value, nil); err != nil {
		return events.AppendResult{}, c.broken(err)
	}
	c.heads.set(r.stream, count)
	c.fresh[r.stream] = struct{}{}
	return events.AppendResult{Revision: count - 1, Exists: true, Position: c.last}, nil
}

// broken stops the store: the batch no longer is what was decided.
func (c *committer) broken(err error) error {
	c.store.guard.fail(fmt.Errorf("write batch: %w", err))
	return c.store.failed()
}

// commit makes the batch durable, then answers everybody who waits.
func (c *committer) commit() {
	failed := c.sync()
	for _, r := range c.waiting {
		err := failed
		if err == nil && r.err == nil && !r.result.Repeated && len(r.ids) > 0 {
			c.store.appends.Add(1)
			c.store.written.Add(uint64(len(r.ids)))
		}
		if err == nil {
			err = r.err
		}
		r.answer(err)
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
	clear(c.fresh)
}

// sync writes the batch and moves the limit of the readers. After an error
// nothing of the batch is acknowledged, and nothing after it.
func (c *committer) sync() error {
	s := c.store
	if err := s.failed(); err != nil || c.batch.Empty() {
		return err
	}
	if err := c.batch.Commit(s.write); err != nil {
		return c.broken(err)
	}
	// The guard hides errors of the log from pebble: ask it.
	if err := s.failed(); err != nil {
		return err
	}
	if err := s.mark.write(c.last, false); err != nil {
		return c.broken(err)
	}
	c.batch.Reset()
	s.syncs.Add(1)
	s.synced.Store(uint64(c.last))
	s.tail.Lock()
	close(s.tail.changed)
	s.tail.changed = make(chan struct{})
	s.tail.Unlock()
	return nil
}
