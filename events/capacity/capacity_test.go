package capacity

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

var (
	first  = fill[events.AvailabilityID](0xa1)
	second = fill[events.AvailabilityID](0xa2)
	slot   = fill[events.SlotID](0xc1)

	quota    = SetQuota{At: start, Bytes: 1100}
	create   = Create{At: start, ID: first, Now: standard()}
	reserve  = Reserve{At: start, Slot: slot, RequestID: fill[events.RequestID](0xb1), SlotIndex: 7, Attempt: 1, Ask: standardAsk()}
	id       = ReservationIDOf(slot, 1)
	settleIt = Settle{At: start, Reservation: id, CollateralReturned: amount(2000)}
	lose     = Settle{At: start, Slot: slot, Attempt: 1, CollateralReturned: amount(1500), CollateralLost: amount(500)}
)

func TestDecide(t *testing.T) {
	shared := Create{At: start, ID: first, Now: standard()}
	shared.Now.Until = start.Add(2 * time.Hour)
	disabled := Create{At: start, ID: first, Now: standard()}
	disabled.Now.Enabled = false
	tooLong := create
	tooLong.Now.Duration += time.Millisecond
	noPrice := create
	noPrice.Now.MinPrice = amount(0)
	noCollateral := create
	noCollateral.Now.Collateral = amount(0)
	farAway := create
	farAway.Now.Until = start.AddDate(9000, 0, 0)
	endless := reserve
	endless.Ask.RequestEnd = farAway.Now.Until
	hugeLoss := settleIt
	hugeLoss.CollateralLost = events.MaxAmount()
	noAttempt := reserve
	noAttempt.Attempt = 0

	tests := []struct {
		name  string
		given []Command
		when  Command
		then  string // the events, one a line
		err   error
		says  string // part of the error
	}{
		{"the first quota is set", nil, quota, "QuotaSet bytes=1100", nil, ""},
		{"the same quota changes nothing", []Command{quota}, quota, "", nil, ""},
		{"a quota has an end", nil, SetQuota{At: start, Bytes: MaxQuota + 1}, "", ErrInvalid, "the most is"},
		{
			"a quota shrinks to what is allocated",
			[]Command{quota, create, reserve},
			SetQuota{At: start, Bytes: 1010},
			"QuotaSet bytes=1010", nil, "",
		},
		{
			"a quota does not shrink below what is allocated, and says all parts",
			[]Command{quota, create, reserve, Release{At: start, Reservation: id, TotalStored: 300}},
			SetQuota{At: start, Bytes: 1009},
			"", &SpaceError{}, "no room for 1009 bytes: quota 1100 bytes = 90 unallocated + 0 free + " +
				"700 reserved + 300 stored + 10 overhead",
		},
		{
			"a quota goes as near to what it should be as what is allocated allows",
			[]Command{quota, create, reserve},
			SetQuota{At: start, Bytes: 1, Near: true},
			"QuotaSet bytes=1010", nil, "",
		},
		{
			"a quota that is as near as it can be stays",
			[]Command{quota, create, reserve, SetQuota{At: start, Bytes: 1, Near: true}},
			SetQuota{At: start, Bytes: 2, Near: true},
			"", nil, "",
		},
		{
			"a quota that has room is near at once",
			[]Command{quota, create},
			SetQuota{At: start, Bytes: 1050, Near: true},
			"QuotaSet bytes=1050", nil, "",
		},
		{
			"where the quota is as near as it can be no slot has room for its overhead",
			[]Command{quota, create, SetQuota{At: start, Bytes: 1, Near: true}},
			reserve, "", &Refusal{}, "0 are left",
		},
		{
			"an offer is created",
			[]Command{quota},
			shared,
			"AvailabilityCreated availabilityId=0xa1 totalSize=1000 durationSeconds=3600 " +
				"minPricePerBytePerSecond=5 totalCollateral=2000 enabled=true until=+2h0m0s", nil, "",
		},
		{"the same offer is created once", []Command{quota, create}, create, "", nil, ""},
		{"another offer needs another id", []Command{quota, create}, shared, "", ErrExists, "0xa1a1"},
		{"an offer needs quota", nil, create, "", &SpaceError{}, "no room for 1000 bytes: quota 0 bytes"},
		{"an offer of no bytes is none", []Command{quota}, Create{ID: first}, "", ErrInvalid, "size 0"},
		{"a duration is whole seconds", []Command{quota}, tooLong, "", ErrInvalid, "whole seconds"},
		{"a price is needed", []Command{quota}, noPrice, "", ErrInvalid, "price"},
		{"collateral is needed", []Command{quota}, noCollateral, "", ErrInvalid, "collateral"},

		{"an end has a place in the calendar", []Command{quota}, farAway, "", ErrInvalid, "until"},

		{"what does not exist is not updated", nil, Update{ID: first}, "", ErrUnknownAvailability, "0xa1"},
		{"an update without a change is none", []Command{quota, create}, Update{ID: first, Enabled: ptr(true)}, "", nil, ""},
		{
			"growing needs room for the difference only",
			[]Command{quota, create},
			Update{ID: first, Size: ptr(events.Bytes(1100))},
			"AvailabilityUpdated availabilityId=0xa1 totalSize=1100 durationSeconds=3600 " +
				"minPricePerBytePerSecond=5 totalCollateral=2000 enabled=true wider=true", nil, "",
		},
		{
			"growing stops at the quota",
			[]Command{quota, create},
			Update{ID: first, Size: ptr(events.Bytes(1101))},
			"", &SpaceError{}, "no room for 101 bytes",
		},
		{
			"shrinking works without free quota",
			[]Command{SetQuota{Bytes: 1000}, create},
			Update{ID: first, Size: ptr(events.Bytes(1))},
			"AvailabilityUpdated availabilityId=0xa1 totalSize=1 durationSeconds=3600 " +
				"minPricePerBytePerSecond=5 totalCollateral=2000 enabled=true", nil, "",
		},
		{
			"shrinking stops at what is in use",
			[]Command{quota, create, reserve},
			Update{ID: first, Size: ptr(events.Bytes(999))},
			"", ErrInUse, "size 999 bytes is less than the 1000 that sales use",
		},
		{
			"collateral does not shrink below committed and lost",
			[]Command{quota, create, reserve, lose, reserveAgain(2, 700)},
			Update{ID: first, Collateral: ptr(amount(1899))},
			"", ErrInUse, "1400 base units committed and 500 base units lost",
		},
		{
			"an end is not before the last sale's",
			[]Command{quota, create, reserve},
			Update{ID: first, Until: ptr(start.Add(time.Hour - 1))},
			"", ErrInUse, "when its last sale ends",
		},
		{"zero is refused in updates, too", []Command{quota, create}, Update{ID: first, Duration: ptr(time.Duration(0))}, "", ErrInvalid, "duration"},

		{"what is not sold is deleted", []Command{quota, create}, Delete{ID: first}, "AvailabilityDeleted availabilityId=0xa1", nil, ""},
		{"what does not exist is deleted already", nil, Delete{ID: first}, "", nil, ""},
		{"what is sold is not deleted", []Command{quota, create, reserve}, Delete{ID: first}, "", ErrInUse, "disable it"},

		{
			"a slot that fits exactly is reserved",
			[]Command{quota, create},
			reserve,
			"ReservationCreated reservationId=" + id.String()[:4] + " availabilityId=0xa1 requestId=0xb1 " +
				"slotId=0xc1 slotIndex=7 attempt=1 bytes=1000 overhead=10 collateral=2000 validUntil=+1h0m0s", nil, "",
		},
		{"asking twice gives the same reservation", []Command{quota, create, reserve}, reserve, "", nil, ""},
		{"a settled attempt gets nothing any more", []Command{quota, create, reserve, settleIt}, reserve, "", ErrSettled, "the last one settled is 1"},
		{"attempts count from one", []Command{quota, create}, noAttempt, "", ErrInvalid, "attempt"},
		{"a request ends within the calendar", []Command{quota, create}, endless, "", ErrInvalid, "end of the request"},
		{"nothing on offer is a refusal", []Command{quota}, reserve, "", &Refusal{}, "no-availability: the host offers no availability"},
		{"a disabled offer is a refusal", []Command{quota, disabled}, reserve, "", &Refusal{}, "disabled: availability 0xa1a1a1a1 is disabled"},

		{
			"a grant is rounded up to the next hundredth",
			[]Command{quota, create, reserve},
			Release{Reservation: id, TotalStored: 1},
			"BytesReleased reservationId=" + id.String()[:4] + " bytes=10", nil, "",
		},
		{"within a grant nothing is recorded", []Command{quota, create, reserve, Release{Reservation: id, TotalStored: 1}}, Release{Reservation: id, TotalStored: 10}, "", nil, ""},
		{
			"a grant carries the increase",
			[]Command{quota, create, reserve, Release{Reservation: id, TotalStored: 1}},
			Release{Reservation: id, TotalStored: 1000},
			"BytesReleased reservationId=" + id.String()[:4] + " bytes=990", nil, "",
		},
		{"no bytes need no grant", []Command{quota, create, reserve}, Release{Reservation: id}, "", nil, ""},
		{
			"nobody stores more than was reserved",
			[]Command{quota, create, reserve},
			Release{Reservation: id, TotalStored: 1001},
			"", events.ErrQuotaExceeded, "of 1000: reservation of the sale is used up",
		},
		{"without a reservation nothing is stored", nil, Release{Reservation: id, TotalStored: 1}, "", ErrUnknownReservation, "release bytes"},

		{
			"a reservation is settled by slot and attempt",
			[]Command{quota, create, reserve},
			lose,
			"ReservationDeleted reservationId=" + id.String()[:4] + " collateralReturned=1500 collateralLost=500", nil, "",
		},
		{"a reservation is settled once", []Command{quota, create, reserve, settleIt}, settleIt, "", nil, ""},
		{"an unknown reservation is settled already", nil, settleIt, "", nil, ""},
		{
			"returned and lost are what was committed",
			[]Command{quota, create, reserve},
			Settle{Reservation: id, CollateralReturned: amount(1999)},
			"", &SettlementError{}, "1999 returned and 0 lost are not the 2000 committed",
		},
		{"a sum that overflows is no settlement", []Command{quota, create, reserve}, hugeLoss, "", &SettlementError{}, "not the 2000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, test.given...)
			out, err := Decide(s, test.when)
			if diff := cmp.Diff(test.then, tellAll(out)); diff != "" {
				t.Fatalf("events (-want +got):\n%s", diff)
			}
			checkError(t, err, test.err, test.says)
		})
	}
}

