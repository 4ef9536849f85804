package pages

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerting"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	view "github.com/hostnode/hostnode/projections/alert"
)

// overview answers in one look: does it sell, does it prove, what is wrong, what is to be done, what does it earn.
func overview(ctx context.Context, q *page.Asked) (v page.View, err error) {
	s, err := api.ShowStatus.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = s.AsOf
	recorded, err := alerting.List.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.Add(page.Join{Each: []page.Block{well(s), attention(q, s, recorded.Open)}})
	earned, err := income(ctx, q)
	if err != nil {
		return v, err
	}
	v.Add(page.Join{Each: []page.Block{earned, spaceOf(s.Ledger)}})
	due, err := dutiesAhead(ctx, q)
	if err != nil {
		return v, err
	}
	v.Add(due)
	v.Add(pausing(q, s.Queue))
	return v, nil
}

var queueOrders = map[string]page.Order{
	"pause": {Done: "No more slots are taken; sales go on.", Do: func(ctx context.Context, q *page.Asked) error {
		_, err := api.PauseQueue.Ask(ctx, q.Backend, api.Send(api.Why{Reason: q.Get("reason")}))
		return err
	}},
	"resume": {Done: "Slots are taken again.", Do: func(ctx context.Context, q *page.Asked) error {
		_, err := api.ResumeQueue.Ask(ctx, q.Backend, api.Send(api.Why{}))
		return err
	}},
}

// paused is the code of the obstacle that a person has put there: it is no fault.
const paused = "paused"

// well has a line for each thing that must be well.
func well(s api.Status) page.Facts {
	f := page.Facts{Head: page.Head{ID: "well", Title: "How it stands"}}
	switch {
	case s.SellingUnknown:
		f.Fact("Selling", page.Stands(page.Warn, "unknown: "+s.Reason))
	case s.Selling:
		f.Fact("Selling", page.Stands(page.Good, s.Reason))
	case s.Purpose != "":
		f.Fact("Selling", page.Stands(page.Good, "not needed; the host is for "+s.Purpose))
	case len(s.Readiness) > 0 && s.Readiness[0].Code == paused:
		f.Fact("Selling", page.Stands(page.Warn, s.Reason))
	default:
		f.Fact("Selling", page.Stands(page.Bad, s.Reason))
	}
	switch {
	case s.NotProving:
		f.Fact("Proving", page.Stands(page.Bad, "proofs that are due are not made or not sent"))
	case !s.AsOf.Running:
		f.Fact("Proving", page.Stands(page.Warn, "no host runs"))
	default:
		f.Fact("Proving", page.Stands(page.Good, cli.Count(s.Earnings.Sales.Hosting, "hosted slot")))
	}
	if s.AsOf.Running {
		f.Fact("Chain", chain(s.Chain))
	} else {
		f.Fact("Chain", page.Stands(page.Warn, "no host runs"))
	}
	if s.Record.Away {
		f.Fact("Record", page.Stands(page.Bad, "the event store does not answer: "+s.Record.Reason))
	} else {
		f.Fact("Record", page.Stands(page.Good, fmt.Sprintf("%d events", s.AsOf.Position)))
	}
	if d := s.Disk; d != nil {
		level := page.Good
		if d.Full {
			level = page.Bad
		}
		f.Fact("Disk", page.Stands(level, cli.Size(d.Free)+" free, of which "+cli.Size(d.Keep)+" stay free"))
	}
	if b := s.Balance; b != nil {
		f.Fact("Balance", page.Text(tokenOf(s).Amount(b.Tokens)+", "+money.Gas(b.Wei)+" for gas"))
	}
	queue := cli.Count(s.Queue.Length, "slot") + " waiting"
	if s.Queue.Paused {
		f.Fact("Queue", page.Cell{Text: "paused; " + queue, Level: page.Warn})
	} else {
		f.Fact("Queue", page.Text(queue))
	}
	return f
}

func tokenOf(s api.Status) money.Token {
	if s.Token == nil {
		return money.Token{}
	}
	return *s.Token
}

func chain(c api.Chain) page.Cell {
	head := fmt.Sprintf("block %s, chain time %s", money.Grouped(fmt.Sprint(c.Head)), cli.Clock(c.HeadTime))
	switch {
	case c.Away:
		return page.Stands(page.Bad, "no end point answers: "+c.AwayReason)
	case c.Stalled:
		return page.Stands(page.Bad, "no new block for too long; "+head)
	case !c.Live:
		return page.Stands(page.Warn, "catching up; "+head)
	case c.FirstEndpoint != "":
		return page.Stands(page.Warn, fmt.Sprintf("%s; the first end point, %s, is not used: %s", head, c.FirstEndpoint,
			c.WhyNotFirst))
	}
	return page.Stands(page.Good, head)
}

