package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// This file shows sales: a list of them, and the story of each.

func sales(ctx context.Context, q *page.Asked) (v page.View, err error) {
	question := api.SalesQuestion{
		Then: then(q), Paging: q.Paging(), Settled: api.MaxSettled, State: q.Get("state"), Request: q.Get("request"),
	}
	some, err := api.ListSales.Ask(ctx, q.Backend, question)
	if err != nil {
		return v, err
	}
	t := page.Table{
		Head: page.Head{ID: "sales", Note: newestFirst},
		Heads: []string{
			"Slot", "State", "Since (chain)", "Waits for", "Proofs", "Collateral", "Earned", "Expected at most",
		},
		Empty: "There is no such sale.", Next: q.More(some.Next),
	}
	if question.Request != "" {
		t.Title = "Slots of request " + cli.Short(question.Request)
	}
	states, err := statesOf(ctx, q, events.CategorySale)
	if err != nil {
		return v, err
	}
	t.Filter = page.Filters(q, "state", states...)
	for _, s := range some.Sales {
		t.Row(saleRow(q, s, some.Expected[s.Slot])...)
	}
	v.AsOf = some.AsOf
	v.Add(t)
	if some.Hidden > 0 {
		v.Add(page.Words{Head: page.Head{ID: "hidden"}, Each: []string{
			cli.Count(some.Hidden, "older settled sale") + " are not listed; they are in the record.",
		}})
	}
	return v, nil
}

// statesOf are the states in which a machine has rows.
func statesOf(ctx context.Context, q *page.Asked, machine string) ([]string, error) {
	all, err := api.ListMachines.Ask(ctx, q.Backend, then(q))
	for _, m := range all.Machines {
		if m.Machine == machine {
			return slices.Sorted(maps.Keys(m.States)), err
		}
	}
	return nil, err
}

func saleRow(q *page.Asked, s projections.Sale, expected events.Amount) []page.Cell {
	slot := page.ID(s.Slot, page.To("sales", s.Slot))
	slot.Under = fmt.Sprintf("slot %d of request %s", s.SlotIndex, cli.Short(s.Request))
	if s.Member != "" {
		slot.Under += ", on " + string(s.Member)
	}
	waits := page.Text(q.Token.Told(s.WaitsFor))
	waits.Under = deadlineOf(s)
	if s.Over {
		waits = page.Text(cmp.Or(q.Token.Told(s.Reason), "nothing"))
	}
	atMost := "–"
	if !expected.IsZero() {
		atMost = q.Token.Amount(expected.String())
	}
	return []page.Cell{
		slot, stateOf(s), page.Chain(s.Since), waits, proofsOf(s.Proofs),
		page.Number(q.Token.Amount(s.Collateral.Committed)), page.Number(q.Token.Amount(s.NetEarning)),
		page.Number(atMost),
	}
}

// deadlineOf says until when what a sale waits for must have come.
func deadlineOf(s projections.Sale) string {
	switch {
	case s.Over:
		return ""
	case s.FilledAt.IsZero() && !s.ExpiresAt.IsZero():
		return "the request expires " + cli.Clock(s.ExpiresAt)
	case !s.EndsAt.IsZero() && !strings.Contains(s.WaitsFor, cli.Clock(s.EndsAt)):
		return "it ends " + cli.Clock(s.EndsAt)
	}
	return ""
}

func stateOf(s projections.Sale) page.Cell {
	c := page.Text(s.Phase)
	switch {
	case s.Damaged != nil:
		c = page.Stands(page.Bad, s.Phase+", data damaged")
	case s.Proofs.Missed > 0 || s.Over && s.Reason != "":
		c.Level = page.Warn
	}
	if s.Attempt > 1 {
		c.Under = fmt.Sprintf("attempt %d", s.Attempt)
	}
	return c
}

func proofsOf(n projections.Proofs) page.Cell {
	c := page.Text(fmt.Sprintf("%d of %d", n.Submitted, n.Due-n.Excused))
	if n.Missed > 0 {
		c = page.Stands(page.Bad, fmt.Sprintf("%s, %d missed", c.Text, n.Missed))
	}
	return c
}

