package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/projections"
)

// This file shows what the host owes and has proven: what was missed first, then what is to come, then all periods.

// Sizes of the page.
const (
	mapSlots     = 25
	mapPeriods   = 40
	missedShown  = 20
	proofsLooked = api.MaxPage // for the map and the durations
)

func proofs(ctx context.Context, q *page.Asked) (v page.View, err error) {
	periods, err := api.ListPeriods.Ask(ctx, q.Backend, api.PageQuestion{
		Then: then(q), Paging: api.Paging{Limit: proofsShown},
	})
	if err != nil {
		return v, err
	}
	v.AsOf = periods.AsOf
	if outcome := q.Get("outcome"); outcome != "" {
		t, err := proofTable(ctx, q, projections.ProofOutcome(outcome), q.Paging())
		v.Add(t)
		return v, err
	}
	missed, err := proofTable(ctx, q, projections.ProofMissed, api.Paging{Limit: missedShown})
	if err != nil {
		return v, err
	}
	if missed.Title, missed.Empty = "Missed proofs", "No proof was missed."; missed.Next != nil {
		missed.Next = &page.Link{Text: "All missed proofs", To: page.To("proofs") + "?outcome=missed"}
	}
	newest, err := api.ListProofs.Ask(ctx, q.Backend, api.ProofsQuestion{
		Then: then(q), Paging: api.Paging{Limit: proofsLooked},
	})
	if err != nil {
		return v, err
	}
	due, err := calendar(ctx, q)
	v.Add(missed, due, heat(periods), slotMap(q, newest.Proofs), durations(newest.Proofs, periods.PeriodSeconds))
	return v, err
}

// proofTable is a page of the proofs with an outcome.
func proofTable(
	ctx context.Context, q *page.Asked, outcome projections.ProofOutcome, paging api.Paging,
) (page.Table, error) {
	t := page.Table{
		Head:  page.Head{ID: "list", Title: "Proofs"},
		Heads: []string{"Slot", "Outcome", "Period", "Until (chain)", "Made in", "Reason"}, Empty: "There is none.",
	}
	some, err := api.ListProofs.Ask(ctx, q.Backend, api.ProofsQuestion{Then: then(q), Paging: paging, Outcome: outcome})
	for _, p := range some.Proofs {
		took := "–"
		if p.TookMilliseconds > 0 {
			took = seconds(p.TookMilliseconds)
		}
		why := page.Text(q.Token.Told(p.Reason))
		if p.Slashed != "" && p.Slashed != "0" {
			why.Under = "it cost " + q.Token.Amount(p.Slashed)
		}
		t.Row(page.ID(p.Slot, page.To("sales", p.Slot)), page.Stands(marks[p.Outcome].Level, string(p.Outcome)),
			page.Number(p.Period), page.Chain(p.Deadline), page.Number(took), why)
	}
	t.Next = q.More(some.Next)
	if q.Get("outcome") != "" {
		t.Filter = []page.Filter{{Text: "calendar", To: page.To("proofs")}}
		for _, m := range []projections.ProofOutcome{
			projections.ProofMissed, projections.ProofOpen, projections.ProofSubmitted, projections.ProofExcused,
			projections.ProofLapsed,
		} {
			t.Filter = append(t.Filter, page.Filter{
				Text: string(m), To: q.With("outcome", string(m), "cursor", ""), Chosen: m == outcome,
			})
		}
	}
	return t, err
}

// calendar is what is owed and by when.
func calendar(ctx context.Context, q *page.Asked) (page.Table, error) {
	t := page.Table{
		Head:  page.Head{ID: "duties", Title: "What is owed", Note: "The soonest deadline first, in chain time."},
		Heads: []string{"What", "Of", "State", "Until"}, Empty: "Nothing is owed, nor expected in the next periods.",
	}
	d, err := api.ListDuties.Ask(ctx, q.Backend, api.DutiesQuestion{Then: then(q), Paging: q.Paging(), Ahead: 2})
	for _, each := range d.Duties {
		t.Row(duty(each)...)
	}
	if t.Next = q.More(d.Next); d.WindowsUnknown != "" {
		t.Note += " The windows of sectors are not known: " + d.WindowsUnknown
	}
	return t, err
}

