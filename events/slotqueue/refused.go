package slotqueue

import (
	"container/list"
	"iter"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// RefusedRequest is what is remembered of slots that were not queued.
type RefusedRequest struct {
	RequestID   events.RequestID
	SlotIndices []uint64 // ascending
	Refusal
	// At is when they were refused last.
	At time.Time
}

// refusals remembers the last refused requests. Those that a full queue let go are in
// a list of their own, so that a flood of requests that can never fit does not
// displace those that only lack room.
type refusals struct {
	byAge     *list.List // of *RefusedRequest, the oldest refusal in front
	letGo     *list.List // the same of those for which the queue was full
	byRequest map[events.RequestID]*list.Element
}

func newRefusals() refusals {
	return refusals{list.New(), list.New(), map[events.RequestID]*list.Element{}}
}

// listOf is the list for refusals by a criterion.
func (m refusals) listOf(criterion string) *list.List {
	if criterion == QueueFull {
		return m.letGo
	}
	return m.byAge
}

// len is how many requests are remembered.
func (m refusals) len() int { return m.byAge.Len() + m.letGo.Len() }

func (m refusals) get(id events.RequestID) *RefusedRequest {
	if e := m.byRequest[id]; e != nil {
		return e.Value.(*RefusedRequest)
	}
	return nil
}

// add remembers a refusal; if the request has an older one, its slots are kept. The
// limit holds for each list.
func (m refusals) add(r RefusedRequest, limit int) {
	if old := m.byRequest[r.RequestID]; old != nil {
		r.SlotIndices = slices.Concat(r.SlotIndices, m.get(r.RequestID).SlotIndices)
		m.drop(old)
	}
	r.SlotIndices = slices.Compact(slices.Sorted(slices.Values(r.SlotIndices)))
	list := m.listOf(r.Criterion)
	m.byRequest[r.RequestID] = list.PushBack(&r)
	if list.Len() > limit {
		m.drop(list.Front())
	}
}

func (m refusals) drop(e *list.Element) {
	r := e.Value.(*RefusedRequest)
	delete(m.byRequest, r.RequestID)
	m.listOf(r.Criterion).Remove(e)
}

// forget removes slots of a request, and the request when none is left.
func (m refusals) forget(id events.RequestID, indices []uint64) {
	r := m.get(id)
	if r == nil {
		return
	}
	gone := make(map[uint64]bool, len(indices))
	for _, n := range indices {
		gone[n] = true
	}
	r.SlotIndices = slices.DeleteFunc(r.SlotIndices, func(n uint64) bool { return gone[n] })
	if len(r.SlotIndices) == 0 {
		m.drop(m.byRequest[id])
	}
}

// holds reports whether all these slots are remembered with exactly this refusal.
func (m refusals) holds(id events.RequestID, indices []uint64, refusal Refusal) bool {
	r := m.get(id)
	if r == nil || r.Refusal != refusal {
		return false
	}
	for _, n := range indices {
		if _, found := slices.BinarySearch(r.SlotIndices, n); !found {
			return false
		}
	}
	return true
}

// all yields what is remembered, the oldest refusal of each list first.
func (m refusals) all() iter.Seq[*RefusedRequest] {
	return func(yield func(*RefusedRequest) bool) {
		for _, list := range []*list.List{m.byAge, m.letGo} {
			for e := list.Front(); e != nil; e = e.Next() {
				if !yield(e.Value.(*RefusedRequest)) {
					return
				}
			}
		}
	}
}

// Refused returns the remembered requests that failed a criterion, the oldest refusal
// first; for "" all of them, with those that a full queue let go at the end. It goes
// through all.
func (s State) Refused(criterion string) []RefusedRequest {
	var out []RefusedRequest
	for r := range s.refusals.all() {
		if criterion == "" || r.Criterion == criterion {
			out = append(out, r.clone())
		}
	}
	return out
}

// RefusedBy returns the remembered requests that failed one of the criteria, the
// oldest refusal first; of more than most, the newest. For those that a full
// queue let go see MayReturn.
func (s State) RefusedBy(criteria []string, most int) []RefusedRequest {
	var out []RefusedRequest
	for e := s.refusals.byAge.Back(); e != nil && len(out) < most; e = e.Prev() {
		if r := e.Value.(*RefusedRequest); slices.Contains(criteria, r.Criterion) {
			out = append(out, r.clone())
		}
	}
	slices.Reverse(out)
	return out
}

func (r *RefusedRequest) clone() RefusedRequest {
	out := *r
	out.SlotIndices = slices.Clone(r.SlotIndices)
	return out
}

// roomPart is the part of the queue that must be free before slots that it let go are
// considered again: a quarter, so that a queue at its bound does not consider the
// same slots whenever one leaves.
const roomPart = 4

// MayReturn returns the requests with slots that a full queue let go and now has room
// for, the oldest first; of more than most, the newest. There are none while less
// than a quarter of the queue is free. It goes through no more than it returns.
func (s State) MayReturn(most int) []RefusedRequest {
	room := s.limits.MaxItems - s.Len()
	if room < max(1, s.limits.MaxItems/roomPart) {
		return nil
	}
	var out []RefusedRequest
	for e := s.refusals.letGo.Back(); e != nil && len(out) < most && room > 0; e = e.Prev() {
		r := e.Value.(*RefusedRequest).clone()
		room -= len(r.SlotIndices)
		out = append(out, r)
	}
	slices.Reverse(out)
	return out
}