// ofSale tells of one slot, sold or not.
func ofSale(ctx context.Context, q *page.Asked) (v page.View, err error) {
	story, err := api.ShowSale.Ask(ctx, q.Backend, api.OfSlot{Then: then(q), Slot: q.Path("slot")})
	if err != nil {
		return v, err
	}
	v.AsOf = story.AsOf
	if story.Offered != nil {
		v.Title = "Slot " + cli.Short(story.Offered.Slot)
		v.Add(notSold(q, story)...)
		decides, err := refusedBy(ctx, q, story.Moments)
		v.Add(decides...)
		return v, err
	}
	now := story.Attempts[len(story.Attempts)-1]
	v.Title = "Slot " + cli.Short(now.Slot)
	trouble := page.Notices{Head: page.Head{ID: "trouble"}}
	if t := story.Trouble; t != nil {
		n := troubleOf(*t)
		if n.More = nil; t.Quarantined != "" {
			n.Do = "The log has the cause. It is tried again by itself, and at once after a restart."
			n.Forms = retries(ctx, q, now.Slot)
		}
		trouble.Each = append(trouble.Each, n)
		v.Add(trouble)
	}
	v.Add(page.Join{Each: []page.Block{factsOf(q, now), moneyOf(q, now, story.PaysAtMost)}})
	if now.Over && now.Reason != "" {
		decides, err := refusedBy(ctx, q, story.Moments)
		if err != nil {
			return v, err
		}
		v.Add(decides...)
	}
	strip, err := periodsOf(ctx, q, now.Slot)
	if err != nil {
		return v, err
	}
	v.Add(strip)
	if !now.Over && story.AsOf.Running && then(q).At == "" {
		v.Add(dataOf(ctx, q, now)...)
	}
	line, err := storyOf(ctx, q, now, story.Moments)
	if err != nil {
		return v, err
	}
	v.Add(line)
	return v, nil
}

// notSold tells why a slot was not sold.
func notSold(q *page.Asked, s api.Story) []page.Block {
	o, last := s.Offered, s.Moments[len(s.Moments)-1]
	f := page.Facts{Head: page.Head{ID: "facts", Title: "Not sold"}}
	f.Fact("Why", page.Stands(page.Warn, q.Token.Told(last.Sentence)))
	f.Fact("Since (chain)", page.Chain(last.At))
	f.Fact("Slot", page.Cell{Text: o.Slot, Code: true})
	f.Fact("Of", page.Cell{Text: fmt.Sprintf("slot %d of request %s", o.SlotIndex, o.Request), To: sold(o.Request)})
	line := page.Timeline{Head: page.Head{ID: "story", Title: "What the queue did with it", Note: newestFirst}}
	if o.Forgotten {
		line.Note += " What it did before that is no longer in the record."
	}
	for _, m := range slices.Backward(s.Moments[max(0, len(s.Moments)-moments):]) {
		line.Moments = append(line.Moments, page.Moment{Text: told(q, m)})
	}
	return []page.Block{f, line}
}

// sold is the address of the list of a request's slots.
func sold(request string) string { return page.To("sales") + "?request=" + request }

const newestFirst = "The newest first."

func told(q *page.Asked, m projections.Moment) string {
	return cli.Clock(m.At) + " · " + m.Phase + " · " + q.Token.Told(m.Sentence)
}

func factsOf(q *page.Asked, s projections.Sale) page.Facts {
	f := page.Facts{Head: page.Head{ID: "facts", Title: "How it stands"}}
	f.Fact("State", stateOf(s))
	f.Fact("Since (chain)", page.Chain(s.Since))
	if s.Over {
		f.Fact("Ended because", page.Text(q.Token.Told(s.Reason)))
	} else {
		waits := page.Text(q.Token.Told(s.WaitsFor))
		waits.Under = deadlineOf(s)
		f.Fact("Waits for", waits)
	}
	f.Fact("Slot", page.Cell{Text: s.Slot, Code: true})
	f.Fact("Of", page.Cell{
		Text: fmt.Sprintf("slot %d of request %s", s.SlotIndex, s.Request), To: sold(s.Request),
		Under: "the slots of this request",
	})
	size := cli.Size(s.SlotSize)
	if s.Stored > 0 {
		size += ", of which " + cli.Size(s.Stored) + " are stored"
	}
	f.Fact("Size", page.Text(size))
	f.Fact("Proofs", page.Text(fmt.Sprintf("%d submitted, %d missed, %d open, %d excused, %d lapsed",
		s.Proofs.Submitted,
		s.Proofs.Missed, s.Proofs.Open, s.Proofs.Excused, s.Proofs.Lapsed)))
	if s.Availability != "" {
		f.Fact("Availability", page.ID(s.Availability, page.To("availabilities", s.Availability)))
	}
	f.Fact("Member", page.Text(string(s.Member)))
	if s.Repair {
		f.Fact("Repair", page.Text("another host had lost this slot"))
	}
	return f
}

