package slotqueue

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// MaxSlotsPerCommand is the most slots that one command, and so one event, may
// name: an event of 4,096 indices stays far below what a store takes.
const MaxSlotsPerCommand = 4096

// Limits bound what the queue holds. A zero field stands for its default.
type Limits struct {
	// MaxItems is the most queued slots, default 100,000: about 40 MB when each
	// is of another request. Taken slots do not count.
	MaxItems int
	// MaxRefused is how many refused requests are remembered, default 10,000, and
	// as many again that a full queue let go; the oldest is forgotten first.
	MaxRefused int
	// MaxAvoided is how many clients are avoided at once, default 1,000: each cost
	// a worker the time of a download that failed.
	MaxAvoided int
}

// Terms are what the slots of one offer have in common.
type Terms struct {
	SlotSize    events.Bytes
	DatasetSize events.Bytes
	// Profitability is duration times price per slot and second, in token base units.
	Profitability events.Amount
	// Collateral is what to pay for one slot, in token base units.
	Collateral events.Amount
	// Expiry is when the request expires, in chain time; zero: it does not.
	Expiry time.Time
	// Repair says that the slot was freed and its data must be reconstructed.
	Repair bool
}

// State is the queue. New makes one; it is changed by Evolve alone, and is not
// safe for concurrent use.
type State struct {
	limits   Limits
	items    map[key]*item
	requests map[events.RequestID][]*item
	best     ranking
	worst    ranking
	seen     seenSlots
	taken    []*item // in the order of taking
	refusals refusals
	avoided  clients
	order    uint64 // the number of the next item

	exhausted    bool // every slot was seen
	exhaustedFor string
	stopped      bool // by the operator
	stoppedFor   string

	lastMarketRevision uint64
	faults             int
	firstFault         string
}

// New is the empty queue.
func New(l Limits) State {
	l.MaxItems = cmp.Or(l.MaxItems, 100_000)
	l.MaxRefused = cmp.Or(l.MaxRefused, 10_000)
	l.MaxAvoided = cmp.Or(l.MaxAvoided, 1_000)
	return State{
		limits:   l,
		items:    map[key]*item{},
		requests: map[events.RequestID][]*item{},
		best:     ranking{before: (*item).before, place: func(it *item) *int32 { return &it.inBest }},
		worst:    ranking{before: (*item).after, place: func(it *item) *int32 { return &it.inWorst }},
		seen: seenSlots{by: map[string][]*item{}, timed: ranking{
			before: (*item).sooner, place: func(it *item) *int32 { return &it.inTimed },
		}},
		refusals: newRefusals(),
		avoided:  clients{},
	}
}

// consumed says whether the market's event was consumed before.
func (s State) consumed(revision uint64) bool {
	return revision > 0 && revision <= s.lastMarketRevision
}

// fresh returns those indices that may be queued, each once, in their order (rule 2).
func (s State) fresh(request events.RequestID, indices []uint64) []uint64 {
	twice := make(map[uint64]bool, len(indices))
	var out []uint64
	for _, index := range indices {
		it := s.items[key{request, index}]
		offered := it != nil && !(it.taken && it.gone && it.again == nil)
		if !twice[index] && !offered {
			out = append(out, index)
		}
		twice[index] = true
	}
	return out
}

