package slotqueue

import (
	"fmt"
	"slices"
)

// Check verifies that the queue is in order: its indexes hold the same slots,
// each at the index that the slot has noted, it is within its bounds, and no
// event contradicted the record. It goes through everything, so it is for audits
// and tests.
func (s State) Check() error {
	if s.faults > 0 {
		return fmt.Errorf("slotqueue: %d events contradict the record, the first: %s",
			s.faults, s.firstFault)
	}
	if s.Len() > s.limits.MaxItems {
		return fmt.Errorf("slotqueue: %d slots are queued, the limit is %d", s.Len(), s.limits.MaxItems)
	}
	most := max(s.refusals.byAge.Len(), s.refusals.letGo.Len())
	if n := s.refusals.len(); most > s.limits.MaxRefused || n != len(s.refusals.byRequest) {
		return fmt.Errorf("slotqueue: %d refused requests by age, %d by id, the limit is %d for each of two lists",
			n, len(s.refusals.byRequest), s.limits.MaxRefused)
	}
	for _, r := range []*ranking{&s.best, &s.worst} {
		if err := r.check(); err != nil {
			return err
		}
	}
	all, queued, taken := len(s.items), s.Len(), len(s.taken)
	if all != queued+taken || queued != len(s.worst.items) {
		return fmt.Errorf("slotqueue: %d slots, of which %d are queued, %d queued backwards, %d taken",
			all, queued, len(s.worst.items), taken)
	}
	return s.checkItems()
}

// check verifies the heap property and the noted indexes.
func (r *ranking) check() error {
	for i, it := range r.items {
		if int(*r.place(it)) != i || it.taken {
			return fmt.Errorf("slotqueue: slot %d of request %s is ranked at %d, believes %d",
				it.index, it.offer.request, i, *r.place(it))
		}
		if i > 0 && r.Less(i, (i-1)/2) {
			return fmt.Errorf("slotqueue: slot %d of request %s is ranked below a worse one",
				it.index, it.offer.request)
		}
	}
	return nil
}

func (s State) checkItems() error {
	seen, related := 0, 0
	for k, it := range s.items {
		wrong := ""
		switch {
		case k.request != it.offer.request || k.index != it.index:
			wrong = "filed as another"
		case s.requests[k.request][it.inRequest] != it:
			wrong = "not where its request believes"
		case it.taken && !slices.Contains(s.taken, it):
			wrong = "taken by nobody"
		case it.seen && (it.taken || !s.seen.holds(it)):
			wrong = "not among the seen"
		}
		if wrong != "" {
			return fmt.Errorf("slotqueue: slot %d of request %s is %s", it.index, it.offer.request, wrong)
		}
		if it.seen {
			seen++
		}
	}
	for _, siblings := range s.requests {
		related += len(siblings)
	}
	listed := 0
	for _, list := range s.seen.by {
		listed += len(list)
	}
	if seen != listed || seen != s.seen.n || related != len(s.items) {
		return fmt.Errorf("slotqueue: %d of %d seen slots, %d of %d slots by request",
			seen, listed, related, len(s.items))
	}
	if n := len(s.avoided); n > s.limits.MaxAvoided {
		return fmt.Errorf("slotqueue: %d avoided clients, the limit is %d", n, s.limits.MaxAvoided)
	}
	return nil
}

// Snapshot is the whole queue as plain values in a fixed order, to compare and
// to show.
type Snapshot struct {
	Items   []Item // the best first
	Taken   []Item // in the order of taking
	Refused []RefusedRequest
	Avoided []AvoidedClient // in order of their addresses
	// Next is the order number of the next item.
	Next               uint64
	Exhausted, Stopped bool
	ExhaustedFor       string
	StoppedFor         string
	LastMarketRevision uint64
	// Faults is how many events contradicted the record, FirstFault what the
	// first one did.
	Faults     int
	FirstFault string
}

// Snapshot copies the state.
func (s State) Snapshot() Snapshot {
	return Snapshot{
		Items: slices.Collect(s.Items()), Taken: s.Taken(), Refused: s.Refused(""), Avoided: s.AvoidedClients(),
		Next: s.order, Exhausted: s.exhausted, Stopped: s.stopped,
		ExhaustedFor: s.exhaustedFor, StoppedFor: s.stoppedFor,
		LastMarketRevision: s.lastMarketRevision, Faults: s.faults, FirstFault: s.firstFault,
	}
}
