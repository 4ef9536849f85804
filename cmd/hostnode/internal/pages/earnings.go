package pages

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/projections"
)

// This file shows what was earned, and may be. The same lists are tables and CSV.

// barsShown is how many days the chart has, of those that are settled and of those that are expected.
const barsShown = 60

// byWhat are the ways in which earnings are listed.
var byWhat = []string{"day", "slot", "availability"}

func earnings(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := api.ShowEarnings.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	f := page.Facts{Head: page.Head{ID: "all", Title: "In all"}}
	s := all.Settled
	f.Fact("Net", page.Text(q.Token.Amount(s.Net)))
	amount(&f, q, "Rewards", s.Rewards, page.Plain)
	amount(&f, q, "paid to another address", s.RewardsElsewhere, page.Plain)
	amount(&f, q, "for repairs", s.RepairRewards, page.Plain)
	amount(&f, q, "for marking missing proofs", s.ValidatorRewards, page.Plain)
	amount(&f, q, "Collateral lost", s.CollateralLost, page.Bad)
	f.Fact("Gas", page.Text(fmt.Sprintf("%s in %s", money.Gas(s.FeesWei), cli.Count(s.Transactions, "transaction"))))
	f.Fact("Still at most", page.Cell{
		Text:  q.Token.Amount(all.ExpectedAtMost.String()),
		Under: "for the slots that are hosted now, if none misses a proof",
	})
	chart, err := days(ctx, q)
	if err != nil {
		return v, err
	}
	by := listedBy(q)
	rows, next, err := listed(ctx, q, by, q.Paging())
	if err != nil {
		return v, err
	}
	t := page.Table{
		Head: page.Head{ID: "list", Title: "By " + by}, Empty: "Nothing was earned yet.", Next: q.More(next),
	}
	if of := q.Get("availability"); of != "" && by == "slot" {
		t.Title += " of availability " + cli.Short(of)
	}
	for _, one := range byWhat {
		t.Filter = append(t.Filter, page.Filter{
			Text: "by " + one, To: q.With("by", one, "cursor", ""), Chosen: one == by,
		})
	}
	for _, r := range rows {
		t.Row(r.cells(q)...)
	}
	t.Heads = []string{strings.ToUpper(by[:1]) + by[1:], "Rewards", "Collateral lost", "Gas", "Net", "Expected at most"}
	v.Add(page.Join{Each: []page.Block{f, chart}}, t, page.Words{
		Head:  page.Head{ID: "export"},
		Links: []page.Link{{Text: "Save this list as CSV", To: page.To("earnings.csv") + "?" + query(q, "by", by)}},
	})
	return v, nil
}

// query is the query of this page's address with some values changed.
func query(q *page.Asked, pairs ...string) string {
	_, of, _ := strings.Cut(q.With(append(pairs, "cursor", "")...), "?")
	return of
}

func listedBy(q *page.Asked) string {
	if by := q.Get("by"); slices.Contains(byWhat, by) {
		return by
	}
	return byWhat[0]
}

