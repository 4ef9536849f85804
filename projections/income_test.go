package projections

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// anyIncome writes something that earns, costs or is owed, and lets time pass, backwards too: the chain's time does
// that in a reorganisation.
func anyIncome(t *rapid.T, w *history.Writer) {
	hours := rapid.IntRange(-30, 60).Draw(t, "hours")
	w.Now = w.Now.Add(time.Duration(hours) * time.Hour)
	at := events.TimeToMessage(w.Now)
	switch rapid.IntRange(0, 6).Draw(t, "step") {
	case 0: // Of the same key: it is in another block now.
		w.Receipt(fmt.Sprintf("fill:%d", rapid.IntRange(1, 2).Draw(t, "key")))
	case 1:
		w.Append(events.ValidatorStream(w.Me), "", &messages.ProofMarked{
			At: at, RequestId: events.Hash{1}.String(), SlotId: events.Hash{2}.String(), Period: 7,
			Reward: "400", Receipt: events.ReceiptToMessage(w.Receipt("mark:7")),
		})
	default:
		w.AnySaleSteps(t, w.Request(rapid.Uint64Range(1, 2).Draw(t, "request")))
	}
}

// TestDaysAvailabilitiesAndPeriodsMakeUpTheWhole compares the sums with the totals, however little is kept apart.
func TestDaysAvailabilitiesAndPeriodsMakeUpTheWhole(t *testing.T) {
	history.Check(t, func(t *rapid.T) *history.Writer {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Start()
		w.Offer(4)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			anyIncome(t, w)
		}
		few := rapid.IntRange(0, 2).Draw(t, "kept") // 0: the defaults.
		v := NewViews(Scope{Limits: Limits{Days: few, Periods: few, Availabilities: few}})
		for r, err := range store.ReadAll(ctx, 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			v.Apply(r)
			sumsUp(t, v)
		}
		if diff := alike(v, reloaded(t, v)); diff != "" {
			t.Fatalf("(-saved +loaded):\n%s", diff)
		}
		return w
	}, sale.Table())
}

// sumsUp compares what is kept by day, by availability and by period with the earnings of the host.
func sumsUp(t history.T, v *Views) {
	t.Helper()
	if v.hosts[me.String()] == nil {
		return
	}
	of, want := v.Income(me), v.Earnings().Earnings[0]
	days, offers, periods := of.Earlier, of.Others, v.Periods(me).Earlier
	for _, day := range of.Days {
		days = days.Plus(day.Income)
	}
	for _, one := range of.Availabilities {
		offers = offers.Plus(one.Income)
	}
	for _, one := range v.Periods(me).Periods {
		periods = periods.Plus(one.Proofs)
	}
	got := Earnings{
		Host: want.Host, Rewards: days.Rewards.String(), RewardsElsewhere: days.RewardsElsewhere.String(),
		RepairRewards: days.RepairRewards.String(), ValidatorRewards: days.ValidatorRewards.String(),
		CollateralLost: days.CollateralLost.String(), CollateralReturned: days.CollateralReturned.String(),
		CollateralSlashed: days.CollateralSlashed.String(), Net: days.Net(), FeesWei: days.FeesWei.String(),
		SaleFeesWei: days.SaleFeesWei.String(), Transactions: days.Transactions, Proofs: periods, Sales: want.Sales,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the sum of the days and periods (-in all +sum):\n%s", diff)
	}
	ofSales := days // What no availability brings.
	ofSales.ValidatorRewards, ofSales.FeesWei, ofSales.Transactions = events.Amount{}, events.Amount{}, 0
	if offers != ofSales {
		t.Fatalf("the sum of the availabilities is %+v, not %+v", offers, ofSales)
	}
	l := v.scope.Limits
	if len(of.Days) > l.Days || len(of.Availabilities) > l.Availabilities || len(v.Periods(me).Periods) > l.Periods {
		t.Fatalf("%d days, %d availabilities, %d periods", len(of.Days), len(of.Availabilities),
			len(v.Periods(me).Periods))
	}
}

func TestIncomeIsThatOfTheDayOfTheChain(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Now = time.Date(2025, 6, 16, 23, 0, 0, 0, time.UTC)
	w.RepairReward = events.NewAmount(13_107)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.Now = w.Now.Add(2 * time.Hour)
	w.Finish(slot, 100_000)
	var told []string
	for _, d := range built(t, store).Income(me).Days {
		told = append(told, fmt.Sprintf("%s: %s, %s for repairs, %s lost, %s net",
			d.Day.Format(time.DateOnly), d.Rewards, d.RepairRewards, d.CollateralLost, d.Net()))
	}
	want := []string{
		"2025-06-16: 0, 13107 for repairs, 0 lost, 13107 net", "2025-06-17: 1000000, 0 for repairs, 31072 lost, 968928 net",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestAFillThatWasTakenBackIsTakenFromItsDay(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(10)
	w.RepairReward = events.NewAmount(13_107)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.Now = w.Now.Add(24 * time.Hour)
	w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestNew))
	for _, d := range built(t, store).Income(me).Days {
		if !d.RepairRewards.IsZero() {
			t.Errorf("on %s there is still %s for a repair", d.Day.Format(time.DateOnly), d.RepairRewards)
		}
	}
}

func TestASlotThatIsOursIsExpectedToPay(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(10)
	slot := w.Begin(w.Request(1))
	expect := func(when, want string) {
		t.Helper()
		for _, one := range built(t, store).SalesOf(me) {
			if one.String() != want {
				t.Errorf("%s: %s is expected, want %s", when, one, want)
			}
		}
	}
	expect("before the fill", "0")
	w.Fill(slot)
	s := w.Sales[slot]
	price, _ := s.Request.Ask.PricePerSecond()
	expect("hosted", price.MulSaturating(uint64(s.EndsAt.Sub(s.FilledAt)/time.Second)).String())
	w.MustSale(slot, w.Facts(slot, true, events.SlotCancelled, events.RequestCancelled))
	expect("cancelled", price.MulSaturating(uint64(s.ExpiresAt.Sub(s.FilledAt)/time.Second)).String())
	w.Finish(w.Begin(w.Request(2)), 0)
}

func TestSeriesKeepTheNewestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s series[Proofs]
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		sums := map[uint64]uint64{}
		for _, n := range rapid.SliceOf(rapid.Uint64Range(0, 12)).Draw(t, "numbers") {
			s.at(n, limit).Due++
			sums[n]++
		}
		if len(s.Numbers) != len(s.Rows) || len(s.Numbers) > limit {
			t.Fatalf("%d numbers, %d rows, at most %d", len(s.Numbers), len(s.Rows), limit)
		}
		kept := uint64(0)
		for i, n := range s.Numbers {
			if s.Rows[i].Due != sums[n] || n < s.From || i > 0 && s.Numbers[i-1] >= n {
				t.Fatalf("%d of number %d, want %d: %+v", s.Rows[i].Due, n, sums[n], s)
			}
			kept++
			delete(sums, n)
		}
		rest := uint64(0)
		for n, sum := range sums {
			if rest += sum; n >= s.From {
				t.Fatalf("number %d is neither kept nor older: %+v", n, s)
			}
		}
		if s.Earlier.Due != rest {
			t.Fatalf("%d earlier, want %d", s.Earlier.Due, rest)
		}
	})
}
