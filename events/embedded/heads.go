package embedded

import "github.com/hostnode/hostnode/events"

// Limits of what the committer remembers.
const (
	// maxHeads is how many streams' heads are kept in memory, about 200 bytes
	// each. A head that is not there costs one read.
	maxHeads = 100_000
	// maxRecent is how many event ids are kept to recognise an append with Any
	// that is repeated.
	maxRecent = 32_768
)

// heads is a bounded cache of the number of events per stream, in two
// generations: when the young one is full it becomes the old one, and what is
// asked for moves back to the young.
type heads struct {
	young, old map[string]uint64
	most       int
}

func newHeads(most int) *heads {
	return &heads{young: map[string]uint64{}, most: most}
}

func (h *heads) get(stream string) (count uint64, ok bool) {
	if count, ok = h.young[stream]; ok {
		return count, true
	}
	if count, ok = h.old[stream]; ok {
		h.set(stream, count)
	}
	return count, ok
}

func (h *heads) set(stream string, count uint64) {
	if _, ok := h.young[stream]; !ok && len(h.young) >= max(1, h.most/2) {
		h.old, h.young = h.young, make(map[string]uint64)
	}
	h.young[stream] = count
}

// recentEvent is one event that was written lately.
type recentEvent struct {
	id       events.EventID
	stream   string
	revision uint64
	position events.Position
}

// recent is a ring of the events written last, with an index by id.
type recent struct {
	ring []recentEvent
	next int
	byID map[events.EventID]int
	most int
}

func newRecent(most int) *recent {
	return &recent{byID: map[events.EventID]int{}, most: most}
}

func (r *recent) add(e recentEvent) {
	if len(r.ring) < r.most {
		r.ring = append(r.ring, e)
	} else {
		if oldest := r.ring[r.next].id; r.byID[oldest] == r.next {
			delete(r.byID, oldest)
		}
		r.ring[r.next] = e
	}
	r.byID[e.id] = r.next
	r.next = (r.next + 1) % r.most
}

// known counts how many leading ids were written lately to the stream, and
// gives the last of these events.
func (r *recent) known(stream string, ids []events.EventID) (last recentEvent, n int) {
	for _, id := range ids {
		i, ok := r.byID[id]
		if !ok || r.ring[i].stream != stream {
			break
		}
		last = r.ring[i]
		n++
	}
	return last, n
}
