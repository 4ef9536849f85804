package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

var sameAmounts = cmpopts.EquateComparable(events.Amount{})

var pricesNow = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func asks(size events.Bytes, hours, price, collateral uint64) events.Ask {
	return events.Ask{
		SlotSize: size, Duration: time.Duration(hours) * time.Hour, PricePerBytePerSecond: events.NewAmount(price),
		CollateralPerByte: events.NewAmount(collateral),
	}
}

func TestAHintSaysWhatAnOfferMatchesAndWhatItLacks(t *testing.T) {
	n := events.NewAmount
	requests := []events.Ask{
		asks(100, 24, 10, 1), asks(100, 24, 20, 1), asks(100, 24, 30, 1), asks(100, 24, 40, 1),
		asks(300, 24, 99, 1), asks(200, 24, 99, 1), // Too large: the nearest has 200.
		asks(100, 48, 99, 1),   // Too long.
		asks(100, 24, 99, 900), // Too much collateral: 90,000.
	}
	offer := capacity.Offer{Size: 150, Duration: 24 * time.Hour, MinPrice: n(30), Collateral: n(1000)}
	h, matches, err := tried(offer, requests, pricesNow)
	if err != nil {
		t.Fatal(err)
	}
	want := Hint{
		Matches: 2,
		Refused: []Unmatched{
			{capacity.Price, 2, n(20)},
			{capacity.Size, 2, n(200)},
			{capacity.Collateral, 1, n(90_000)},
			{capacity.Duration, 1, n(48 * 3600)},
		},
		Prices: []PriceStep{{n(40), 1}, {n(30), 2}, {n(20), 3}, {n(10), 4}},
	}
	if diff := cmp.Diff(want, h, sameAmounts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, false, true, true, false, false, false, false}, matches); diff != "" {
		t.Error(diff)
	}
	offer.Until = pricesNow.Add(time.Hour)
	if h, _, err = tried(offer, requests[:3], pricesNow); err != nil || h.Matches != 0 || len(h.Prices) != 0 {
		t.Errorf("an offer that ends before each request: %+v, %v", h, err)
	}
	if _, _, err = tried(capacity.Offer{}, requests, pricesNow); err == nil {
		t.Error("nothing is on offer, and it is tried")
	}
}

func TestTheSpreadOfValues(t *testing.T) {
	n := events.NewAmount
	var eleven []events.Amount
	for i := range uint64(11) {
		eleven = append(eleven, n(10-i))
	}
	for _, row := range []struct {
		of   []events.Amount
		want Spread
	}{
		{nil, Spread{}},
		{[]events.Amount{n(7)}, Spread{n(7), n(7), n(7), n(7), n(7)}},
		{eleven, Spread{n(0), n(1), n(5), n(9), n(10)}},
	} {
		if diff := cmp.Diff(row.want, spreadOf(row.of), sameAmounts); diff != "" {
			t.Error(diff)
		}
	}
}

func TestALowerPriceNeverMatchesFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Uint64Range(1, 6)
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) events.Ask {
			return asks(events.Bytes(small.Draw(t, "size")), small.Draw(t, "hours"), small.Draw(t, "price"),
				small.Draw(t, "collateral"))
		}), 1, 20).Draw(t, "requests")
		offer := capacity.Offer{
			Size: events.Bytes(small.Draw(t, "size")), Duration: time.Duration(small.Draw(t, "hours")) * time.Hour,
			MinPrice: events.NewAmount(small.Draw(t, "min")), Collateral: events.NewAmount(small.Draw(t, "most")),
		}
		dear, dearMatches, err := tried(offer, requests, pricesNow)
		if err != nil {
			t.Fatal(err)
		}
		total := dear.Matches
		for _, r := range dear.Refused {
			total += r.Requests
		}
		if total != len(requests) {
			t.Fatalf("%d requests are told of, of %d", total, len(requests))
		}
		for _, step := range dear.Prices { // What is hinted is so.
			offer.MinPrice = step.MinPrice
			if h, _, err := tried(offer, requests, pricesNow); err != nil || h.Matches != step.Matches {
				t.Fatalf("at %s it matches %d (%v), and the hint says %d", step.MinPrice, h.Matches, err, step.Matches)
			}
		}
		offer.MinPrice = events.NewAmount(1)
		_, cheapMatches, err := tried(offer, requests, pricesNow)
		for i := range requests {
			if err != nil || dearMatches[i] && !cheapMatches[i] {
				t.Fatalf("%+v is matched at a higher price only (%v)", requests[i], err)
			}
		}
	})
}