func reserveAgain(attempt uint32, size events.Bytes) Reserve {
	again := reserve
	again.Attempt, again.Ask.SlotSize = attempt, size
	return again
}

func checkError(t *testing.T, err, want error, says string) {
	t.Helper()
	if (err == nil) != (want == nil) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if err == nil {
		return
	}
	ok := errors.Is(err, want)
	switch want.(type) { //nolint:errorlint // The wanted error has only a kind.
	case *SpaceError:
		_, ok = errors.AsType[*SpaceError](err)
	case *SettlementError:
		_, ok = errors.AsType[*SettlementError](err)
	case *Refusal:
		_, ok = errors.AsType[*Refusal](err)
	}
	if !ok || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %q, want %v that says %q", err, want, says)
	}
}

func TestLimitsAreHeld(t *testing.T) {
	s := NewWithin(Limits{MaxAvailabilities: 1, MaxReservations: 1, MaxSettled: 1})
	small := reserve
	small.Ask.SlotSize = 10
	for _, c := range []Command{SetQuota{Bytes: 5000}, create, small} {
		s, _ = step(t, s, c)
	}
	if _, err := Decide(s, Create{ID: second, Now: standard()}); !errors.Is(err, ErrLimit) {
		t.Fatalf("a second availability: %v, want %v", err, ErrLimit)
	}
	other := small
	other.Slot = fill[events.SlotID](0xc2)
	_, err := Decide(s, other)
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Criterion != Full {
		t.Fatalf("a second reservation: %v, want a refusal for %s", err, Full)
	}
	// Only the slot that was settled last is remembered.
	for _, c := range []Command{
		Settle{Slot: slot, Attempt: 1, CollateralReturned: amount(20)},
		other,
		Settle{Slot: other.Slot, Attempt: 1, CollateralReturned: amount(20)},
	} {
		s, _ = step(t, s, c)
	}
	if diff := cmp.Diff([]Settled{{other.Slot, 1}}, s.Snapshot().Settled); diff != "" {
		t.Fatalf("settled (-want +got):\n%s", diff)
	}
}

