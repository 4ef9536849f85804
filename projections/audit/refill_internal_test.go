package audit

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
)

// Settling an attempt whose slot was lost reserves for the next one; if that is never begun, the reservation is given
// back for the same reason.
func TestSettlingIsAboutTheAttemptOrTheNextOne(t *testing.T) {
	slot := events.SlotID{1}
	id := func(attempt uint32) string { return capacity.ReservationIDOf(slot, attempt).String() }
	h := &host{sales: map[events.SlotID]*life{slot: {}}}
	h.sales[slot].Attempt = 2
	for _, c := range []struct {
		what string
		m    proto.Message
		ok   bool
	}{
		{"settle", &messages.ReservationDeleted{ReservationId: id(2)}, true},
		{"settle", &messages.ReservationDeleted{ReservationId: id(3)}, true},
		{"settle", &messages.ReservationDeleted{ReservationId: id(1)}, false},
		{"settle", &messages.ReservationDeleted{ReservationId: id(4)}, false},
		{"settle", &messages.ReservationCreated{ReservationId: id(3)}, true},
		{"settle", &messages.ReservationCreated{ReservationId: id(2)}, false},
		{"reserve", &messages.ReservationCreated{ReservationId: id(2)}, true},
		{"reserve", &messages.ReservationCreated{ReservationId: id(3)}, false},
		{"store", &messages.ReservationDeleted{ReservationId: id(3)}, false},
	} {
		cause := events.Cause{Kind: events.CauseSale, What: c.what, Slot: slot, Attempt: 2}
		if why := causeOfLedger(h, cause, c.m, &auditor{}); (why == "") != c.ok {
			t.Errorf("%s: %T %v: %q", c.what, c.m, c.m, why)
		}
	}
}
