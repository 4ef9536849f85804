package sale

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func refill() Refill {
	c := capacity()
	c.Reservation = events.ReservationID{0x77}
	return Refill{At: t0, ExpiresAt: void, EndsAt: ends, Capacity: c}
}

func TestASlotThatWasLostIsFilledAgainWithItsData(t *testing.T) {
	lost := chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)
	s, _ := live(t, then(untilProving(), lost)...)
	for n := uint32(1); n <= MaxRefills; n++ {
		batch, err := Decide(s, refill())
		if err != nil || len(batch) != 3 {
			t.Fatalf("refill %d: %v, %v", n, batch, err)
		}
		settled := batch[0].(*messages.SaleSettled)
		if settled.GetCollateralReturned() != "0" || settled.GetCollateralLost() != s.Committed.String() {
			t.Fatalf("refill %d: returned %s, lost %s", n, settled.GetCollateralReturned(), settled.GetCollateralLost())
		}
		for _, e := range batch {
			s = Evolve(s, e)
		}
		if s.Phase != SlotReserving || s.Attempt != n+1 || !s.Repair || s.Refills != n || s.Settled || !s.Lost.IsZero() {
			t.Fatalf("refill %d leads to %+v", n, s)
		}
		for _, c := range then([]Command{reserved()}, stored(), proved(challenge1), filled(), extended(), lost) {
			batch, err := Decide(s, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range batch {
				s = Evolve(s, e)
			}
		}
		if !s.Forfeited {
			t.Fatalf("refill %d was not lost again: %s", n, s.Phase)
		}
	}
	if batch, err := Decide(s, refill()); err != nil || len(batch) > 0 {
		t.Fatalf("the fourth time: %v, %v", batch, err)
	}
}

func TestWhatIsNotHereOrNotLostIsNotFilledAgain(t *testing.T) {
	lost := chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)
	for name, life := range map[string][]Command{
		"hosting":             untilProving(),
		"deleted":             then(untilProving(), lost, deleted()),
		"settled":             then(untilProving(), lost, deleted(), settled()),
		"lost without data":   {adopt(), lost},
		"given up":            then(untilFilling(), giveUp()),
		"dropped by contract": then(untilProving(), chainSays(me, events.SlotFailed, events.RequestFailed), freed(0, 0)),
	} {
		s, _ := live(t, life...)
		if batch, err := Decide(s, refill()); err != nil || len(batch) > 0 {
			t.Errorf("%s: %v, %v", name, batch, err)
		}
	}
}
