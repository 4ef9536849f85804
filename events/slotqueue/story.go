package slotqueue

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Told is what an event of the queue did with some slots of a request, for a person.
type Told struct {
	Request  events.RequestID
	Indices  []uint64
	Where    string // the slots are now: "queued", "in work", "over" or "refused"
	Sentence string
}

// Tell describes an event; false: it is about no slots.
func Tell(e Event) (t Told, ofSlots bool) {
	about, ok := e.(interface{ GetRequestId() string })
	if !ok {
		return t, false
	}
	var err error
	if t.Request, err = events.ParseRequestID(about.GetRequestId()); err != nil {
		return t, false
	}
	switch e := e.(type) { //nolint:gochecksumtype // The other three are about no request.
	case *messages.SlotsQueued:
		t.Indices, t.Where = e.GetSlotIndices(), "queued"
		until := events.TimeFromMessage(e.GetExpiry()).UTC()
		t.Sentence = "Queued, to be filled until " + until.Format(time.DateTime) + "Z."
	case *messages.SlotTaken:
		t.Indices, t.Where, t.Sentence = []uint64{e.GetSlotIndex()}, "in work", "Its turn came."
	case *messages.SlotHandedOut:
		t.Indices, t.Where = []uint64{e.GetSlotIndex()}, "in work"
		t.Sentence = fmt.Sprintf("Given to member %s, with %s base units of collateral.",
			e.GetMember(), e.GetCollateral())
	case *messages.SlotReleased:
		t.Indices, t.Where = []uint64{e.GetSlotIndex()}, "over"
		did := "No longer in work"
		if e.GetCriterion() != "" {
			did = "Let go"
		}
		if e.GetRequeue() {
			t.Where, did = "queued", "Put back into the queue"
		}
		t.Sentence = because(did, e.GetCriterion(), e.GetOutcome())
	case *messages.SlotRemoved:
		t.Indices, t.Where = e.GetSlotIndices(), "over"
		t.Sentence = because("Taken out of the queue", e.GetCriterion(), e.GetReason())
	case *messages.SlotsRefused:
		t.Indices, t.Where = e.GetSlotIndices(), "refused"
		t.Sentence = because("Refused", e.GetCriterion(), e.GetReason())
	}
	return t, true
}

// because names the criterion, whose name docs/admission.md explains, and the reason.
func because(did, criterion, reason string) string {
	if criterion != "" {
		did += ", criterion " + criterion
	}
	if reason == "" {
		return did + "."
	}
	return did + ": " + strings.TrimSuffix(reason, ".") + "."
}
