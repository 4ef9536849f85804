package validation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// maxLiving is the most filled slots of the market that are tracked: some
	// 300 MB, and far more than one account can mark.
	maxLiving = 1_000_000
	// undoBlocks is the depth up to which a reorganisation is followed exactly.
	// After a deeper one, some slots are watched that are no longer filled, which
	// the contract says when it is asked, and some are not watched until they are
	// filled again.
	undoBlocks = 1_024
	// keepEnded is how long a request is kept after its end, in case the chain
	// takes the end back.
	keepEnded = time.Hour
)

// Slot is a slot that may owe proofs.
type Slot struct {
	events.SlotRef
	FilledAt time.Time
	// ProofProbability is what the request asks for.
	ProofProbability events.Amount
}

// Watch is the fold of the market's events into the filled slots of one group
// whose requests run. It is mutable, and not safe for concurrent use.
type Watch struct {
	settings Settings
	requests map[events.RequestID]*request
	slots    map[events.SlotID]*filled
	next     uint64 // counts fills
	undo     []step // oldest first
	ignored  uint64 // fills beyond maxLiving
	order    []*filled
	stale    bool // order is not of slots
}

type request struct {
	ends, expires time.Time
	probability   events.Amount
	fulfilled     bool
	over          bool // failed or cancelled
}

// runs reports whether the slots of a request may owe proofs.
func (r *request) runs(now time.Time) bool {
	return !r.over && now.Before(r.ends) && (r.fulfilled || !now.After(r.expires))
}

// ended is when the request ends by the passing of time alone.
func (r *request) ended() time.Time {
	if r.fulfilled {
		return r.ends
	}
	return r.expires
}

// filled is a slot from its fill until it is freed.
type filled struct {
	Slot
	request *request
	number  uint64
}

// step undoes one log, which a reorganisation may drop.
type step struct {
	block uint64
	back  func()
}

// NewWatch returns the Watch of a market without events.
func NewWatch(s Settings) *Watch {
	return &Watch{settings: s, requests: map[events.RequestID]*request{}, slots: map[events.SlotID]*filled{}}
}

// Apply folds the next event of the market's stream. Events of requests whose
// beginning was not seen are skipped: such a request ended before the fold
// began, or is unsound.
func (w *Watch) Apply(e messages.MarketEvent) {
	switch e := e.(type) {
	case *messages.ChainStorageRequested:
		w.requested(e)
	case *messages.ChainSlotFilled:
		w.fill(e)
	case *messages.ChainSlotFreed:
		slot := events.SlotIDOf(requestOf(e.GetRequestId()), e.GetSlotIndex())
		w.put(e.GetLog(), slot, nil)
	case *messages.ChainRequestFulfilled:
		if r := w.requests[requestOf(e.GetRequestId())]; r != nil {
			was := r.fulfilled
			r.fulfilled = true
			w.did(e.GetLog(), func() { r.fulfilled = was })
		}
	case *messages.ChainRequestFailed:
		w.end(e.GetRequestId(), e.GetLog())
	case *messages.ChainRequestCancelled:
		w.end(e.GetRequestId(), e.GetLog())
	case *messages.BlocksScanned:
		w.undo = slices.DeleteFunc(w.undo, func(s step) bool { return s.block+undoBlocks < e.GetNumber() })
	case *messages.ChainReorganized:
		for n := len(w.undo); n > 0 && w.undo[n-1].block > e.GetAncestor(); n = len(w.undo) {
			w.undo[n-1].back()
			w.undo = w.undo[:n-1]
		}
	case *messages.ChainSlotReservationsFull, *messages.ChainProofSubmitted:
	default:
		panic(fmt.Sprintf("validation: unknown market event %T", e))
	}
}

func (w *Watch) did(log *messages.ChainLog, back func()) {
	w.undo = append(w.undo, step{log.GetBlock(), back})
}

func (w *Watch) requested(e *messages.ChainStorageRequested) {
	id := requestOf(e.GetRequestId())
	if w.requests[id] != nil {
		return
	}
	asked := events.RequestFromMessage(e.GetRequest())
	w.requests[id] = &request{
		ends:    events.TimeFromMessage(e.GetLog().GetTime()).Add(asked.Ask.Duration),
		expires: events.TimeFromMessage(e.GetExpiresAt()), probability: asked.Ask.ProofProbability,
	}
	w.did(e.GetLog(), func() { delete(w.requests, id) })
}

func (w *Watch) fill(e *messages.ChainSlotFilled) {
	id := requestOf(e.GetRequestId())
	slot := events.SlotIDOf(id, e.GetSlotIndex())
	r := w.requests[id]
	switch {
	case r == nil || !w.settings.Mine(slot) || e.GetSlotIndex() >= events.MaxSlots: // No sound request has more slots.
		return
	case len(w.slots) >= maxLiving:
		w.ignored++
		return
	}
	w.next++
	w.put(e.GetLog(), slot, &filled{request: r, number: w.next, Slot: Slot{
		SlotRef:  events.SlotRef{Request: id, Slot: slot, Index: e.GetSlotIndex()},
		FilledAt: events.TimeFromMessage(e.GetLog().GetTime()), ProofProbability: r.probability,
	}})
}

// put sets or, with nil, removes a slot.
func (w *Watch) put(log *messages.ChainLog, slot events.SlotID, f *filled) {
	was := w.slots[slot]
	if was == nil && f == nil {
		return
	}
	w.set(slot, f)
	w.did(log, func() { w.set(slot, was) })
}

func (w *Watch) set(slot events.SlotID, f *filled) {
	w.stale = true
	if f == nil {
		delete(w.slots, slot)
		return
	}
	w.slots[slot] = f
}

func (w *Watch) end(id string, log *messages.ChainLog) {
	if r := w.requests[requestOf(id)]; r != nil {
		was := r.over
		r.over = true
		w.did(log, func() { r.over = was })
	}
}

// Slots returns the slots that are watched at a point of chain time, in the order
// in which they were filled, without those that except reports. If there are more
// than the settings allow, those filled last are left out.
func (w *Watch) Slots(now time.Time, except func(events.SlotID) bool) (watched []Slot, skipped uint64) {
	if w.stale {
		byFill := func(a, b *filled) int { return cmp.Compare(a.number, b.number) }
		w.order = slices.SortedFunc(maps.Values(w.slots), byFill)
		w.stale = false
	}
	skipped = w.ignored
	for _, f := range w.order {
		switch {
		case !f.request.runs(now) || except(f.Slot.Slot):
		case w.settings.MaxSlots > 0 && uint64(len(watched)) >= w.settings.MaxSlots:
			skipped++
		default:
			watched = append(watched, f.Slot)
		}
	}
	return watched, skipped
}

// Prune forgets the requests that ended so long ago that it is final, with
// their slots.
func (w *Watch) Prune(now time.Time) {
	gone := func(r *request) bool { return now.Sub(r.ended()) > keepEnded }
	for slot, f := range w.slots {
		if gone(f.request) {
			w.set(slot, nil)
		}
	}
	maps.DeleteFunc(w.requests, func(_ events.RequestID, r *request) bool { return gone(r) })
}

func requestOf(text string) events.RequestID { return events.Must(events.ParseRequestID(text)) }