func moneyOf(q *page.Asked, s projections.Sale, atMost string) page.Facts {
	f := page.Facts{Head: page.Head{ID: "money", Title: "Money"}}
	c := s.Collateral
	amount(&f, q, "Reward", s.Reward, page.Plain)
	f.Fact("Paid to", page.Cell{Text: s.RewardRecipient, Code: true})
	amount(&f, q, "For the repair", s.RepairReward, page.Plain)
	f.Fact("Net", page.Text(q.Token.Amount(s.NetEarning)))
	amount(&f, q, "Still at most", atMost, page.Plain)
	amount(&f, q, "Collateral set aside", c.Committed, page.Plain)
	amount(&f, q, "Collateral on chain", c.OnChain, page.Plain)
	amount(&f, q, "Collateral slashed", c.Slashed, page.Bad)
	amount(&f, q, "Collateral returned", c.Returned, page.Plain)
	amount(&f, q, "Collateral lost", c.Lost, page.Bad)
	f.Fact("Gas", page.Text(money.Gas(s.FeesWei)+" in "+cli.Count(s.Transactions, "transaction")))
	return f
}

// marks are the outcomes of proofs, as they are shown in strips.
var marks = map[projections.ProofOutcome]page.Mark{
	projections.ProofSubmitted: {Level: page.Good, Sign: "S", Says: "submitted"},
	projections.ProofMissed:    {Level: page.Bad, Sign: "M", Says: "missed"},
	projections.ProofOpen:      {Level: page.Plain, Sign: "O", Says: "open"},
	projections.ProofExcused:   {Level: page.Plain, Sign: "E", Says: "excused: nothing was owed in the end"},
	projections.ProofLapsed:    {Level: page.Warn, Sign: "L", Says: "lapsed: the sale ended before the period"},
}

// legend says what the signs of strips mean.
func legend() (all []page.Mark) {
	for _, o := range []projections.ProofOutcome{
		projections.ProofMissed, projections.ProofSubmitted, projections.ProofOpen, projections.ProofExcused,
		projections.ProofLapsed,
	} {
		all = append(all, marks[o])
	}
	return all
}

func markOf(q *page.Asked, p projections.ProofPeriod) page.Mark {
	m := marks[p.Outcome]
	m.Says = fmt.Sprintf("period %d, until %s: %s", p.Period, cli.Clock(p.Deadline), p.Outcome)
	if p.TookMilliseconds > 0 {
		m.Says += ", made in " + seconds(p.TookMilliseconds)
	}
	if p.Reason != "" {
		m.Says += ": " + q.Token.Told(p.Reason)
	}
	return m
}

func seconds(milliseconds uint64) string { return fmt.Sprintf("%.1f s", float64(milliseconds)/1000) }

// moments is how many of them a page shows, and proofsShown how many fields a strip has.
const (
	moments     = 50
	proofsShown = 150
)

// periodsOf is the strip of a slot's proofs.
func periodsOf(ctx context.Context, q *page.Asked, slot string) (page.Strip, error) {
	strip := page.Strip{Head: page.Head{ID: "proofs", Title: "Proofs"}, Legend: legend()}
	some, err := api.ListProofs.Ask(ctx, q.Backend, api.ProofsQuestion{
		Then: then(q), Paging: api.Paging{Limit: proofsShown}, Slot: slot,
	})
	if len(some.Proofs) == 0 {
		strip.Note, strip.Legend = "No proof was demanded yet.", nil
		return strip, err
	}
	row := page.StripRow{Name: "by period"}
	for _, p := range slices.Backward(some.Proofs) {
		row.Marks = append(row.Marks, markOf(q, p.ProofPeriod))
	}
	strip.Rows = append(strip.Rows, row)
	if some.Next != "" {
		strip.Note = fmt.Sprintf("The newest %d; all are in the story.", proofsShown)
	}
	return strip, err
}

// dataOf is the data of a slot: what checks have found, and a form for another one.
func dataOf(ctx context.Context, q *page.Asked, s projections.Sale) []page.Block {
	t, err := checksOf(ctx, q, func(c api.Check) bool { return c.Slot == s.Slot })
	if err != nil {
		return nil // Only a running host checks.
	}
	form := page.Form{
		Head: page.Head{ID: "check", Title: "Data", Note: "Reads all data of the slot, and says whether it is sound."},
		Do:   "check", Button: "Check the data now",
	}
	if len(t.Rows) == 0 {
		return []page.Block{form}
	}
	return []page.Block{form, t}
}