// leaving returns those indices that are on offer here. No indices mean the
// whole request, including its remembered refusal.
func (s State) leaving(request events.RequestID, indices []uint64) []uint64 {
	whole := len(indices) == 0
	var out []uint64
	if whole {
		if r := s.refusals.get(request); r != nil {
			out = slices.Clone(r.SlotIndices)
		}
		for _, it := range s.requests[request] {
			indices = append(indices, it.index)
		}
	}
	for _, index := range indices {
		if it := s.items[key{request, index}]; it != nil && (!it.gone || it.again != nil) {
			out = append(out, index)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *State) consume(revision uint64) {
	s.lastMarketRevision = max(s.lastMarketRevision, revision)
}

func (s *State) queued(e *messages.SlotsQueued) {
	o := offerOf(e)
	s.refusals.forget(o.request, e.GetSlotIndices())
	place := s.nextPlace(o)
	for _, index := range e.GetSlotIndices() {
		it := s.items[key{o.request, index}]
		switch {
		case it == nil:
			s.insert(&item{offer: o, index: index, place: place, order: s.order})
			s.order++
			place++
			s.exhausted, s.exhaustedFor = false, ""
		case it.taken && it.gone && it.again == nil:
			it.again = o
		default:
			s.fault("slot %d of request %s was queued twice", index, o.request)
		}
	}
}

func offerOf(e *messages.SlotsQueued) *offer {
	return &offer{
		request: events.Must(events.ParseRequestID(e.GetRequestId())),
		at:      events.TimeFromMessage(e.GetAt()),
		Terms: Terms{
			SlotSize:      events.Bytes(e.GetSlotSize()),
			DatasetSize:   events.Bytes(e.GetDatasetSize()),
			Profitability: events.Must(events.ParseAmount(e.GetProfitability())),
			Collateral:    events.Must(events.ParseAmount(e.GetCollateral())),
			Expiry:        events.TimeFromMessage(e.GetExpiry()),
			Repair:        e.GetRepair(),
		},
	}
}

func (s *State) take(k key) {
	it := s.items[k]
	if it == nil || it.taken {
		s.fault("slot %d of request %s was taken, but is not queued", k.index, k.request)
		return
	}
	s.unrank(it)
	it.taken, it.seen, it.criterion, it.retryAt = true, false, "", time.Time{}
	s.taken = append(s.taken, it)
}

func (s *State) handOut(k key, e *messages.SlotHandedOut) {
	it := s.items[k]
	if it == nil || !it.taken || it.member != "" {
		s.fault("slot %d of request %s was handed out, but is not taken, or was handed out before", k.index, k.request)
		return
	}
	it.member, it.promise = events.Member(e.GetMember()), events.Must(events.ParseAmount(e.GetCollateral()))
}

// Promised is the collateral promised to members for the slots that they have now.
func (s State) Promised() (sum events.Amount) {
	for _, u := range s.Promises() {
		sum = sum.AddSaturating(u.Collateral)
	}
	return sum
}

// Promises are the slots that members have now, with the collateral promised for them.
func (s State) Promises() (list []Unpaid) {
	for _, it := range s.taken {
		if !it.promise.IsZero() {
			list = append(list, Unpaid{RequestID: it.offer.request, SlotIndex: it.index, Collateral: it.promise})
		}
	}
	return list
}

func (s *State) release(k key, e *messages.SlotReleased) {
	it := s.items[k]
	if it == nil || !it.taken {
		s.fault("slot %d of request %s was released, but is not taken", k.index, k.request)
		return
	}
	s.taken = slices.DeleteFunc(s.taken, func(other *item) bool { return other == it })
	it.taken, it.member, it.promise = false, "", events.Amount{}
	if !e.GetRequeue() || it.gone {
		s.forget(it)
		return
	}
	it.comeBack(e.GetCriterion(), events.TimeFromMessage(e.GetRetryAt()))
	if !it.seen {
		s.exhausted, s.exhaustedFor = false, ""
	}
	s.rank(it)
}

// comeBack updates a taken slot on its release (rule 6).
func (it *item) comeBack(criterion string, retryAt time.Time) {
	// The slot may have been judged before the change only if it failed what changed.
	concerned := it.woken && (len(it.wokenFor) == 0 || criterion == "" ||
		retryAt.IsZero() && slices.Contains(it.wokenFor, criterion))
	it.seen = !concerned || it.retried
	it.woken, it.wokenFor, it.retried = false, nil, !it.seen
	if it.seen {
		it.criterion, it.retryAt = criterion, retryAt
	}
}

func (s *State) remove(k key) {
	it := s.items[k]
	switch {
	case it == nil: // Only its refusal was remembered.
	case it.taken:
		it.gone, it.again = true, nil
	default:
		s.unrank(it)
		s.forget(it)
	}
}

// fault remembers the first event that contradicts the record, for Check.
func (s *State) fault(format string, args ...any) {
	if s.faults == 0 {
		s.firstFault = fmt.Sprintf(format, args...)
	}
	s.faults++
}

// Len is how many slots are queued, without the taken ones.
func (s State) Len() int { return len(s.best.items) }

// LastMarketRevision is the last event of the market's stream that changed this
// queue, 0 when none did. Reading that stream resumes after it.
func (s State) LastMarketRevision() uint64 { return s.lastMarketRevision }

// Paused reports whether nothing is taken, why, and whether only the operator
// can end that.
func (s State) Paused() (reason string, byOperator, paused bool) {
	if s.stopped {
		return s.stoppedFor, true, true
	}
	return s.exhaustedFor, false, s.exhausted
}

// RefusedRequest is what is remembered of the refusal of a request; false when nothing is.
func (s State) RefusedRequest(id events.RequestID) (RefusedRequest, bool) {
	r := s.refusals.get(id)
	if r == nil {
		return RefusedRequest{}, false
	}
	return r.clone(), true
}

// Item is a slot as people see it.
type Item struct {
	RequestID events.RequestID
	SlotIndex uint64
	Terms
	// QueuedAt is when the offer came, in chain time.
	QueuedAt time.Time
	// Place is the slot's place in the order drawn for its request, Order its
	// number in the order of queueing.
	Place uint32
	Order uint64
	// Seen says that the slot was considered and nothing fitted, Criterion what it
	// failed, if known, RetryAt the chain time that it waits for, if any.
	Seen      bool
	Criterion string
	RetryAt   time.Time
	// Woken says that the queue was woken while the slot was taken, WokenFor for
	// which criteria, none meaning any; Retried that the slot came back unseen
	// for that reason, and was not seen since.
	Woken, Retried bool
	WokenFor       []string
	// Gone says of a taken slot that it left the market.
	Gone bool
	// Member sells a taken slot, and Promise is the collateral that it is promised; empty: the
	// slot is not handed out.
	Member  events.Member
	Promise events.Amount
	// Again is the newer offer that waits for the release of a taken slot that
	// had left the market; nil when there is none.
	Again *Terms
	// AgainAt is when that offer came.
	AgainAt time.Time
}

func (it *item) view() Item {
	v := Item{
		RequestID: it.offer.request, SlotIndex: it.index, Terms: it.offer.Terms,
		QueuedAt: it.offer.at, Place: it.place, Order: it.order, Seen: it.seen, Gone: it.gone,
		Woken: it.woken, WokenFor: it.wokenFor, Retried: it.retried, Criterion: it.criterion, RetryAt: it.retryAt,
		Member: it.member, Promise: it.promise,
	}
	if it.again != nil {
		terms := it.again.Terms
		v.Again, v.AgainAt = &terms, it.again.at
	}
	return v
}

// Items yields the queued slots, the best first. The first costs sorting them
// all: O(n log n).
func (s State) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		sorted := slices.Clone(s.best.items)
		slices.SortFunc(sorted, compare)
		for _, it := range sorted {
			if !yield(it.view()) {
				return
			}
		}
	}
}

// Best returns the first n queued slots, the best first: O(n log n), however many there are.
func (s State) Best(n int) []Item {
	out := make([]Item, 0, min(n, s.Len()))
	for _, it := range s.best.top(n) {
		out = append(out, it.view())
	}
	return out
}

// Taken returns the slots that workers have, in the order of taking.
func (s State) Taken() []Item {
	out := make([]Item, 0, len(s.taken))
	for _, it := range s.taken {
		out = append(out, it.view())
	}
	return out
}

// Holds reports whether a slot is here and on offer, queued or with a worker.
func (s State) Holds(request events.RequestID, index uint64) bool {
	return len(s.leaving(request, []uint64{index})) > 0
}

// Position is how many queued slots are better than this one; false when it is
// not queued. It goes through all of them.
func (s State) Position(request events.RequestID, index uint64) (int, bool) {
	it := s.items[key{request, index}]
	if it == nil || it.taken {
		return 0, false
	}
	n := 0
	for _, other := range s.best.items {
		if other.before(it) {
			n++
		}
	}
	return n, true
}
