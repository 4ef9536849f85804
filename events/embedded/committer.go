package embedded

import (
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Limits of one batch, which is one sync.
const (
	// maxBatchRequests is the most appends that share one sync.
	maxBatchRequests = 2048
	// maxBatchBytes is the size from which a batch gets no further request: 1,024
	// writers of 100 events each need two batches. With one request more it is below
	// 32 MiB, to which its memory grows by doubling.
	maxBatchBytes = 24 << 20
	// largeBytes is the size from which a request has a batch to itself: a sync
	// more is little beside writing it, and a batch that grows would take up to
	// twice its size until pebble has made a table of it.
	largeBytes = 1 << 20
	// batchSlack is more than what a large batch has in addition to request.bytes.
	batchSlack = 64 << 10
	// keptBatchBytes is up to which size the memory of a batch serves the next one. A full batch of small appends has
	// some MiB, which were a quarter of all that is allocated when pebble grew them again from nothing.
	keptBatchBytes = 8 << 20
	// maxPatience is how long a batch waits for further requests at most.
	maxPatience = time.Millisecond
)

// committer is the state of the one goroutine that writes.
type committer struct {
	store  *Store
	heads  *heads
	recent *recent
	last   events.Position // of the last event written, synced or not

	batch   *pebble.Batch
	waiting []*request // decided, to be answered after the sync
	// answered is how many the last batch answered, took how long its sync took; see gather.
	answered int
	took     time.Duration
	patience *time.Timer
	changed  []*entry // the heads that the batch changes
	// before has these heads as they were before the batch.
	before map[string]head

	found []*entry // what lookUp found
	key   []byte
	value []byte
}

func newCommitter(s *Store, last events.Position) *committer {
	return &committer{
		store: s, heads: newHeads(s.db, maxHeads), recent: newRecent(maxRecent), last: last,
		batch:  s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(keptBatchBytes)),
		before: map[string]head{}, patience: time.NewTimer(0),
	}
}

// commitAll is the committer's loop: take all waiting requests, decide each,
// sync once, answer all. It ends when Close has closed the channel.
func (s *Store) commitAll(c *committer) {
	defer close(s.over)
	for first := range s.requests {
		c.gather(first)
		begin := time.Now()
		c.commit()
		c.took = time.Since(begin)
		// Let those who were answered run first: what they write next is then
		// in the next batch, not in the one after it.
		runtime.Gosched()
	}
	// The batch was never handed to pebble; closing it cannot fail.
	_ = c.batch.Close()
}

// accept handles one request, and returns how large the batch then is that had this size.
func (c *committer) accept(r *request, size int) int {
	if r.bytes < largeBytes {
		c.handle(r)
		return size + r.bytes
	}
	c.commit()
	usual := c.batch
	c.batch = c.store.db.NewBatch(pebble.WithInitialSizeBytes(r.bytes + batchSlack))
	c.handle(r)
	c.commit()
	_ = c.batch.Close() // It is in pebble's hands, or the store has failed.
	c.batch = usual
	return 0
}

// gather takes the requests that wait. For a part of the time that a sync takes, it also waits for the next requests of
// those who were answered last: they come at about the same time, and one that just misses a sync waits for two.
func (c *committer) gather(first *request) {
	size, most := 0, c.answered
	c.answered = 0
	var late <-chan time.Time
	for r, more := first, true; more; {
		if r.take() {
			size = c.accept(r, size)
		}
		if len(c.waiting) >= maxBatchRequests || size >= maxBatchBytes {
			return
		}
		select {
		case r, more = <-c.store.requests:
			continue
		default:
		}
		if len(c.waiting) >= most {
			return
		}
		if late == nil {
			c.patience.Reset(min(c.took/4, maxPatience))
			late = c.patience.C
		}
		select {
		case r, more = <-c.store.requests:
		case <-late:
			return
		}
	}
}

// handle decides one request and queues it for its answer.
func (c *committer) handle(r *request) {
	if c.mustReadBatch(r) {
		c.commit()
	}
	if err := c.store.failed(); err != nil {
		r.answer(err)
		return
	}
	r.result, r.err = c.decide(r)
	c.waiting = append(c.waiting, r)
}

// mustReadBatch reports whether deciding the request needs to read something
// that the unwritten batch contains: the ids of the events that the request
// repeats, or the metadata of its stream or of the stream whose metadata it
// sets.
func (c *committer) mustReadBatch(r *request) bool {
	synced := events.Position(c.store.synced.Load())
	if of, ok := events.MetadataOf(r.stream); ok {
		e := c.heads.get(of)
		if e != nil && e.changed && e.head.deleted() && e.head.metadata > synced {
			return true
		}
	}
	e := c.heads.get(r.stream)
	if e == nil || !e.changed {
		return false
	}
	n, exact := r.expected.Count()
	return exact && n < e.head.count ||
		(r.change == changeDelete || e.head.deleted()) && e.head.metadata > synced
}

// decide applies the rules of events.Store.Append and Delete.
func (c *committer) decide(r *request) (events.AppendResult, error) {
	e, err := c.heads.head(r.stream)
	if err != nil {
		return events.AppendResult{}, err
	}
	ended, err := c.ended(e)
	if err != nil {
		return events.AppendResult{}, err
	}
	if ended || r.expected.IsExists() && e.head.deleted() {
		return events.AppendResult{}, fmt.Errorf("write to %s: %w", r.stream, events.ErrStreamDeleted)
	}
	known, err := c.expect(r, &e.head)
	if err != nil {
		return events.AppendResult{}, err
	}
	switch r.change {
	case changeDelete:
		err = c.deleteSoftly(r, e)
	case changeTombstone:
		err = c.end(r, e)
	case changeAppend:
		if known != nil {
			return *known, nil
		}
		return c.append(r, e)
	}
	if err != nil {
		return events.AppendResult{}, err
	}
	return events.AppendResult{Position: c.last}, nil
}

