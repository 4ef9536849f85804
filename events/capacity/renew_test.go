package capacity

import (
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

var renewedSlot = events.SlotID{0x5a}

func reserveFor(attempt uint32, adopted bool) Reserve {
	at := time.Unix(1_700_000_000, 0)
	return Reserve{
		At: at, Slot: renewedSlot, RequestID: events.RequestID{1}, Attempt: attempt, Adopted: adopted,
		Ask: Ask{
			SlotSize: 1000, Duration: time.Hour, PricePerBytePerSecond: events.NewAmount(2),
			CollateralPerByte: events.NewAmount(3), RequestEnd: at.Add(time.Hour), Overhead: 10,
		},
	}
}

// ledgerOf folds what a list of commands brings.
func ledgerOf(t *testing.T, commands ...Command) State {
	t.Helper()
	s := New()
	for _, c := range commands {
		batch, err := Decide(s, c)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		for _, e := range batch {
			s = Evolve(s, e)
		}
	}
	return s
}

func soldOffer(collateral uint64) []Command {
	at := time.Unix(1_700_000_000, 0)
	return []Command{
		SetQuota{At: at, Bytes: 5000},
		Create{At: at, ID: events.AvailabilityID{1}, Now: Offer{
			Size: 1000, Duration: time.Hour, MinPrice: events.NewAmount(1), Collateral: events.NewAmount(collateral),
			Enabled: true,
		}},
		reserveFor(1, false),
		Release{At: at, Reservation: ReservationIDOf(renewedSlot, 1), TotalStored: 1000},
	}
}

func renew() Renew {
	return Renew{
		Settle:  Settle{Slot: renewedSlot, Attempt: 1, CollateralLost: events.NewAmount(3000)},
		Reserve: reserveFor(2, false),
	}
}

func TestASlotThatIsFilledAgainKeepsItsBytes(t *testing.T) {
	s := ledgerOf(t, append(soldOffer(6000), renew())...) // Room for one slot, collateral for two.
	r, open := s.Reservation(ReservationIDOf(renewedSlot, 2))
	if !open || r.Stored != 1000 || s.Book().Stored != 1000 || s.Book().Overhead != 10 {
		t.Fatalf("reservation %+v, book %s", r, s.Book())
	}
	a, _ := s.Availability(events.AvailabilityID{1})
	if a.Lost.String() != "3000" || a.Committed.String() != "3000" || a.Reservations != 1 {
		t.Fatalf("availability %+v", a)
	}
	batch, err := Decide(s, renew()) // The answer was lost, and the command is repeated.
	if err != nil || len(batch) > 0 {
		t.Fatalf("asked again: %v, %v", batch, err)
	}
}

func TestARefusedRenewalChangesNothing(t *testing.T) {
	s := ledgerOf(t, soldOffer(3000)...) // What was lost cannot be committed again.
	before := s.Book()
	batch, err := Decide(s, renew())
	if _, refused := errors.AsType[*Refusal](err); !refused || len(batch) > 0 {
		t.Fatalf("%v, %v", batch, err)
	}
	if r, open := s.Reservation(ReservationIDOf(renewedSlot, 1)); !open || r.Stored != 1000 || s.Book() != before {
		t.Fatalf("deciding changed the ledger: %s, was %s", s.Book(), before)
	}
}

func TestAnAdoptedSlotBringsItsOwnAvailability(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	if _, err := Decide(ledgerOf(t, SetQuota{At: at, Bytes: 5000}), reserveFor(1, false)); err == nil {
		t.Fatal("a slot that is not ours was taken without an offer")
	}
	s := ledgerOf(t, SetQuota{At: at, Bytes: 1010}, reserveFor(1, true))
	own, ok := s.Availability(AdoptedAvailability(renewedSlot, 1))
	if !ok || own.Enabled || own.Free() != 0 || s.Book().Unallocated != 0 {
		t.Fatalf("availability %+v, book %s", own, s.Book())
	}
	batch, err := Decide(s, reserveFor(1, true))
	if err != nil || len(batch) > 0 {
		t.Fatalf("asked again: %v, %v", batch, err)
	}
	_, err = Decide(ledgerOf(t, SetQuota{At: at, Bytes: 1009}), reserveFor(1, true))
	if _, refused := errors.AsType[*Refusal](err); !refused {
		t.Fatalf("beyond the quota: %v", err)
	}
	with := ledgerOf(t, append(soldOffer(6000)[:2], reserveFor(1, true))...)
	if _, brought := with.Availability(AdoptedAvailability(renewedSlot, 1)); brought {
		t.Fatal("it brought an availability although one takes it")
	}
}
