package pages

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

func queue(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := api.ShowQueue.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	v.Add(page.Join{Each: []page.Block{queueFacts(q, all), whyNot(q)}})
	if slot := q.Get("slot"); slot != "" {
		v.Add(reason(ctx, q, slot))
	}
	v.Add(pausing(q, all.Queue))
	waiting, err := waitingSlots(ctx, q)
	if err != nil {
		return v, err
	}
	v.Add(waiting)
	v.Add(refusals(q, "refused", "Refused",
		"Requests that did not enter the queue, by the first criterion that they failed.", all.Refusals))
	v.Add(refusals(q, "letgo", "Queued, and not sold", "Slots that left the queue without a sale.", all.LetGo))
	return v, nil
}

func queueFacts(q *page.Asked, all api.Queue) page.Facts {
	f := page.Facts{Head: page.Head{ID: "queue", Title: "How it stands"}}
	switch {
	case all.Paused && all.ByOperator:
		f.Fact("Paused", page.Stands(page.Warn, "yes, until you resume it: "+q.Token.Told(all.PausedFor)))
	case all.Paused:
		f.Fact("Paused", page.Stands(page.Warn, "yes, until something changes: "+q.Token.Told(all.PausedFor)))
	default:
		f.Fact("Paused", page.Text("no"))
	}
	f.Fact("Waiting", page.Text(money.Grouped(fmt.Sprint(all.Length))))
	for _, t := range all.Taken {
		f.Fact("In work", page.Cell{
			Text: fmt.Sprintf("slot %d of request %s", t.SlotIndex, cli.Short(t.Request)), To: sold(t.Request),
			Under: "queued " + cli.Clock(t.QueuedAt),
		})
	}
	for _, w := range all.Waiting {
		c := page.Text(cli.Count(w.Slots, "slot") + ": " + slotqueue.Why(w.Criterion))
		if w.Criterion == slotqueue.CriterionRequestCap {
			c.Under = "sales.maxSlotsPerRequest says how many are taken of a request; by default as many as may be lost"
		}
		f.Fact("Put back", c)
	}
	for _, c := range all.Avoided {
		f.Fact("Avoided client", page.Cell{
			Text: c.Client, Code: true, Under: "until " + cli.Clock(c.Until) + ": " + c.Reason,
		})
	}
	return f
}

// pausing is the form that pauses the queue, or resumes it.
func pausing(q *page.Asked, of projections.Queue) page.Form {
	if of.Paused && of.ByOperator {
		return page.Form{
			Head: page.Head{ID: "resume", Title: "Take slots again"}, Do: "resume", Button: "Resume the queue",
		}
	}
	return page.Form{
		Head: page.Head{ID: "pause", Title: "Take no more slots", Note: "Sales go on to their end."}, Do: "pause",
		Button: "Pause the queue",
		Fields: []page.Field{{Name: "reason", Label: "Reason", Value: q.Typed("reason", "")}},
	}
}

func whyNot(q *page.Asked) page.Form {
	return page.Form{
		Head: page.Head{ID: "whynot", Title: "Why was a slot not taken?"}, Asks: true, Button: "Ask",
		Fields: []page.Field{{
			Name: "slot", Label: "Slot", Value: q.Get("slot"), Required: true,
			Hint: "the id of the slot, or at least its first four digits",
		}},
	}
}

// reason is what became of a slot, in a sentence.
func reason(ctx context.Context, q *page.Asked, slot string) page.Notices {
	n := page.Notices{Head: page.Head{ID: "reason"}}
	story, err := api.ShowSale.Ask(ctx, q.Backend, api.OfSlot{Then: then(q), Slot: slot})
	if err != nil {
		why := rows.All().Explain(err)
		n.Each = []page.Notice{{Level: page.Warn, Text: why.Detail, Do: why.Hint}}
		return n
	}
	var id, said string
	level := page.Warn
	if o := story.Offered; o != nil {
		id, said = o.Slot, told(q, story.Moments[len(story.Moments)-1])
	} else {
		s := story.Attempts[len(story.Attempts)-1]
		id, level, said = s.Slot, page.Good, "A sale of it began; it is in the state "+s.Phase
		if s.Reason != "" {
			level, said = page.Warn, said+": "+q.Token.Told(s.Reason)
		}
	}
	n.Each = []page.Notice{{
		Level: level, Text: said, More: []page.Link{{Text: "The whole story of the slot", To: page.To("sales", id)}},
	}}
	return n
}

func waitingSlots(ctx context.Context, q *page.Asked) (page.Table, error) {
	t := page.Table{
		Head:  page.Head{ID: "waiting", Title: "Slots that wait", Note: "In the order in which they are looked at."},
		Heads: []string{"Place", "Slot", "Pays", "Collateral", "Expires (chain)", "Waits for"}, Empty: "No slot waits.",
	}
	from := int(min(max(1, number(q.Get("from"))), api.MaxPosition-api.DefaultPage+1)) //nolint:gosec // It is small.
	question := api.QueueQuestion{Then: then(q), From: from, Limit: api.DefaultPage}
	some, err := api.ListQueued.Ask(ctx, q.Backend, question)
	for _, s := range some.Slots {
		slot := page.ID(s.Slot, page.To("sales", s.Slot))
		slot.Under = fmt.Sprintf("slot %d of request %s", s.SlotIndex, cli.Short(s.Request))
		if s.Repair {
			slot.Under += ", repair"
		}
		waits := page.Text(q.Token.Told(s.WaitsFor))
		if !s.RetryAt.IsZero() {
			waits.Under = "looked at again " + cli.Clock(s.RetryAt)
		}
		t.Row(page.Number(s.Position), slot, page.Number(q.Token.Amount(s.Profitability)),
			page.Number(q.Token.Amount(s.Collateral)), page.Chain(s.ExpiresAt), waits)
	}
	if next := from + api.DefaultPage; next <= min(some.Length, api.MaxPosition-api.DefaultPage+1) {
		t.Next = &page.Link{Text: "More", To: q.With("from", fmt.Sprint(next))}
	}
	return t, err
}

func refusals(q *page.Asked, id, title, note string, all []projections.Refusals) page.Table {
	t := page.Table{
		Head:  page.Head{ID: id, Title: title, Note: note},
		Heads: []string{"Criterion", "Requests", "Slots", "Last (chain)", "Last reason"}, Empty: "There was none.",
	}
	for _, r := range all {
		last := page.Cell{Text: q.Token.Told(r.LastReason)}
		if r.LastSlot != "" {
			last.To = page.To("sales", r.LastSlot)
		}
		requests := "–"
		if r.Requests > 0 {
			requests = money.Grouped(fmt.Sprint(r.Requests))
		}
		t.Row(page.Text(r.Criterion), page.Number(requests), page.Number(money.Grouped(fmt.Sprint(r.Slots))),
			page.Chain(r.LastAt), last)
	}
	return t
}