// heat is one field for each period, as bad as the worst proof in it.
func heat(all api.Periods) page.Strip {
	strip := page.Strip{Head: page.Head{ID: "periods", Title: "All slots, period by period"}, Legend: legend()}
	row := page.StripRow{Name: "by period"}
	for _, p := range slices.Backward(all.Periods) {
		outcome := projections.ProofSubmitted
		switch {
		case p.Missed > 0:
			outcome = projections.ProofMissed
		case p.Open > 0:
			outcome = projections.ProofOpen
		case p.Lapsed > 0:
			outcome = projections.ProofLapsed
		case p.Submitted == 0:
			outcome = projections.ProofExcused
		}
		m := marks[outcome]
		m.Says = fmt.Sprintf("period %d, from %s: %d due, %d submitted, %d missed, %d open, %d excused, %d lapsed",
			p.Period, cli.Clock(p.Opens), p.Due, p.Submitted, p.Missed, p.Open, p.Excused, p.Lapsed)
		row.Marks = append(row.Marks, m)
	}
	if len(row.Marks) == 0 {
		strip.Note, strip.Legend = "No proof was demanded yet.", nil
		return strip
	}
	strip.Rows = []page.StripRow{row}
	strip.Note = fmt.Sprintf("The newest %s of %s each, the oldest first; a field is as bad as the worst proof in it.",
		cli.Count(len(row.Marks), "period"), cli.Span(all.PeriodSeconds))
	if e := all.Earlier; e.Due > 0 {
		strip.Note += fmt.Sprintf(" Before them %s proofs were due, and %d missed.",
			money.Grouped(fmt.Sprint(e.Due)), e.Missed)
	}
	return strip
}

// slotMap has a line for each slot, those that missed a proof first, and a field for each of the newest periods.
func slotMap(q *page.Asked, newest []api.SlotProof) page.Strip {
	strip := page.Strip{Head: page.Head{ID: "map", Title: "Slots"}}
	if len(newest) == 0 {
		return strip
	}
	first := max(newest[0].Period-min(newest[0].Period, mapPeriods-1), newest[len(newest)-1].Period)
	rows, missed := map[string]*page.StripRow{}, map[string]int{}
	var order []string
	for _, p := range slices.Backward(newest) {
		if p.Period < first {
			continue
		}
		r := rows[p.Slot]
		if r == nil {
			r = &page.StripRow{Name: cli.Short(p.Slot), To: page.To("sales", p.Slot)}
			rows[p.Slot], order = r, append(order, p.Slot)
		}
		for at := first + uint64(len(r.Marks)); at < p.Period; at++ {
			r.Marks = append(r.Marks, page.Mark{Sign: "·", Says: fmt.Sprintf("period %d: nothing was owed", at)})
		}
		if p.Outcome == projections.ProofMissed {
			missed[p.Slot]++
		}
		if at := int(p.Period - first); at < len(r.Marks) { //nolint:gosec // It is at most mapPeriods.
			r.Marks[at] = markOf(q, p.ProofPeriod) // A later attempt at the same period.
			continue
		}
		r.Marks = append(r.Marks, markOf(q, p.ProofPeriod))
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(missed[b]-missed[a], cmp.Compare(a, b)) })
	for _, slot := range order[:min(len(order), mapSlots)] {
		strip.Rows = append(strip.Rows, *rows[slot])
	}
	strip.Note = "By slot and period, the newest " + cli.Count(len(newest), "proof") + "; slots that missed one first."
	if more := len(order) - mapSlots; more > 0 {
		strip.Note += fmt.Sprintf(" %s not shown.", cli.Plural(more, "slot is", "slots are"))
	}
	return strip
}

// durations are how long the newest proofs took to make, against the period.
func durations(newest []api.SlotProof, period uint64) page.Bars {
	b := page.Bars{Head: page.Head{ID: "durations", Title: "How long proofs took"}, Unit: "s"}
	var all []uint64
	for _, p := range newest {
		if p.TookMilliseconds == 0 || len(all) == proofsShown {
			continue
		}
		all = append(all, p.TookMilliseconds)
		b.Bars = append(b.Bars, page.Bar{
			Name:  fmt.Sprintf("slot %s, period %d", cli.Short(p.Slot), p.Period),
			Value: float64(p.TookMilliseconds) / 1000, Says: seconds(p.TookMilliseconds),
		})
	}
	if len(all) == 0 {
		return b
	}
	slices.Reverse(b.Bars)
	slices.Sort(all)
	most := all[len(all)-1]
	b.Note = fmt.Sprintf("Of the newest %d, the median took %s and the longest %s", len(all), seconds(all[len(all)/2]),
		seconds(most))
	if period > 0 {
		b.Note += fmt.Sprintf(", %.0f %% of a period of %s", float64(most)/float64(period)/10, cli.Span(period))
	}
	b.Note += "."
	return b
}
