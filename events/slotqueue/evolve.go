package slotqueue

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Evolve folds one event into the state. It never fails and never refuses: an
// event that contradicts the record is skipped, and Check reports it.
//
// It may change the memory that s refers to. Use only the returned state; who
// needs a second one folds it from the events.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.SlotsQueued:
		s.queued(e)
		s.consume(e.GetMarketRevision())
	case *messages.SlotTaken:
		s.take(keyOf(e.GetRequestId(), e.GetSlotIndex()))
	case *messages.SlotHandedOut:
		s.handOut(keyOf(e.GetRequestId(), e.GetSlotIndex()), e)
	case *messages.SlotReleased:
		s.release(keyOf(e.GetRequestId(), e.GetSlotIndex()), e)
	case *messages.SlotRemoved:
		request := events.Must(events.ParseRequestID(e.GetRequestId()))
		for _, index := range e.GetSlotIndices() {
			s.remove(key{request, index})
		}
		s.refusals.forget(request, e.GetSlotIndices())
		if e.GetCriterion() != "" { // They made way.
			s.refuse(e)
		}
		s.consume(e.GetMarketRevision())
	case *messages.SlotsRefused:
		s.refuse(e)
		s.consume(e.GetMarketRevision())
	case *messages.QueuePaused:
		if e.GetByOperator() {
			s.stopped, s.stoppedFor = true, e.GetReason()
		} else {
			s.exhausted, s.exhaustedFor = true, e.GetReason()
		}
	case *messages.QueueResumed:
		if e.GetByOperator() {
			s.stopped, s.stoppedFor = false, ""
		}
		s.wake(e.GetCriteria(), events.TimeFromMessage(e.GetAt()), e.GetEarly())
	case *messages.ClientAvoided:
		s.avoided.add(avoidedOf(e), s.limits.MaxAvoided)
	}
	return s
}

// refusal is an event that says which slots are not queued, and why.
type refusal interface {
	GetAt() *timestamppb.Timestamp
	GetRequestId() string
	GetSlotIndices() []uint64
	GetCriterion() string
	GetReason() string
}

func (s *State) refuse(e refusal) {
	s.refusals.add(RefusedRequest{
		RequestID:   events.Must(events.ParseRequestID(e.GetRequestId())),
		SlotIndices: e.GetSlotIndices(),
		Refusal:     Refusal{e.GetCriterion(), e.GetReason()},
		At:          events.TimeFromMessage(e.GetAt()),
	}, s.limits.MaxRefused)
}

func keyOf(request string, index uint64) key {
	return key{events.Must(events.ParseRequestID(request)), index}
}
