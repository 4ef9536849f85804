package projections

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// Income is what was earned, lost and paid: of a day, for an availability, or in all. Amounts are token base units,
// except for the fees, which are wei. What they mean is said at Earnings.
type Income struct {
	Rewards            events.Amount `json:"rewards"`
	RewardsElsewhere   events.Amount `json:"rewardsElsewhere"`
	RepairRewards      events.Amount `json:"repairRewards"`
	ValidatorRewards   events.Amount `json:"validatorRewards"`
	CollateralLost     events.Amount `json:"collateralLost"`
	CollateralReturned events.Amount `json:"collateralReturned"`
	CollateralSlashed  events.Amount `json:"collateralSlashed"`
	FeesWei            events.Amount `json:"feesWei"`
	SaleFeesWei        events.Amount `json:"saleFeesWei"`
	Transactions       uint64        `json:"transactions"`
}

// Plus adds two incomes up.
func (i Income) Plus(other Income) Income {
	return Income{
		Rewards:            i.Rewards.AddSaturating(other.Rewards),
		RewardsElsewhere:   i.RewardsElsewhere.AddSaturating(other.RewardsElsewhere),
		RepairRewards:      i.RepairRewards.AddSaturating(other.RepairRewards),
		ValidatorRewards:   i.ValidatorRewards.AddSaturating(other.ValidatorRewards),
		CollateralLost:     i.CollateralLost.AddSaturating(other.CollateralLost),
		CollateralReturned: i.CollateralReturned.AddSaturating(other.CollateralReturned),
		CollateralSlashed:  i.CollateralSlashed.AddSaturating(other.CollateralSlashed),
		FeesWei:            i.FeesWei.AddSaturating(other.FeesWei),
		SaleFeesWei:        i.SaleFeesWei.AddSaturating(other.SaleFeesWei),
		Transactions:       i.Transactions + other.Transactions,
	}
}

// Net is all rewards minus the collateral lost; it may be negative.
func (i Income) Net() string {
	return netOf(i.CollateralLost, i.Rewards, i.RepairRewards, i.ValidatorRewards)
}

// incomes are the same amounts three times: in all, by day, and by availability. They are booked together, so the days
// make up the whole, and so do the availabilities as far as sales are concerned.
type incomes struct {
	Days series[Income] // by the day of the chain's time, counted from 1970 in UTC
	// Of has the first availabilities that had a sale, up to a limit; Others is the sum of the others. Sales
	// without one are under the zero id.
	Of     map[events.AvailabilityID]Income
	Others Income
}

const secondsOfADay = 24 * 60 * 60

// book changes the income of a point in time. What was booked is taken back with the same point in time.
func (h *host) book(at time.Time, change func(*Income)) {
	change(&h.earnings.Income)
	change(h.incomes.Days.at(uint64(max(0, at.Unix()))/secondsOfADay, h.limits.Days)) //nolint:gosec // Not negative.
}

// bookSale is book for what a sale earns or costs, which is that of its availability, too.
func (h *host) bookSale(at time.Time, of events.AvailabilityID, change func(*Income)) {
	h.book(at, change)
	one, known := h.incomes.Of[of]
	if !known && len(h.incomes.Of) >= h.limits.Availabilities {
		change(&h.incomes.Others)
		return
	}
	change(&one)
	h.incomes.Of[of] = one
}

// bookEvent books what an event of a sale brings, and fee, which is what its transaction cost.
func (h *host) bookEvent(s *openSale, e sale.Event, fee, repaired events.Amount) {
	of, when := s.State.Availability, at(e)
	if s.RepairReward != repaired { // The fill brought it, or was taken back.
		h.bookSale(s.RepairedAt, of, func(i *Income) { i.RepairRewards = i.RepairRewards.SubFloor(repaired) })
		h.bookSale(when, of, func(i *Income) { i.RepairRewards = i.RepairRewards.AddSaturating(s.RepairReward) })
		s.RepairedAt = when
	}
	if !fee.IsZero() {
		h.bookSale(when, of, func(i *Income) { i.SaleFeesWei = i.SaleFeesWei.AddSaturating(fee) })
	}
	switch e := e.(type) {
	case *messages.PayoutReceived:
		h.bookSale(when, of, func(i *Income) {
			i.Rewards = i.Rewards.AddSaturating(amount(e.GetReward()))
			if e.RewardRecipient != nil {
				i.RewardsElsewhere = i.RewardsElsewhere.AddSaturating(amount(e.GetReward()))
			}
		})
	case sale.Reading: // Also CollateralChecked, from before there was CollateralSlashed.
		h.bookSale(when, of, func(i *Income) {
			i.CollateralSlashed = i.CollateralSlashed.AddSaturating(amount(e.GetSlashed()))
		})
	case *messages.SaleSettled:
		h.bookSale(when, of, func(i *Income) {
			i.CollateralReturned = i.CollateralReturned.AddSaturating(amount(e.GetCollateralReturned()))
			i.CollateralLost = i.CollateralLost.AddSaturating(amount(e.GetCollateralLost()))
		})
	}
}