// maxAlerts is how many alerts the overview shows.
const maxAlerts = 10

// attention is what needs a person: first the open alerts, and then what no alert says, the worst first.
func attention(q *page.Asked, s api.Status, open []view.Alert) page.Notices {
	n := page.Notices{
		Head: page.Head{ID: "attention", Title: "Needs you"}, Well: "Nothing needs you now.",
	}
	leads := page.Link{Text: "The alert", To: page.To("alerts")}
	for i, a := range alerting.Worst(open) {
		if i == maxAlerts {
			n.Each = append(n.Each, page.Notice{
				Level: page.Warn, Text: cli.Plural(len(open)-maxAlerts, "more alert is open", "more alerts are open"),
				More: []page.Link{{Text: "All alerts", To: leads.To}},
			})
			break
		}
		notice := alerting.Notice(q, a)
		if !a.Acknowledged.IsZero() {
			notice.Do = fmt.Sprintf("%s knows of it: %s", a.By, a.Note)
		}
		notice.More = append(notice.More, leads)
		n.Each = append(n.Each, notice)
	}
	rest := untold(q, s, open)
	slices.SortStableFunc(rest, func(a, b page.Notice) int { return rank(a.Level) - rank(b.Level) })
	n.Each = append(n.Each, rest...)
	return n
}

// untold is what needs a person, and is not told by an alert that is open.
func untold(q *page.Asked, s api.Status, open []view.Alert) (all []page.Notice) {
	told := func(kind health.AlertKind, subject string) bool {
		return slices.ContainsFunc(open, func(a view.Alert) bool {
			return a.Kind == string(kind) && (subject == "" || a.Subject == subject)
		})
	}
	for i, o := range slices.Concat(s.Readiness, s.Warnings) {
		level := page.Warn
		if i < len(s.Readiness) && s.Purpose == "" && o.Code != paused && (o.Selling == "no" || o.Proving == "no") {
			level = page.Bad
		}
		if !told(health.KindOf(o.Code), "") {
			all = append(all, page.Notice{Level: level, Text: q.Token.Told(o.Reason), Do: q.Token.Told(o.Hint)})
		}
	}
	for _, d := range s.Down {
		if !told(health.AlertPartDown, d.Part) {
			all = append(all, page.Notice{
				Level: page.Bad, Text: d.Part + " does not run: " + d.Reason, Since: d.Since,
			})
		}
	}
	for _, t := range s.Trouble {
		if !told(health.AlertQuarantined, t.Slot) && !told(health.AlertDamaged, t.Slot) &&
			!told(health.AlertNotProving, t.Slot) {
			all = append(all, troubleOf(t))
		}
	}
	for _, w := range s.Quarantined {
		if !told(health.AlertWorkQuarantined, w.Work) {
			all = append(all, page.Notice{
				Level: page.Bad, Text: "left alone after failures: " + w.Work + ": " + w.Reason, Since: w.Since,
				Do: "Look at the reason, then: hostnode quarantine retry " + w.Work,
			})
		}
	}
	return all
}

func rank(l page.Level) int {
	return slices.Index([]page.Level{page.Bad, page.Warn, page.Good, page.Plain}, l)
}

// troubleOf tells of a sale that cannot go on.
func troubleOf(t api.Trouble) page.Notice {
	n := page.Notice{
		Level: page.Warn, Since: t.Since,
		Text: fmt.Sprintf("slot %s waits for %s", cli.Short(t.Slot), t.Waiting),
		More: []page.Link{{Text: "The slot", To: page.To("sales", t.Slot)}},
	}
	switch {
	case t.Quarantined != "":
		n.Level, n.Text = page.Bad, fmt.Sprintf("slot %s is left alone: %s", cli.Short(t.Slot), t.Quarantined)
	case t.Damaged != "":
		n.Level, n.Since = page.Bad, t.DamagedSince
		n.Text = fmt.Sprintf("slot %s has damaged data, which is fetched again: %s", cli.Short(t.Slot), t.Damaged)
	case t.Error != "":
		n.Text += ": " + t.Error
	}
	return n
}