func TestUpdateIsWiderWhenMoreSlotsMatch(t *testing.T) {
	offer := standard()
	offer.Until = start.Add(10 * time.Hour)
	tests := []struct {
		name  string
		when  Update
		wider bool
	}{
		{"bigger", Update{Size: ptr(events.Bytes(1001))}, true},
		{"smaller", Update{Size: ptr(events.Bytes(999))}, false},
		{"longer", Update{Duration: ptr(2 * time.Hour)}, true},
		{"shorter", Update{Duration: ptr(time.Minute)}, false},
		{"cheaper", Update{MinPrice: ptr(amount(4))}, true},
		{"dearer", Update{MinPrice: ptr(amount(6))}, false},
		{"more collateral", Update{Collateral: ptr(amount(2001))}, true},
		{"less collateral", Update{Collateral: ptr(amount(1999))}, false},
		{"later", Update{Until: ptr(start.Add(11 * time.Hour))}, true},
		{"earlier", Update{Until: ptr(start.Add(9 * time.Hour))}, false},
		{"without end", Update{Until: &time.Time{}}, true},
		{"disabled", Update{Enabled: ptr(false)}, false},
		{"bigger but disabled", Update{Size: ptr(events.Bytes(1001)), Enabled: ptr(false)}, false},
		{"bigger but dearer", Update{Size: ptr(events.Bytes(1001)), MinPrice: ptr(amount(6))}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, SetQuota{Bytes: 5000}, Create{ID: first, Now: offer})
			test.when.ID = first
			s, out := step(t, s, test.when)
			if len(out) != 1 {
				t.Fatalf("events %v, want one", out)
			}
			if _, wakes := Wakes(s, out[0]); slices.Contains(wakes, Price) != test.wider {
				t.Fatalf("wakes the queue for %v, wider: %v", wakes, test.wider)
			}
			if test.when.Enabled != nil {
				s, out = step(t, s, Update{ID: first, Enabled: ptr(true)})
				if _, wakes := Wakes(s, out[0]); !slices.Contains(wakes, Disabled) {
					t.Fatal("enabling does not wake the queue")
				}
			}
		})
	}
}

