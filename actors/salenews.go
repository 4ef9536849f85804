package actors

import (
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// tellConcerned makes the sales that an event is about look at the chain.
func (s *supervisor) tellConcerned(e messages.MarketEvent) {
	switch e := e.(type) {
	case *messages.ChainSlotFilled:
		s.wakeSlot(e.GetRequestId(), e.GetSlotIndex())
	case *messages.ChainSlotFreed:
		s.wakeSlot(e.GetRequestId(), e.GetSlotIndex())
	case *messages.ChainRequestFulfilled, *messages.ChainRequestFailed, *messages.ChainRequestCancelled:
		s.wakeRequest(ledger.RequestOf(e))
	case *messages.ChainStorageRequested, *messages.ChainSlotReservationsFull,
		*messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
	}
}

func (s *supervisor) wakeSlot(request string, index uint64) {
	slot := events.SlotIDOf(events.Must(events.ParseRequestID(request)), index)
	if ag := s.agents[slot]; ag != nil {
		ag.Ref().Tell(sales.Look{})
	}
}

func (s *supervisor) wakeRequest(request string) {
	for _, slot := range s.slots() {
		if ag := s.agents[slot]; ag.request.String() == request {
			ag.Ref().Tell(sales.Look{})
		}
	}
}
