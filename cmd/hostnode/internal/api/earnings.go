package api

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// What is earned: in all, by day, by slot and by availability. What is settled is in the record; what is expected is
// what the slots that are hosted now are still paid at most, if each is hosted to its end and no proof is missed. The
// two are never added up. Amounts are token base units; fees are wei.

// Earnings is what the host earned, in all.
type Earnings struct {
	AsOf    AsOf                 `json:"asOf"`
	Settled projections.Earnings `json:"settled"`
	// ExpectedAtMost is for the slots that are hosted now.
	ExpectedAtMost events.Amount `json:"expectedAtMost"`
}

// EarningsByDay are the days of the chain's time, in UTC, on which something was earned or lost, the newest first.
type EarningsByDay struct {
	AsOf AsOf        `json:"asOf"`
	Days []DayEarned `json:"days"`
	// Earlier is the income of the days that are no longer kept apart.
	Earlier projections.Income `json:"earlier"`
	// Expected are the days on which hosted slots end, the soonest first, MaxPage at most.
	Expected []DayExpected `json:"expected"`
	Paged
}

// DayEarned is what one day brought.
type DayEarned struct {
	projections.DayIncome
	Net string `json:"net"`
}

// DayExpected is what the slots that end on a day are paid at most.
type DayExpected struct {
	Day    time.Time     `json:"day"`
	Slots  int           `json:"slots"`
	AtMost events.Amount `json:"atMost"`
}

// EarningsBySlot are the attempts at slots, that which began last first.
type EarningsBySlot struct {
	AsOf  AsOf         `json:"asOf"`
	Slots []SlotEarned `json:"slots"`
	Paged
}

// SlotEarned is what one attempt at a slot brought.
type SlotEarned struct {
	Slot         string    `json:"slotId"`
	Request      string    `json:"requestId"`
	Attempt      uint32    `json:"attempt"`
	Availability string    `json:"availabilityId,omitempty"`
	Phase        string    `json:"phase"`
	Over         bool      `json:"over"`
	StartedAt    time.Time `json:"startedAt"`
	EndsAt       time.Time `json:"endsAt,omitzero"`

	Reward       string                 `json:"reward"`
	RepairReward string                 `json:"repairReward,omitempty"`
	Collateral   projections.Collateral `json:"collateral"`
	Net          string                 `json:"net"`
	FeesWei      string                 `json:"feesWei"`
	// ExpectedAtMost is paid until its end; 0: it is paid, or never will be.
	ExpectedAtMost events.Amount `json:"expectedAtMost"`
}

// EarningsByAvailability are in order of their ids.
type EarningsByAvailability struct {
	AsOf           AsOf                 `json:"asOf"`
	Availabilities []AvailabilityEarned `json:"availabilities"`
	// Others is the income of availabilities that are not kept apart.
	Others projections.Income `json:"others"`
	Paged
}

// AvailabilityEarned is what the sales of one availability brought.
type AvailabilityEarned struct {
	projections.AvailabilityIncome
	Net            string        `json:"net"`
	Hosted         int           `json:"hosted"` // slots that are expected to pay
	ExpectedAtMost events.Amount `json:"expectedAtMost"`
}

// SlotsQuestion selects attempts at slots: a page of those of one availability, or of all.
type SlotsQuestion struct {
	Then
	Paging
	// Availability is the beginning of an id; empty: all.
	Availability string `query:"availability"`
}

// Earnings is what the host earned, in all.
func (r *reader) Earnings(context.Context) (out Earnings, err error) {
	r.views.Read(func(v *projections.Views) {
		out.AsOf = r.asOfPosition(v.AsOf())
		out.Settled = mine(r, v.Earnings().Earnings, func(e projections.Earnings) string { return e.Host })
		for _, expected := range v.SalesOf(r.Account) {
			out.ExpectedAtMost = out.ExpectedAtMost.AddSaturating(expected)
		}
	})
	out.Settled.Host = r.Account.String()
	return out, nil
}

