package audit

import (
	"slices"

	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// queue is the core's fold of a host's queue, and the audit's own account of
// where each slot is.
type queue struct {
	State saved.Queue
	Slots map[slotKey]slotPlace
	// deposed: the newest event is of a process that has not the term any more.
	deposed bool
	// HandedOut are the taken slots that a member has, and those that a deposed owner took back.
	HandedOut map[slotKey]handedOut
	Broken    bool
	// part says that the beginning of the queue's stream is missing. Then a slot
	// that the audit does not know may be in the queue.
	Part  bool
	Since int
	Last  place
}

type slotKey struct {
	Request string
	Index   uint64
}

// slotPlace says where a slot of the queue is.
type slotPlace struct {
	Taken bool
	Gone  bool // it left the market while it was taken
	Again bool // and came back
}

func newQueue() *queue {
	return &queue{State: saved.NewQueue(), Slots: map[slotKey]slotPlace{}, HandedOut: map[slotKey]handedOut{}}
}

// partly marks the queue as one whose beginning is missing.
func (q *queue) partly() {
	*q = *newQueue()
	q.Part = true
}

func (a *auditor) judgeQueue(h *host, p place, e slotqueue.Event) {
	q := h.Queue
	if !a.fitsQueue(q, p, e) {
		a.streams[p.Stream].giveUp()
		return
	}
	if q.Part { // The core would miss what it never saw.
		return
	}
	q.State.State = slotqueue.Evolve(q.State.State, e)
	a.checkReceiver(h, p, e)
	q.Since++
	q.Last = p
	if len(q.Slots) <= smallState || q.Since >= len(q.Slots) {
		a.checkWhole(QueueInconsistent, &q.State, &q.Since, q.Last)
	}
}

func (a *auditor) endOfQueue(h *host) {
	if q := h.Queue; q.Since > 0 && !q.Broken {
		a.checkWhole(QueueInconsistent, &q.State, &q.Since, q.Last)
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
			s, known := q.Slots[k]
			if known && !(s.Taken && s.Gone && !s.Again) {
				return wrong("queued, but is in the queue", k)
			}
			s.Again = known
			q.Slots[k] = s
		}
	case *messages.SlotTaken:
		k := slotKey{e.GetRequestId(), e.GetSlotIndex()}
		if s, known := q.Slots[k]; !known && !q.Part || s.Taken {
			return wrong("taken, but is not queued", k)
		}
		q.Slots[k] = slotPlace{Taken: true}
	case *messages.SlotReleased:
		k := slotKey{e.GetRequestId(), e.GetSlotIndex()}
		s := q.Slots[k]
		if !s.Taken && !q.Part {
			return wrong("released, but is not taken", k)
		}
		delete(q.Slots, k)
		q.takeBack(k)
		a.checkCriterion(p, e.GetCriterion())
		if e.GetRequeue() && !s.Gone {
			q.Slots[k] = slotPlace{}
		}
	case *messages.SlotRemoved:
		a.checkCriterion(p, e.GetCriterion())
		for _, index := range e.GetSlotIndices() {
			k := slotKey{e.GetRequestId(), index}
			if s := q.Slots[k]; s.Taken {
				q.Slots[k] = slotPlace{Taken: true, Gone: true}
			} else {
				delete(q.Slots, k)
			}
		}
	case *messages.SlotsRefused:
		a.checkCriterion(p, e.GetCriterion())
	case *messages.ClientAvoided:
		if !e.GetUntil().AsTime().After(e.GetAt().AsTime()) {
			a.find(QueueContradiction, p, "client %s is avoided until before it is", e.GetClient())
		}
	case *messages.SlotHandedOut:
		k := slotKey{e.GetRequestId(), e.GetSlotIndex()}
		if !q.handOut(k, e) {
			return wrong("handed out, but is not taken, or was handed out before", k)
		}
	case *messages.QueuePaused, *messages.QueueResumed:
	}
	return true
}

// checkCriterion demands that a slot was refused by a documented rule
// (docs/admission.md). A release without one is that of a slot in work, or from
// before releases named one.
func (a *auditor) checkCriterion(p place, criterion string) {
	if criterion == "" || slices.Contains(slotqueue.Criteria(), criterion) ||
		slices.Contains(capacity.Criteria(), capacity.Criterion(criterion)) {
		return
	}
	a.find(QueueCriterion, p, "a slot was refused by %q, which is no criterion", criterion)
}