// days is the chart: what was earned, and what the days to come bring at most.
func days(ctx context.Context, q *page.Asked) (page.Bars, error) {
	b := page.Bars{
		Head: page.Head{ID: "days", Title: "Day by day", Note: "In grey what is expected at most, on the last day."},
		Unit: q.Token.Symbol,
	}
	some, err := api.ListDays.Ask(ctx, q.Backend, api.PageQuestion{Then: then(q), Paging: api.Paging{Limit: barsShown}})
	for _, d := range slices.Backward(some.Days) {
		b.Bars = append(b.Bars, page.Bar{Name: dayOf(d.Day), Value: value(d.Net), Says: q.Token.Amount(d.Net)})
	}
	for _, d := range some.Expected[:min(len(some.Expected), barsShown)] {
		at := d.AtMost.String()
		b.Bars = append(b.Bars, page.Bar{
			Name: dayOf(d.Day), Value: value(at), Says: "at most " + q.Token.Amount(at), Faint: true,
		})
	}
	return b, err
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// value is an amount as near as a float comes; bars are only compared with each other.
func value(base string) float64 {
	n, _ := new(big.Float).SetString(base)
	if n == nil {
		return 0
	}
	f, _ := n.Float64()
	return f
}

// earned is a line of a list of earnings. Amounts are base units.
type earned struct {
	of, to, note                    string
	rewards, lost, feesWei, net, at string
}

func (e earned) cells(q *page.Asked) []page.Cell {
	of := page.Cell{Text: e.of, To: e.to, Under: e.note}
	if strings.HasPrefix(e.of, "0x") {
		of.Text, of.Code = cli.Short(e.of), true
	}
	lost := page.Number(q.Token.Amount(e.lost))
	if e.lost != "0" {
		lost.Level = page.Bad
	}
	return []page.Cell{
		of, page.Number(q.Token.Amount(e.rewards)), lost, page.Number(money.Gas(e.feesWei)),
		page.Number(q.Token.Amount(e.net)), page.Number(q.Token.Amount(e.at)),
	}
}

func incomeOf(of string, i projections.Income, net string) earned {
	rewards := i.Rewards.AddSaturating(i.RepairRewards).AddSaturating(i.ValidatorRewards)
	return earned{
		of: of, rewards: rewards.String(), lost: i.CollateralLost.String(), feesWei: i.FeesWei.String(), net: net,
	}
}

// listed is a page of the earnings by something.
func listed(ctx context.Context, q *page.Asked, by string, paging api.Paging) (rows []earned, next string, err error) {
	of := api.PageQuestion{Then: then(q), Paging: paging}
	switch by {
	case "slot":
		some, err := api.ListSlotEarnings.Ask(ctx, q.Backend, api.SlotsQuestion{
			Then: of.Then, Paging: paging, Availability: q.Get("availability"),
		})
		for _, s := range some.Slots {
			lost := s.Collateral.Lost
			rows = append(rows, earned{
				s.Slot, page.To("sales", s.Slot), fmt.Sprintf("%s, began %s", s.Phase, cli.Clock(s.StartedAt)),
				s.Reward, lost, s.FeesWei, s.Net, s.ExpectedAtMost.String(),
			})
		}
		return rows, some.Next, err
	case "availability":
		some, err := api.ListAvailabilityEarnings.Ask(ctx, q.Backend, of)
		for _, a := range some.Availabilities {
			row := incomeOf(a.Availability, a.Income, a.Net)
			row.to, row.note = page.To("availabilities", a.Availability), cli.Count(a.Hosted, "slot")+" hosted"
			if row.of == "" {
				row.of, row.to = "without one", ""
			}
			row.at = a.ExpectedAtMost.String()
			rows = append(rows, row)
		}
		return rows, some.Next, err
	}
	some, err := api.ListDays.Ask(ctx, q.Backend, of)
	if paging.Cursor == "" {
		for _, d := range slices.Backward(some.Expected) {
			rows = append(rows, earned{
				of: dayOf(d.Day), note: cli.Count(d.Slots, "slot") + " end", rewards: "0", lost: "0", feesWei: "0",
				net: "0", at: d.AtMost.String(),
			})
		}
	}
	for _, d := range some.Days {
		row := incomeOf(dayOf(d.Day), d.Income, d.Net)
		row.at = "0"
		// The day that runs may have both.
		if last := len(rows) - 1; last >= 0 && rows[last].of == row.of {
			row.note, row.at = rows[last].note, rows[last].at
			rows = rows[:last]
		}
		rows = append(rows, row)
	}
	return rows, some.Next, err
}

// maxExported bounds the lines of a file.
const maxExported = 200_000

// exported is a list of earnings as CSV.
func exported(ctx context.Context, q *page.Asked) (f page.File, err error) {
	by, unit := listedBy(q), "base units"
	if q.Token.Known() {
		unit = q.Token.Symbol
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	write := func(cells ...string) error {
		for i := range cells {
			cells[i] = inert(cells[i])
		}
		return w.Write(cells)
	}
	err = write(by, "note", "rewards ("+unit+")", "collateral lost ("+unit+")", "gas (coins)", "net ("+unit+")",
		"expected at most ("+unit+")")
	paging := api.Paging{Limit: api.MaxPage}
	for n := 0; err == nil && n < maxExported; n += api.MaxPage {
		var rows []earned
		if rows, paging.Cursor, err = listed(ctx, q, by, paging); err != nil {
			return f, err
		}
		for _, r := range rows {
			if err == nil {
				err = write(r.of, r.note, exact(r.rewards, q.Token), exact(r.lost, q.Token), exact(r.feesWei, coins),
					exact(r.net, q.Token), exact(r.at, q.Token))
			}
		}
		if paging.Cursor == "" {
			break
		}
	}
	w.Flush()
	return page.File{Name: "earnings-by-" + by + ".csv", Kind: "text/csv; charset=utf-8", Content: out.Bytes()}, err
}

var coins = money.Token{Symbol: "coins", Decimals: money.CoinDecimals}

// exact is an amount of base units in tokens, with all of its digits.
func exact(base string, t money.Token) string {
	n, ok := new(big.Int).SetString(base, 10)
	if !ok || !t.Known() {
		return base
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Decimals)), nil)
	text := new(big.Rat).SetFrac(n, unit).FloatString(int(t.Decimals))
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// plainNumber is what a spreadsheet takes for a number and nothing else.
var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// inert is a cell that no spreadsheet takes for a formula.
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) && !plainNumber.MatchString(cell) {
		return "'" + cell
	}
	return cell
}
