package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func TestEventsThatContradictTheRecordArePassedOverAndTold(t *testing.T) {
	created := func(ids ...byte) Event {
		return &messages.ReservationCreated{
			ReservationId: fill[events.ReservationID](ids[0]).String(), AvailabilityId: fill[events.AvailabilityID](ids[1]).String(),
			RequestId: fill[events.RequestID](1).String(), SlotId: slot.String(), Attempt: 2, Bytes: 1, Collateral: "0",
		}
	}
	tests := []struct {
		name string
		when Event
		says string
	}{
		{"a second creation", offerCreated(), "created twice"},
		{"an update of nothing", &messages.AvailabilityUpdated{
			AvailabilityId: second.String(), MinPricePerBytePerSecond: "1", TotalCollateral: "1",
		}, "does not exist"},
		{"a deletion of what is used", &messages.AvailabilityDeleted{AvailabilityId: first.String()}, "in use"},
		{"a deletion of nothing", &messages.AvailabilityDeleted{AvailabilityId: second.String()}, "does not exist"},
		{"a reservation in nothing", created(1, 0xa2), "unknown availability"},
		{"a second reservation", created(id[0], 0xa2), "created twice or in an unknown"},
		{"a grant of too much", &messages.BytesReleased{ReservationId: id.String(), Bytes: 1001}, "1001 bytes"},
		{"a settlement of nothing", &messages.ReservationDeleted{
			ReservationId: ReservationIDOf(slot, 9).String(), CollateralReturned: "0", CollateralLost: "0",
		}, "was settled"},
		{"a settlement of too little", &messages.ReservationDeleted{
			ReservationId: id.String(), CollateralReturned: "1", CollateralLost: "0",
		}, "1 returned"},
		{"space for a sector twice", &messages.SectorSpaceHeld{Sector: 1, Sealed: 1, Deposit: "0"}, "given space twice"},
		{"a part that is not held", &messages.SectorSpaceReleased{Sector: 1, Part: "tree", Bytes: 1}, "1 bytes of the tree"},
		{"part of a part", &messages.SectorSpaceReleased{Sector: 1, Part: "sealed", Bytes: 9}, "9 bytes of the sealed"},
		{"a part of nothing", &messages.SectorSpaceReleased{Sector: 2, Part: "sealed", Bytes: 10}, "of sector 2"},
		{"a deposit of nothing", &messages.SectorDepositSettled{Sector: 2, Held: "0", Lost: "0"}, "of sector 2"},
		{"a withdrawal out of order", &messages.SectorFundsWithdrawn{Number: 2, Amount: "1"}, "withdrawal 2 was"},
		{"a loss that shrinks", &messages.SectorDepositSettled{Sector: 1, Held: "0", Lost: "0"}, "lost less than before"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, quota, create, reserve, holdFew, SettleDeposit{Sector: 1, Held: amount(4), Lost: amount(1)})
			book := s.Book()
			s = Evolve(s, test.when)
			if s.Book() != book {
				t.Fatalf("book %s, want it unchanged: %s", s.Book(), book)
			}
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("check says %v, want %q", err, test.says)
			}
		})
	}
}

func offerCreated() Event {
	return &messages.AvailabilityCreated{
		AvailabilityId: first.String(), TotalSize: 5, DurationSeconds: 1,
		MinPricePerBytePerSecond: "1", TotalCollateral: "1",
	}
}

func TestCheckFindsABookThatIsWrong(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*State)
		says  string
	}{
		{"a byte too few", func(s *State) { s.book.Free-- }, "does not balance"},
		{"a place below zero", func(s *State) { move(&s.book.Free, &s.book.Unallocated, 1) }, "does not balance"},
		{"a byte in the wrong place", func(s *State) { move(&s.book.Reserved, &s.book.Stored, 1) }, "the entries say"},
		{"a reservation without offer", func(s *State) { delete(s.availabilities, first) }, "does not exist"},
		{"a reservation that is too full", func(s *State) { s.reservations[id].Stored = 1001 }, "stores 1001 of 1000"},
		{"an offer that counts wrong", func(s *State) { s.availabilities[first].Used++ }, "they say"},
		{"an offer that is too small", func(s *State) { s.availabilities[first].Size = 999 }, "uses 1000 of 999"},
		{"collateral that is promised twice", func(s *State) { s.availabilities[first].Lost = amount(1) }, "and 1 lost"},
		{"a sector that has too much", func(s *State) { s.sectors[1].Tree++ }, "the entries say"},
		{"a sector under another's number", func(s *State) { s.sectors[1].Number = 2 }, "under number 1"},
		{"a piece that has too much", func(s *State) { s.pieces["baga"] = 1 }, "the entries say"},
		{"a deposit that was lost twice", func(s *State) { s.lost = amount(0) }, "sectors have lost 1, in all 0"},
		{"an ended sector that is not in order", func(s *State) { s.ended.attempts[7] = 1 }, "ended sectors"},
		{"a settled slot that is not in order", func(s *State) { s.settled.attempts[slot] = 1 }, "settled slots"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, quota, create, reserve, holdFew, SettleDeposit{Sector: 1, Held: amount(4), Lost: amount(1)})
			test.spoil(&s)
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("check says %v, want %q", err, test.says)
			}
		})
	}
}

func TestWhatComesBackWakesTheQueue(t *testing.T) {
	s := given(t, quota, create)
	tests := []struct {
		when Command
		want bool
	}{
		{reserve, false},
		{Release{Reservation: id, TotalStored: 5}, false},
		{settleIt, true},
		{Delete{ID: first}, true},
		{SetQuota{Bytes: 5000}, true},
		{holdFew, false},
		{SettleDeposit{Sector: 1}, false},
		{ReleasePart{Sector: 1, Part: PartSealed}, true},
		{HoldPiece{Piece: Piece{"baga", 9}}, false},
		{ReleasePiece{CID: "baga"}, true},
		{create, true},
		{Create{ID: second, Now: Offer{Size: 1, Duration: time.Second, MinPrice: amount(1), Collateral: amount(1)}}, false},
	}
	for _, test := range tests {
		var out []Event
		s, out = step(t, s, test.when)
		reason, criteria := Wakes(s, out[0])
		if wakes := len(criteria) > 0; wakes != test.want || wakes && reason == "" {
			t.Fatalf("%T wakes the queue: %v (%q), want %v", test.when, criteria, reason, test.want)
		}
	}
}