// income is the money of this month: settled, and expected.
func income(ctx context.Context, q *page.Asked) (page.Facts, error) {
	f := page.Facts{Head: page.Head{ID: "income", Title: "Money of this month"}}
	days, err := api.ListDays.Ask(ctx, q.Backend, api.PageQuestion{Then: then(q), Paging: api.Paging{Limit: 31}})
	if err != nil {
		return f, err
	}
	from, to := month(q.Now)
	var rewards, lost, fees, expected events.Amount
	for _, d := range days.Days {
		if !d.Day.Before(from) && d.Day.Before(to) {
			rewards, lost = rewards.AddSaturating(d.Rewards), lost.AddSaturating(d.CollateralLost)
			fees = fees.AddSaturating(d.FeesWei)
		}
	}
	for _, d := range days.Expected {
		if !d.Day.Before(from) && d.Day.Before(to) {
			expected = expected.AddSaturating(d.AtMost)
		}
	}
	f.Fact("Earned", page.Leads(q.Token.Amount(rewards.String()), page.To("earnings")))
	if !lost.IsZero() {
		f.Fact("Collateral lost", page.Stands(page.Bad, q.Token.Amount(lost.String())))
	}
	f.Fact("Expected until its end", page.Text("at most "+q.Token.Amount(expected.String())))
	f.Fact("Gas", page.Text(money.Gas(fees.String())))
	return f, nil
}

// spaceOf is how the quota is used.
func spaceOf(l projections.Ledger) page.Parts {
	p := page.Parts{
		Head:  page.Head{ID: "space", Title: "Space"},
		Whole: fmt.Sprintf("%s quota, %s of it not on offer", cli.Size(l.Quota), cli.Size(l.Unallocated)),
	}
	if l.Quota == 0 {
		p.Whole = "No quota is known yet."
	}
	share := func(colour int, name string, bytes events.Bytes) {
		if bytes > 0 && l.Quota > 0 {
			p.Parts = append(p.Parts, page.Part{
				Name: name, Says: cli.Size(bytes), Share: float64(bytes) / float64(l.Quota),
				To: page.To("availabilities"), Colour: colour,
			})
		}
	}
	share(0, "stored", l.Stored)
	share(1, "reserved", l.Reserved)
	share(2, "free on offer", l.Free)
	share(3, "overhead", l.Overhead)
	share(4, "sectors and pieces", l.Sectors+l.Pieces)
	return p
}

// dutiesAhead are the proofs and windows that come next.
func dutiesAhead(ctx context.Context, q *page.Asked) (page.Table, error) {
	t := page.Table{
		Head:  page.Head{ID: "duties", Title: "Duties of the next periods"},
		Heads: []string{"What", "Of", "State", "Until"}, Empty: "Nothing is owed.",
	}
	d, err := api.ListDuties.Ask(ctx, q.Backend, api.DutiesQuestion{
		Then: then(q), Paging: api.Paging{Limit: 10}, Ahead: 1,
	})
	if err != nil {
		return t, err
	}
	for _, each := range d.Duties {
		t.Row(duty(each)...)
	}
	if d.Next != "" {
		t.Next = &page.Link{Text: "All duties", To: page.To("proofs")}
	}
	if d.WindowsUnknown != "" {
		t.Note = "The windows of sectors are not known: " + d.WindowsUnknown
	}
	return t, nil
}

// duty are the cells of a duty.
func duty(d api.Duty) []page.Cell {
	what := map[api.DutyKind]string{
		api.DutyProof: "proof", api.DutyPossible: "perhaps a proof", api.DutyWindow: "window of a sector",
	}[d.Kind]
	if d.Kind == api.DutyPossible {
		what = fmt.Sprintf("perhaps a proof (%.0f %%)", d.Chance*100)
	}
	of := page.ID(d.Subject, page.To("sales", d.Subject))
	if d.Kind == api.DutyWindow {
		of = page.Leads("sector "+d.Subject, page.To("sectors", d.Subject))
	}
	state := page.Text(d.State)
	if d.State == api.DutyLate {
		state = page.Stands(page.Bad, "late")
	}
	until := page.Chain(d.Deadline)
	until.Under = "period " + fmt.Sprint(d.Period) + slack(d.SlackSeconds)
	return []page.Cell{page.Text(what), of, state, until}
}

func slack(seconds int64) string {
	if seconds < 0 {
		return ", late"
	}
	return ", " + cli.Span(uint64(seconds)) + " left"
}