func TestReservationIDFollowsFromSlotAndAttempt(t *testing.T) {
	if ReservationIDOf(slot, 1) != id || ReservationIDOf(slot, 2) == id ||
		ReservationIDOf(fill[events.SlotID](0xc2), 1) == id {
		t.Fatal("the id is not that of slot and attempt alone")
	}
	const want = "0x6d684471af4323d386f24b9fbb539400ab9bd16ce85a31784acd9072f43de544"
	if got := id.String(); got != want {
		t.Fatalf("id %s, want %s: recorded ids would no longer be found", got, want)
	}
}

func TestAccessorsTellWhereEveryByteIs(t *testing.T) {
	s := given(t, quota, create, reserve, Release{Reservation: id, TotalStored: 300})
	want := Book{Quota: 1100, Unallocated: 90, Reserved: 700, Stored: 300, Overhead: 10}
	if diff := cmp.Diff(want, s.Book()); diff != "" {
		t.Fatalf("places (-want +got):\n%s", diff)
	}
	if s.Book() != s.Snapshot().Book {
		t.Fatal("the book is not that of the snapshot")
	}
	a, ok := s.Availability(first)
	if !ok || a.Used != 1000 || a.Reservations != 1 || !a.Remaining().IsZero() {
		t.Fatalf("availability %+v", a)
	}
	if _, ok := s.Availability(second); ok {
		t.Fatal("an availability that nobody created")
	}
	r, ok := s.Reservation(id)
	if !ok || r.Stored != 300 || r.Slot != slot || r.SlotIndex != 7 {
		t.Fatalf("reservation %+v", r)
	}
	if _, ok := s.Reservation(ReservationIDOf(slot, 2)); ok {
		t.Fatal("a reservation that nobody made")
	}
	for range s.Availabilities() {
		break // A sequence may be left early.
	}
}