// EarningsByDay is what the host earned, day by day.
func (r *reader) EarningsByDay(_ context.Context, q Paging) (out EarningsByDay, err error) {
	var days []projections.DayIncome
	ends := map[time.Time]DayExpected{}
	r.views.Read(func(v *projections.Views) {
		all := v.Income(r.Account)
		out.AsOf, out.Earlier, days = r.asOfPosition(v.AsOf()), all.Earlier, all.Days
		for s, expected := range v.SalesOf(r.Account) {
			if day := s.EndsAt.UTC().Truncate(24 * time.Hour); !expected.IsZero() {
				ends[day] = DayExpected{day, ends[day].Slots + 1, ends[day].AtMost.AddSaturating(expected)}
			}
		}
	})
	slices.Reverse(days)
	days, out.Next, err = page(days, func(d projections.DayIncome) string {
		return newestFirst(uint64(d.Day.Unix())) //nolint:gosec // Days are counted from 1970.
	}, q)
	out.Days, out.Expected = make([]DayEarned, 0, len(days)), make([]DayExpected, 0, len(ends))
	for _, d := range days {
		out.Days = append(out.Days, DayEarned{d, d.Net()})
	}
	for _, d := range ends {
		out.Expected = append(out.Expected, d)
	}
	slices.SortFunc(out.Expected, func(a, b DayExpected) int { return a.Day.Compare(b.Day) })
	out.Expected = out.Expected[:min(len(out.Expected), MaxPage)]
	return out, err
}

// EarningsBySlot is what each attempt at a slot brought.
func (r *reader) EarningsBySlot(_ context.Context, q SlotsQuestion) (out EarningsBySlot, err error) {
	out.AsOf = r.asOf()
	rows, next, err := r.attempted(func(s *projections.Sale) bool {
		return strings.HasPrefix(s.Availability, q.Availability)
	}, q.Paging)
	out.Next = next
	out.Slots = make([]SlotEarned, 0, len(rows))
	for _, s := range rows {
		out.Slots = append(out.Slots, SlotEarned{
			Slot: s.Slot, Request: s.Request, Attempt: s.Attempt, Availability: s.Availability, Phase: s.Phase,
			Over: s.Over, StartedAt: s.StartedAt, EndsAt: s.EndsAt, Reward: s.Reward, RepairReward: s.RepairReward,
			Collateral: s.Collateral, Net: s.NetEarning, FeesWei: s.FeesWei, ExpectedAtMost: s.expected,
		})
	}
	return out, err
}

// EarningsByAvailability is what the sales of each availability brought, also of those that were removed.
func (r *reader) EarningsByAvailability(_ context.Context, q Paging) (out EarningsByAvailability, err error) {
	var all projections.IncomeOf
	hosted := map[string]AvailabilityEarned{}
	r.views.Read(func(v *projections.Views) {
		out.AsOf, all = r.asOfPosition(v.AsOf()), v.Income(r.Account)
		for s, expected := range v.SalesOf(r.Account) {
			if one := hosted[s.Availability]; !expected.IsZero() {
				one.Hosted++
				one.ExpectedAtMost = one.ExpectedAtMost.AddSaturating(expected)
				hosted[s.Availability] = one
			}
		}
	})
	out.Others = all.Others
	for id := range hosted { // It may not have brought anything yet.
		byID := func(a projections.AvailabilityIncome, id string) int { return strings.Compare(a.Availability, id) }
		if i, known := slices.BinarySearchFunc(all.Availabilities, id, byID); !known {
			none := projections.AvailabilityIncome{Availability: id}
			all.Availabilities = slices.Insert(all.Availabilities, i, none)
		}
	}
	rows, next, err := page(all.Availabilities, func(a projections.AvailabilityIncome) string {
		return "of " + a.Availability // No key is empty.
	}, q)
	out.Next, out.Availabilities = next, make([]AvailabilityEarned, 0, len(rows))
	for _, a := range rows {
		one := hosted[a.Availability]
		one.AvailabilityIncome, one.Net = a, a.Net()
		out.Availabilities = append(out.Availabilities, one)
	}
	return out, err
}

// asOfPosition is asOf for views that do not change meanwhile.
func (r *reader) asOfPosition(p events.Position) AsOf {
	return AsOf{Position: p, Time: r.now().UTC(), Running: r.running, Recorded: r.recorded}
}

// beginsWith reports whether the hex of an id begins with a text, with or without 0x.
func beginsWith(id []byte, text string) bool {
	return text == "" || strings.HasPrefix(hex.EncodeToString(id), strings.TrimPrefix(text, "0x"))
}
