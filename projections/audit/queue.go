package audit

import (
	"math"
	"slices"

	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// queue is the core's fold of a host's queue, and beside it where each slot is
// by the audit's own account.
type queue struct {
	state  slotqueue.State
	slots  map[slotKey]slotPlace
	broken bool
	// part says that what was in the queue at the beginning is not known. Then a
	// slot that is not known may well be in it.
	part  bool
	since int
	last  place
}

type slotKey struct {
	Request string
	Index   uint64
}

// slotPlace says where a slot is that the queue knows.
type slotPlace struct {
	taken bool
	gone  bool // it left the market while it was taken
	again bool // and came back
}

// The bound of a queue is a setting of its host, so the audit has none. What
// was refused decides nothing and need not be remembered.
var queueLimits = slotqueue.Limits{MaxItems: math.MaxInt, MaxRefused: 1}

func newQueue() *queue {
	return &queue{state: slotqueue.New(queueLimits), slots: map[slotKey]slotPlace{}}
}

// partly makes the queue one of which the beginning is not known.
func (q *queue) partly() {
	*q = *newQueue()
	q.part = true
}

func (a *auditor) judgeQueue(h *host, p place, e slotqueue.Event) {
	q := h.queue
	if !a.fitsQueue(q, p, e) {
		a.streams[p.stream].giveUp()
		return
	}
	if q.part { // The core would miss what it never saw.
		return
	}
	q.state = slotqueue.Evolve(q.state, e)
	q.since++
	q.last = p
	if len(q.slots) <= smallState || q.since >= len(q.slots) {
		a.checkQueue(q)
	}
}

func (a *auditor) checkQueue(q *queue) {
	q.since = 0
	if err := q.state.Check(); err != nil {
		a.find(QueueInconsistent, q.last, "%v", err)
		a.streams[q.last.stream].giveUp()
	}
}

func (a *auditor) endOfQueue(h *host) {
	if h.queue.since > 0 && !h.queue.broken {
		a.checkQueue(h.queue)
	}
}

// fitsQueue compares an event with where its slots are, and moves them.
func (a *auditor) fitsQueue(q *queue, p place, e slotqueue.Event) bool {
	wrong := func(what string, k slotKey) bool {
		a.find(QueueContradiction, p, "slot %d of request %s was %s", k.Index, k.Request, what)
		return false
	}
	switch e := e.(type) {
	case *messages.SlotsQueued:
		for _, index := range e.GetSlotIndices() {
			k := slotKey{e.GetRequestId(), index}
			s, known := q.slots[k]
			if known && !(s.taken && s.gone && !s.again) {
				return wrong("queued, but is in the queue", k)
			}
			s.again = known
			q.slots[k] = s
		}
	case *messages.SlotTaken:
		k := slotKey{e.GetRequestId(), e.GetSlotIndex()}
		if s, known := q.slots[k]; !known && !q.part || s.taken {
			return wrong("taken, but is not queued", k)
		}
		q.slots[k] = slotPlace{taken: true}
	case *messages.SlotReleased:
		k := slotKey{e.GetRequestId(), e.GetSlotIndex()}
		s := q.slots[k]
		if !s.taken && !q.part {
			return wrong("released, but is not taken", k)
		}
		delete(q.slots, k)
		a.checkCriterion(p, e.GetCriterion())
		if e.GetRequeue() && !s.gone {
			q.slots[k] = slotPlace{}
		}
	case *messages.SlotRemoved:
		a.checkCriterion(p, e.GetCriterion())
		for _, index := range e.GetSlotIndices() {
			k := slotKey{e.GetRequestId(), index}
			if s := q.slots[k]; s.taken {
				q.slots[k] = slotPlace{taken: true, gone: true}
			} else {
				delete(q.slots, k)
			}
		}
	case *messages.SlotsRefused:
		a.checkCriterion(p, e.GetCriterion())
	case *messages.ClientAvoided:
		if !e.GetUntil().AsTime().After(e.GetAt().AsTime()) {
			a.find(QueueContradiction, p, "client %s is avoided until before it is", e.GetClient())
		}
	case *messages.QueuePaused, *messages.QueueResumed:
	}
	return true
}

// checkCriterion demands that a slot was refused by a rule that is written down
// (docs/admission.md). A release that says none is of a slot that is in work, or
// of a time before releases named one.
func (a *auditor) checkCriterion(p place, criterion string) {
	if criterion == "" || slices.Contains(slotqueue.Criteria(), criterion) ||
		slices.Contains(capacity.Criteria(), capacity.Criterion(criterion)) {
		return
	}
	a.find(QueueCriterion, p, "a slot was refused by %q, which is no criterion", criterion)
}
