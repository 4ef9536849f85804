package embedded

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Limits of what the committer remembers.
const (
	// maxHeads is how many heads are kept in memory, about 250 bytes each,
	// virtual streams included; one with a long name counts as several. A head
	// that is not in memory costs one read.
	maxHeads = 100_000
	// headBytes is how long a name makes a head count as one more.
	headBytes = 256
	// maxRecent is how many event ids are kept to recognise a repeated append
	// with Any.
	maxRecent = 32_768
)

// entry is a head that the committer knows.
type entry struct {
	stream string
	head   head // with what was decided, synced or not
	// changed: the batch being made changes this head.
	changed bool
	// added are the newest entries of the index, which the batch adds.
	added []indexEntry
}

// maxAddedKept is for how many entries the memory is kept from batch to batch.
const maxAddedKept = maxBatchRequests

// settle forgets what a batch has added.
func (e *entry) settle() {
	e.changed = false
	if e.added = e.added[:0]; cap(e.added) > maxAddedKept {
		e.added = nil
	}
}

// heads is a bounded cache of heads in two generations: when the young one is
// full it becomes the old one, and a head that is used moves back to the young
// one.
type heads struct {
	db         pebble.Reader // where those are that are not in memory
	young, old map[string]*entry
	weight     int // of the young
	most       int
	key        []byte
}

func newHeads(db pebble.Reader, most int) *heads {
	return &heads{db: db, young: map[string]*entry{}, most: most}
}

// head returns the head of a stream, with what was decided since it was read.
func (h *heads) head(stream string) (*entry, error) {
	if e := h.get(stream); e != nil {
		return e, nil
	}
	h.key = appendHeadKey(h.key[:0], stream)
	known, err := readHead(h.db, h.key, stream)
	if err != nil {
		return nil, err
	}
	return h.add(stream, known), nil
}

func (h *heads) get(stream string) *entry {
	if e := h.young[stream]; e != nil {
		return e
	}
	e := h.old[stream]
	if e != nil {
		h.keep(e)
	}
	return e
}

func (h *heads) add(stream string, known head) *entry {
	e := &entry{stream: stream, head: known}
	h.keep(e)
	return e
}

func (h *heads) keep(e *entry) {
	h.young[e.stream] = e
	h.weight += 1 + len(e.stream)/headBytes
}

// forget makes room. It is called only between batches: a head that an
// unwritten batch changes is nowhere else.
func (h *heads) forget() {
	if h.weight >= max(1, h.most/2) {
		h.old, h.young, h.weight = h.young, make(map[string]*entry), 0
	}
}

// recentKey: the same id may be written to several streams.
type recentKey struct {
	id     events.EventID
	stream string
}

// recentEvent is one event that was written lately.
type recentEvent struct {
	recentKey
	revision uint64
	position events.Position
}

// recent is a ring of the last events written, with an index by id.
type recent struct {
	ring []recentEvent
	next int
	byID map[recentKey]int
	most int
}

func newRecent(most int) *recent {
	return &recent{byID: map[recentKey]int{}, most: most}
}

func (r *recent) add(e recentEvent) {
	if len(r.ring) < r.most {
		r.ring = append(r.ring, e)
	} else {
		if oldest := r.ring[r.next].recentKey; r.byID[oldest] == r.next {
			delete(r.byID, oldest)
		}
		r.ring[r.next] = e
	}
	r.byID[e.recentKey] = r.next
	r.next = (r.next + 1) % r.most
}

// known counts the leading events that were written to the stream lately, and
// returns the last of them.
func (r *recent) known(stream string, batch []newEvent) (last recentEvent, n int) {
	for _, e := range batch {
		i, ok := r.byID[recentKey{e.id, stream}]
		if !ok {
			break
		}
		last = r.ring[i]
		n++
	}
	return last, n
}
