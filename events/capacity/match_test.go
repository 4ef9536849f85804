package capacity

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestMatchNamesTheCriterionThatCameClosest(t *testing.T) {
	base := standard()
	base.Until = start.Add(time.Hour)
	change := func(f func(*Offer)) Offer {
		o := base
		f(&o)
		return o
	}
	small := change(func(o *Offer) { o.Size = 999 })
	tests := []struct {
		name   string
		offers []Offer
		ask    func(*Ask)
		want   Criterion
		says   string
	}{
		{
			"too big",
			[]Offer{small},
			nil, Size,
			"the slot has 1000 bytes, availability 0x01010101 has 999 of 999 free",
		},
		{
			"too long",
			[]Offer{small, base},
			func(a *Ask) { a.Duration += time.Second }, Duration,
			"the request lasts 1h0m1s, availability 0x02020202 takes at most 1h0m0s",
		},
		{
			"too cheap",
			[]Offer{base, small},
			func(a *Ask) { a.PricePerBytePerSecond = amount(4) }, Price,
			"the request pays 4 base units per byte and second, availability 0x01010101 wants at least 5 base units per byte " +
				"and second",
		},
		{
			"too much at stake",
			[]Offer{base},
			func(a *Ask) { a.CollateralPerByte = amount(3) }, Collateral,
			"the slot needs 3000 base units of collateral, availability 0x01010101 has 2000 base units left: total 2000 base " +
				"units, 0 base units committed, 0 base units lost",
		},
		{
			"more at stake than amounts can tell",
			[]Offer{base},
			func(a *Ask) { a.CollateralPerByte = events.MaxAmount() }, Collateral,
			"the slot needs " + events.MaxAmount().String() + " base units of collateral for each of 1000 bytes, more than any token has",
		},
		{
			"too late",
			[]Offer{base, base},
			func(a *Ask) { a.RequestEnd = start.Add(time.Hour + time.Second) }, Until,
			"the request ends 2023-11-14T23:13:21Z, availability 0x01010101 ends 2023-11-14T23:13:20Z",
		},
		{
			"no room for trees",
			[]Offer{base},
			func(a *Ask) { a.Overhead = 9001 }, Overhead,
			"trees and manifest need 9001 bytes of unallocated quota, 9000 are left: quota 10000 bytes = " +
				"9000 unallocated + 1000 free + 0 reserved + 0 stored + 0 overhead",
		},
		{
			"no room for trees in a quota below the ledger's",
			[]Offer{base},
			func(a *Ask) { a.Quota, a.Overhead = 1009, 10 }, Overhead,
			"trees and manifest need 10 bytes of unallocated quota, 9 are left: quota 10000 bytes = " +
				"9000 unallocated + 1000 free + 0 reserved + 0 stored + 0 overhead",
		},
		{
			"more is allocated than the quota",
			[]Offer{base, base},
			func(a *Ask) { a.Quota, a.Overhead = 1999, 0 }, Overhead,
			"the quota is 1999 bytes, availabilities and sales have 2000",
		},
		{
			"too much at stake in all",
			[]Offer{base},
			func(a *Ask) { a.MaxAtRisk = ptr(amount(1999)) }, AtRisk,
			"the slot needs 2000 base units of collateral, all sales have 0 base units at stake, the most is 1999 base units",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, offers(test.offers...)...)
			ask := standardAsk()
			if test.ask != nil {
				test.ask(&ask)
			}
			_, refusal := Match(s, ask)
			if refusal == nil || refusal.Criterion != test.want || refusal.Reason != test.says {
				t.Fatalf("refusal %v,\nwant %s: %s", refusal, test.want, test.says)
			}
		})
	}
}

func offers(list ...Offer) []Command {
	commands := []Command{SetQuota{At: start, Bytes: 10_000}}
	for i, o := range list {
		commands = append(commands, Create{At: start, ID: fill[events.AvailabilityID](byte(i + 1)), Now: o})
	}
	return commands
}

func TestMatchTakesTheBestFit(t *testing.T) {
	offer := func(size events.Bytes, price uint64) Offer {
		o := standard()
		o.Size, o.MinPrice = size, amount(price)
		return o
	}
	tests := []struct {
		name   string
		offers []Offer
		want   byte
	}{
		{"least space left over", []Offer{offer(3000, 5), offer(1001, 1), offer(2000, 5)}, 2},
		{"then the highest price", []Offer{offer(1000, 1), offer(1000, 5), offer(1000, 4)}, 2},
		{"then the lowest id", []Offer{offer(1000, 5), offer(1000, 5)}, 1},
		{"but only of those that match", []Offer{offer(1000, 6), offer(999, 5), offer(4000, 5)}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, refusal := Match(given(t, offers(test.offers...)...), standardAsk())
			if refusal != nil || a.ID[0] != test.want {
				t.Fatalf("matched %s, %v, want 0x%02x", a.ID, refusal, test.want)
			}
		})
	}
}

func TestRemainingCollateralIsComputed(t *testing.T) {
	s := given(t, quota, create, reserve, lose)
	// Raising the total by 500 replaces what was lost; what is committed is
	// not forgotten.
	s, _ = step(t, s, reserveAgain(2, 500))
	s, _ = step(t, s, Update{ID: first, Collateral: ptr(amount(2500))})
	a, _ := s.Availability(first)
	if got := a.Remaining(); got != amount(1000) {
		t.Fatalf("remaining %s, want 2500 - 1000 committed - 500 lost", got)
	}
}

func TestTheCollateralOfAllSalesIsBounded(t *testing.T) {
	s := given(t, SetQuota{At: start, Bytes: 5000}, create, reserve,
		Create{At: start, ID: fill[events.AvailabilityID](9), Now: standard()})
	taken := s.AtRisk()
	ask := standardAsk()
	needed, _ := ask.collateral()
	for name, test := range map[string]struct {
		most events.Amount
		fits bool
	}{
		"just enough":      {taken.Add(needed), true},
		"one less":         {taken.Add(needed).Sub(amount(1)), false},
		"less than before": {amount(1), false},
		"nothing":          {amount(0), false},
	} {
		t.Run(name, func(t *testing.T) {
			ask.MaxAtRisk = &test.most
			_, refusal := Match(s, ask)
			if fits := refusal == nil; fits != test.fits || !fits && refusal.Criterion != AtRisk {
				t.Fatalf("%v, fits: %t, want %t", refusal, fits, test.fits)
			}
		})
	}
	free := ask
	free.CollateralPerByte, free.MaxAtRisk = amount(0), ptr(amount(0))
	if _, refusal := Match(s, free); refusal != nil {
		t.Errorf("a slot that puts nothing at risk is refused: %v", refusal)
	}
	s, _ = step(t, s, settleIt)
	if !s.AtRisk().IsZero() {
		t.Fatalf("%s at stake after the only sale was settled", s.AtRisk())
	}
}
