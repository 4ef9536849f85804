package slotqueue

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// key is the identity of a slot in the queue.
type key struct {
	request events.RequestID
	index   uint64
}

// offer is what the slots of one SlotsQueued have in common.
type offer struct {
	request events.RequestID
	at      time.Time
	Terms
}

// item is one slot, queued or taken. It knows its index in each heap and list,
// so that it leaves them without a search.
type item struct {
	offer *offer
	again *offer // the newer offer of a taken slot that is gone
	index uint64
	order uint64 // unique
	place uint32

	seen, taken, gone bool
	woken, retried    bool // rule 6
	// wokenFor are the criteria for which a taken slot was woken, sorted; none: for
	// any.
	wokenFor []string

	criterion string    // what it failed when it was seen; empty: not known
	retryAt   time.Time // not considered again before; zero: when something changes

	// member sells the taken slot, for which it is promised this collateral (rule 12).
	member  events.Member
	promise events.Amount

	inBest, inWorst, inSeen, inTimed, inRequest int32
}

// compare is the order of the queue (rule 1), the better first. It is total:
// no two items have the same order number.
func compare(a, b *item) int {
	if a.seen != b.seen {
		return cmp.Compare(boolInt(a.seen), boolInt(b.seen))
	}
	x, y := a.offer, b.offer
	if x != y {
		if c := cmp.Or(
			y.Profitability.Cmp(x.Profitability),
			x.Collateral.Cmp(y.Collateral),
			compareExpiry(x.Expiry, y.Expiry),
			cmp.Compare(x.DatasetSize, y.DatasetSize),
		); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.order, b.order))
}

// compareExpiry puts the later first, and no expiry before all others.
func compareExpiry(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(boolInt(b.IsZero()), boolInt(a.IsZero()))
	}
	return b.Compare(a)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (it *item) before(other *item) bool { return compare(it, other) < 0 }
func (it *item) after(other *item) bool  { return compare(it, other) > 0 }

// ranking is a heap of queued items, the first on top. Each has noted its index at its place.
type ranking struct {
	items  []*item
	before func(a, b *item) bool
	place  func(*item) *int32
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (r *ranking) Len() int { return len(r.items) }

func (r *ranking) Less(i, j int) bool { return r.before(r.items[i], r.items[j]) }

func (r *ranking) Swap(i, j int) {
	r.items[i], r.items[j] = r.items[j], r.items[i]
	*r.place(r.items[i]), *r.place(r.items[j]) = int32(i), int32(j)
}

func (r *ranking) Push(x any) {
	it := x.(*item)
	*r.place(it) = int32(len(r.items))
	r.items = append(r.items, it)
}

func (r *ranking) Pop() any {
	last := len(r.items) - 1
	it := r.items[last]
	r.items[last] = nil
	r.items = r.items[:last]
	return it
}

func (r *ranking) first() *item {
	if len(r.items) == 0 {
		return nil
	}
	return r.items[0]
}

func (r *ranking) add(it *item)    { heap.Push(r, it) }
func (r *ranking) remove(it *item) { heap.Remove(r, int(*r.place(it))) }
func (r *ranking) fix(it *item)    { heap.Fix(r, int(*r.place(it))) }

// top yields the first n items of a ranking in order without changing it:
// O(n log n), whatever its size.
func (r *ranking) top(n int) []*item {
	var nowhere int32
	frontier := ranking{before: r.before, place: func(*item) *int32 { return &nowhere }} // Their parents were visited.
	frontier.items = slices.Clone(r.items[:min(1, len(r.items))])
	var out []*item
	for len(out) < n && len(frontier.items) > 0 {
		it := heap.Pop(&frontier).(*item)
		out = append(out, it)
		i := int(*r.place(it))
		for _, child := range r.items[min(2*i+1, len(r.items)):min(2*i+3, len(r.items))] {
			frontier.add(child)
		}
	}
	return out
}

// insert adds a new item to all indexes.
func (s *State) insert(it *item) {
	request := it.offer.request
	s.items[key{request, it.index}] = it
	it.inRequest = int32(len(s.requests[request]))
	s.requests[request] = append(s.requests[request], it)
	if !it.taken {
		s.rank(it)
	}
}

// forget removes an item that is in no ranking from the other indexes.
func (s *State) forget(it *item) {
	request := it.offer.request
	delete(s.items, key{request, it.index})
	siblings := s.requests[request]
	last := len(siblings) - 1
	siblings[it.inRequest] = siblings[last]
	siblings[it.inRequest].inRequest = it.inRequest
	siblings[last] = nil
	if last == 0 {
		delete(s.requests, request)
		return
	}
	s.requests[request] = siblings[:last]
}

func (s *State) rank(it *item) {
	s.best.add(it)
	s.worst.add(it)
	if it.seen {
		s.seen.add(it)
	}
}

func (s *State) unrank(it *item) {
	s.best.remove(it)
	s.worst.remove(it)
	if it.seen {
		s.seen.remove(it)
	}
}

// overflow says who has to go when the slots of an offer come: the queued items
// that are worse than the newcomers that stay, and the newcomers that are worse
// than all who stay. Of the newcomers, the last drawn go first.
func (s State) overflow(o *offer, indices []uint64) (evicted []*item, stay, refuse []uint64) {
	var newcomers []*item
	place := s.nextPlace(o)
	for _, index := range indices {
		// A slot that is taken waits for its release, and needs no room before.
		if it := s.items[key{o.request, index}]; it == nil || it.again == o {
			n := len(newcomers)
			newcomers = append(newcomers, &item{
				offer: o, index: index, place: place + uint32(n), order: s.order + uint64(n),
			})
		}
	}
	excess := s.Len() + len(newcomers) - s.limits.MaxItems
	worst := s.worst.top(min(excess, s.Len()))
	for ; excess > 0; excess-- {
		last := len(newcomers) - 1
		if last < 0 || len(worst) > 0 && newcomers[last].before(worst[0]) {
			evicted, worst = append(evicted, worst[0]), worst[1:]
			continue
		}
		refuse = append(refuse, newcomers[last].index)
		newcomers = newcomers[:last]
	}
	slices.Reverse(refuse)
	refused := make(map[uint64]bool, len(refuse))
	for _, index := range refuse {
		refused[index] = true
	}
	for _, index := range indices {
		if !refused[index] {
			stay = append(stay, index)
		}
	}
	return evicted, stay, refuse
}

// nextPlace is the place of the next slot of a request: after the others of the
// request, so that offering a part of it again does not reverse its order. A
// slot that makes room for this offer is not counted.
func (s *State) nextPlace(o *offer) uint32 {
	var next uint32
	for _, it := range s.requests[o.request] {
		if it.again != o {
			next = max(next, it.place+1)
		}
	}
	return next
}

// group is slots of one request.
type group struct {
	request events.RequestID
	indices []uint64
}

// byRequest sorts items into groups, in order of request and index.
func byRequest(items []*item) []group {
	items = slices.SortedFunc(slices.Values(items), func(a, b *item) int {
		return cmp.Or(
			bytes.Compare(a.offer.request[:], b.offer.request[:]), cmp.Compare(a.index, b.index))
	})
	var out []group
	for _, it := range items {
		if len(out) == 0 || out[len(out)-1].request != it.offer.request {
			out = append(out, group{request: it.offer.request})
		}
		g := &out[len(out)-1]
		g.indices = append(g.indices, it.index)
	}
	return out
}