// checksOf is a table of some of the checks.
func checksOf(ctx context.Context, q *page.Asked, which func(api.Check) bool) (page.Table, error) {
	t := page.Table{
		Head:  page.Head{ID: "checks", Title: "Checks"},
		Heads: []string{"Of", "Outcome", "Asked", "Read", ""}, Empty: "Nothing was checked since the host started.",
	}
	all, err := api.ListChecks.Ask(ctx, q.Backend, api.None{})
	for _, c := range all.Checks {
		if !which(c) {
			continue
		}
		of := page.ID(c.Slot, page.To("sales", c.Slot))
		if c.Sector != 0 {
			of = page.Leads(fmt.Sprintf("sector %d", c.Sector), page.To("sectors", fmt.Sprint(c.Sector)))
		}
		state, stop := page.Text(string(c.State)), page.Cell{}
		switch {
		case !c.Over:
			stop.Form = &page.Form{
				Do: "cancel", Of: page.To("system"), Button: "Cancel", Fields: []page.Field{page.Hidden("check", c.ID)},
			}
		case c.State == "fine":
			state.Level = page.Good
		default:
			state.Level = page.Bad
		}
		state.Under = c.Reason
		t.Row(of, state, page.At(c.Asked), page.Text(cli.Size(c.Done)+" of "+cli.Size(c.Of)), stop)
	}
	return t, err
}

// storyOf is what happened to a slot, with each event as it is stored.
func storyOf(ctx context.Context, q *page.Asked, s projections.Sale, all []projections.Moment) (page.Timeline, error) {
	line := page.Timeline{Head: page.Head{
		ID: "story", Title: "What happened",
		Note: newestFirst + " In front is when it was recorded, then the chain's time.",
	}}
	if before := q.Get("before"); before != "" {
		late := func(m projections.Moment) bool { return m.Revision >= number(before) }
		all = slices.DeleteFunc(slices.Clone(all), late)
	}
	shown := all[max(0, len(all)-moments):]
	if len(shown) == 0 {
		return line, nil
	}
	host, err := events.ParseAddress(s.Host)
	if err != nil {
		return line, fmt.Errorf("the host of slot %s: %w", s.Slot, err)
	}
	slot, err := events.ParseSlotID(s.Slot)
	if err != nil {
		return line, fmt.Errorf("the id of slot %s: %w", s.Slot, err)
	}
	stored, err := api.ListEvents.Ask(ctx, q.Backend, api.EventsQuestion{
		Stream: events.SaleStream(host, slot), From: shown[0].Revision, Limit: moments,
	})
	if err != nil {
		return line, err
	}
	for _, m := range slices.Backward(shown) {
		one := page.Moment{Text: told(q, m)}
		if strings.Contains(m.Type, "Missed") || strings.Contains(m.Type, "Damaged") {
			one.Level = page.Bad
		}
		for _, e := range stored.Events {
			if e.Revision == m.Revision {
				one.At, one.Cause, one.Raw = e.Recorded, e.Cause, raw(e)
			}
		}
		line.Moments = append(line.Moments, one)
	}
	if len(shown) < len(all) {
		line.Next = &page.Link{Text: "Earlier events", To: q.With("before", fmt.Sprint(shown[0].Revision))}
	}
	return line, nil
}

// retries are the forms that try work again which is about something.
func retries(ctx context.Context, q *page.Asked, of string) (forms []page.Form) {
	all, err := api.ListQuarantine.Ask(ctx, q.Backend, api.None{})
	if err != nil {
		return nil // The reason is shown all the same.
	}
	for _, w := range all.Work {
		if strings.Contains(w.Work, of) {
			forms = append(forms, retry(w.Work))
		}
	}
	return forms
}

func retry(work string) page.Form {
	return page.Form{
		Do: "retry", Of: page.To("system"), Button: "Try it again", Fields: []page.Field{page.Hidden("work", work)},
	}
}

var saleOrders = map[string]page.Order{
	"check": {
		Done: "The check has begun; its outcome will be here.",
		Do: func(ctx context.Context, q *page.Asked) error {
			_, err := api.BeginCheck.Ask(ctx, q.Backend, api.Send(api.ToCheck{Slot: q.Path("slot")}))
			return err
		},
	},
}