// bookTx books a mined transaction. If a reorganisation moves it to another block, its cost there counts.
func (h *host) bookTx(before, now Transaction) {
	if !before.FeeWei.IsZero() {
		h.book(before.MinedAt, func(i *Income) {
			i.FeesWei = i.FeesWei.SubFloor(before.FeeWei)
			i.Transactions--
		})
	}
	h.book(now.MinedAt, func(i *Income) {
		i.FeesWei = i.FeesWei.AddSaturating(now.FeeWei)
		i.Transactions++
	})
}

// IncomeOf is the income of one host.
type IncomeOf struct {
	// Days are those with an income, the oldest first. Earlier is the income of the days that are no longer kept apart
	// (Limits.Days).
	Days    []DayIncome `json:"days"`
	Earlier Income      `json:"earlier"`
	// Availabilities are in order of their ids, also those that are no longer on offer; the empty id is that of sales
	// without one. Others is the income for those over the limit (Limits.Availabilities). They have what sales brought
	// and cost, so neither the rewards of a validator nor the fees of all transactions.
	Availabilities []AvailabilityIncome `json:"availabilities"`
	Others         Income               `json:"others"`
}

// DayIncome is the income of one day of the chain's time, in UTC.
type DayIncome struct {
	Day time.Time `json:"day"` // when it began
	Income
}

// AvailabilityIncome is the income that an availability brought.
type AvailabilityIncome struct {
	Availability string `json:"availabilityId"`
	Income
}

// Income is the income of a host by day and by availability.
func (v *Views) Income(of events.Address) IncomeOf {
	out := IncomeOf{Days: []DayIncome{}, Availabilities: []AvailabilityIncome{}}
	h := v.hosts[of.String()]
	if h == nil {
		return out
	}
	all := h.incomes
	out.Earlier, out.Others = all.Days.Earlier, all.Others
	for i, day := range all.Days.Numbers {
		if row := all.Days.Rows[i]; row != (Income{}) {
			out.Days = append(out.Days, DayIncome{events.Unix(day * secondsOfADay), row})
		}
	}
	for id, one := range all.Of {
		row := AvailabilityIncome{Income: one}
		if id != (events.AvailabilityID{}) {
			row.Availability = id.String()
		}
		out.Availabilities = append(out.Availabilities, row)
	}
	slices.SortFunc(out.Availabilities, func(a, b AvailabilityIncome) int {
		return cmp.Compare(a.Availability, b.Availability)
	})
	return out
}

// series are sums by number, such as that of a day; of the newest numbers only. What is older is in Earlier, so nothing
// is lost from the total.
type series[T interface{ Plus(other T) T }] struct {
	Numbers []uint64 // ascending
	Rows    []T      // of each number
	Earlier T
	From    uint64 // all numbers below are in Earlier
}

// at is the sum of a number, until the next call.
func (s *series[T]) at(number uint64, limit int) *T {
	if number < s.From {
		return &s.Earlier
	}
	i, known := slices.BinarySearch(s.Numbers, number)
	if !known {
		var none T
		s.Numbers, s.Rows = slices.Insert(s.Numbers, i, number), slices.Insert(s.Rows, i, none)
	}
	if len(s.Numbers) > limit {
		s.Earlier, s.From = s.Earlier.Plus(s.Rows[0]), s.Numbers[0]+1
		s.Numbers, s.Rows = s.Numbers[1:], s.Rows[1:]
		if i--; i < 0 {
			return &s.Earlier
		}
	}
	return &s.Rows[i]
}

// SalesOf are the attempts of one host at slots, the open ones first, then that which was settled last, each with what
// it is still paid at most, in token base units. They are shared, so they must not be changed, but they may be kept.
func (v *Views) SalesOf(of events.Address) iter.Seq2[*Sale, events.Amount] {
	return func(yield func(*Sale, events.Amount) bool) {
		h := v.hosts[of.String()]
		if h == nil {
			return
		}
		for _, s := range h.sales.sorted() {
			if row := s.shownAs(h.address); !yield(&row.Sale, row.expected) {
				return
			}
		}
		for i := len(h.sales.Closed) - 1; i >= 0; i-- {
			if !yield(&h.sales.Closed[i], events.Amount{}) {
				return
			}
		}
	}
}

// expected is what a slot that is ours is still paid at most.
func expected(s sale.State) events.Amount {
	switch {
	case !s.OnChain || s.Paid || s.Forfeited:
		return events.Amount{}
	case s.Phase == sale.Cancelled: // The time until the request was void is paid.
		return priceOf(s, s.ExpiresAt)
	case s.Hosting(), s.Phase == sale.Payout:
		return priceOf(s, s.EndsAt)
	}
	return events.Amount{}
}

// sorted are the open sales in order of the bytes of their slots' ids. The order is kept until it changes.
func (all *sales) sorted() []*openSale {
	if known := all.inOrder.Load(); known != nil {
		return *known
	}
	list := make([]*openSale, 0, len(all.Open))
	for _, slot := range sortedSlots(maps.Keys(all.Open)) {
		list = append(list, all.Open[slot])
	}
	all.inOrder.Store(&list)
	return list
}

// shownAs is the row of a sale, which is kept until the next event of the sale.
func (s *openSale) shownAs(address string) *shownSale {
	if known := s.shown.Load(); known != nil {
		return known
	}
	row := &shownSale{s.row(address), expected(s.State)}
	s.shown.Store(row)
	return row
}

// shownSale is the row of a sale with what it is still paid at most.
type shownSale struct {
	Sale
	expected events.Amount
}