// ended reports whether a stream is tombstoned. A metadata stream counts as
// tombstoned with its stream, if it was empty before.
func (c *committer) ended(e *entry) (bool, error) {
	of, ok := events.MetadataOf(e.stream)
	if e.head.ended || !ok || e.head.count > 0 {
		return e.head.ended, nil
	}
	target, err := c.heads.head(of)
	return err == nil && target.head.ended, err
}

// deletion is how a deletion is judged: as the append of one new event.
var deletion = make([]newEvent, 1)

// expect compares the stream with what the writer expects. It returns a result
// if the request is a repeat.
func (c *committer) expect(r *request, h *head) (*events.AppendResult, error) {
	wrong := &events.WrongRevisionError{
		Stream: r.stream, Expected: r.expected, Exists: h.count > 0, Actual: max(h.count, 1) - 1,
	}
	batch := r.events
	if r.change != changeAppend {
		batch = deletion
	}
	n, exact := r.expected.Count()
	switch {
	case r.expected.IsExists() && h.count == 0 && h.metadata == 0, exact && n > h.count:
		return nil, wrong
	case exact && n == h.count, !exact && len(batch) == 0:
		return nil, nil
	}
	var last recentEvent
	var known int
	if exact {
		var err error
		if last, known, err = c.same(r.stream, batch, n, h.count); err != nil {
			return nil, err
		}
	} else {
		last, known = c.recent.known(r.stream, batch)
	}
	switch {
	case known == len(batch) && known > 0:
		result := &events.AppendResult{Revision: last.revision, Exists: true, Repeated: true}
		if last.revision >= h.shown.truncateBefore {
			result.Position = last.position
		}
		return result, nil
	case known == 0 && !exact, known == 0 && len(batch) > 0 && n == 0 && h.deleted():
		return nil, nil
	}
	return nil, wrong
}

// append writes the events of a request. That makes a deleted stream readable
// again; its earlier events stay hidden.
func (c *committer) append(r *request, e *entry) (events.AppendResult, error) {
	now := c.store.now()
	revived, err := c.revived(r, e)
	if err != nil {
		return events.AppendResult{}, err
	}
	var meta events.StreamMetadata
	if revived != nil {
		meta, err = c.newest(r, revived)
		meta.TruncateBefore = revived.head.count
	}
	if err == nil && len(r.events) > 0 {
		err = c.write(r, e, r.events, now)
	}
	if err != nil {
		return events.AppendResult{}, err
	}
	result := events.AppendResult{Revision: max(e.head.count, 1) - 1, Exists: e.head.count > 0}
	if len(r.events) > 0 {
		result.Position = c.last
	}
	if revived != nil {
		err = c.setMetadata(r, revived, meta, now)
	}
	return result, err
}

// revived returns the deleted stream that a request makes readable again: its own,
// or the one whose metadata it sets; nil: none. What that needs is read before
// anything is written, because a head that cannot be read must not leave half of
// the append in the batch.
func (c *committer) revived(r *request, e *entry) (*entry, error) {
	of, isMetadata := events.MetadataOf(e.stream)
	if !e.head.deleted() {
		if !isMetadata {
			return nil, nil
		}
		var err error
		if e, err = c.heads.head(of); err != nil || !e.head.deleted() {
			return nil, err
		}
	}
	stream := events.MetadataStream(e.stream)
	names := virtualOf(stream, &events.NewEvent{Type: events.TypeMetadata})
	for _, name := range append(names, stream) {
		if _, err := c.heads.head(name); err != nil {
			return nil, err
		}
	}
	return e, c.lookUp(r.events)
}

// newest returns the metadata of a stream, including what the request itself sets.
func (c *committer) newest(r *request, of *entry) (events.StreamMetadata, error) {
	for i := len(r.events) - 1; i >= 0; i-- {
		if sets := r.events[i].sets; sets != nil && sets.of == of.stream {
			return sets.meta, nil
		}
	}
	return c.metadata(of)
}

func (c *committer) deleteSoftly(r *request, e *entry) error {
	if e.head.count == 0 && e.head.metadata == 0 {
		return &events.WrongRevisionError{Stream: r.stream, Expected: r.expected}
	}
	meta, err := c.metadata(e)
	if err != nil {
		return err
	}
	return c.setMetadata(r, e, meta.DeletedMetadata(), c.store.now())
}

func (c *committer) end(r *request, e *entry) error {
	tombstone := events.NewEvent{
		ID:   events.NewEventID(r.stream, "tombstone", int(e.head.count)),
		Type: events.TypeTombstone, Data: []byte("{}"),
	}
	return c.write(r, e, []newEvent{prepare(r.stream, tombstone, virtualOf(r.stream, &tombstone))}, c.store.now())
}

// setMetadata writes metadata that the store sets itself.
func (c *committer) setMetadata(r *request, of *entry, meta events.StreamMetadata, now time.Time) error {
	stream := events.MetadataStream(of.stream)
	e, err := c.heads.head(stream)
	if err != nil {
		return err
	}
	event := events.NewEvent{
		ID:   events.NewEventID(stream, "store", int(c.last)),
		Type: events.TypeMetadata, Data: meta.Marshal(),
	}
	return c.write(r, e, []newEvent{prepare(stream, event, virtualOf(stream, &event))}, now)
}
