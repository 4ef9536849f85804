package slotqueue

import (
	"container/list"
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

// refusals remembers the requests that were refused last, the oldest refusal
// in front.
type refusals struct {
	byAge     *list.List // of *RefusedRequest
	byRequest map[events.RequestID]*list.Element
}

func newRefusals() refusals {
	return refusals{list.New(), map[events.RequestID]*list.Element{}}
}

func (m refusals) get(id events.RequestID) *RefusedRequest {
	if e := m.byRequest[id]; e != nil {
		return e.Value.(*RefusedRequest)
	}
	return nil
}

// add remembers a refusal; of a request with an older one all slots stay.
func (m refusals) add(r RefusedRequest, limit int) {
	if old := m.byRequest[r.RequestID]; old != nil {
		r.SlotIndices = slices.Concat(r.SlotIndices, m.get(r.RequestID).SlotIndices)
		m.drop(old)
	}
	r.SlotIndices = slices.Compact(slices.Sorted(slices.Values(r.SlotIndices)))
	m.byRequest[r.RequestID] = m.byAge.PushBack(&r)
	if m.byAge.Len() > limit {
		m.drop(m.byAge.Front())
	}
}

func (m refusals) drop(e *list.Element) {
	delete(m.byRequest, e.Value.(*RefusedRequest).RequestID)
	m.byAge.Remove(e)
}

// forget removes slots, and the request with its last one.
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

// holds says that all these slots are remembered with just this refusal.
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

func (m refusals) indices(id events.RequestID) []uint64 {
	if r := m.get(id); r != nil {
		return slices.Clone(r.SlotIndices)
	}
	return nil
}

// by are the requests that failed one of the criteria, the oldest refusal first;
// of too many the newest.
func (m refusals) by(criteria []string, most int) []RefusedRequest {
	var out []RefusedRequest
	for e := m.byAge.Back(); e != nil && len(out) < most; e = e.Prev() {
		r := *e.Value.(*RefusedRequest)
		if slices.Contains(criteria, r.Criterion) {
			r.SlotIndices = slices.Clone(r.SlotIndices)
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out
}

func (m refusals) of(criterion string) []RefusedRequest {
	var out []RefusedRequest
	for e := m.byAge.Front(); e != nil; e = e.Next() {
		r := *e.Value.(*RefusedRequest)
		if criterion == "" || r.Criterion == criterion {
			r.SlotIndices = slices.Clone(r.SlotIndices)
			out = append(out, r)
		}
	}
	return out
}
