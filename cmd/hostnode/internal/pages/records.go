package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
)

// This file shows every machine alike, from its rows: how many stand in which state, a list of them, and what happened
// in the stream of each.

func machines(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := api.ListMachines.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	t := page.Table{
		Head: page.Head{
			ID: "machines", Note: "Everything the host decides is an event. Each machine shows its streams.",
		},
		Heads: []string{"Machine", "Rows", "States"},
	}
	for _, m := range all.Machines {
		var states []string
		for _, state := range slices.Sorted(maps.Keys(m.States)) {
			states = append(states, fmt.Sprintf("%s %s", money.Grouped(fmt.Sprint(m.States[state])), state))
		}
		t.Row(page.Leads(m.Machine, page.To("machines", m.Machine)), page.Number(money.Grouped(fmt.Sprint(m.Rows))),
			page.Text(strings.Join(states, ", ")))
	}
	v.Add(t)
	return v, nil
}

// rowsOf is the list of a machine's rows.
func rowsOf(ctx context.Context, q *page.Asked) (v page.View, err error) {
	name := q.Path("machine")
	all, err := api.ListMachines.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	question := api.RowsQuestion{Then: then(q), Machine: name, State: q.Get("state"), Paging: q.Paging()}
	some, err := api.ListRows.Ask(ctx, q.Backend, question)
	if err != nil {
		return v, err
	}
	v.Title, v.AsOf = "Record: "+name, some.AsOf
	t := page.Table{
		Head: page.Head{ID: "rows"}, Heads: []string{"Stream", "State", "Row"}, Empty: "There is none.",
		Next: q.More(some.Next),
	}
	for _, m := range all.Machines {
		if m.Machine == name && len(m.States) > 0 {
			t.Filter = page.Filters(q, "state", slices.Sorted(maps.Keys(m.States))...)
		}
	}
	for _, r := range some.Rows {
		of := page.Text("several streams")
		if r.Stream != "" {
			of = page.Cell{Text: r.Stream, To: page.To("streams", r.Stream), Code: true}
		}
		t.Row(of, page.Text(r.State), page.Cell{Text: brief(r.Row), Code: true})
	}
	v.Add(t)
	return v, nil
}

// briefly is how much of a row a list shows.
const briefly = 200

func brief(row api.Any) string {
	text := string(row)
	if len(text) > briefly {
		text = strings.ToValidUTF8(text[:briefly], "") + "…"
	}
	return text
}

// stream shows what happened in a stream.
func stream(ctx context.Context, q *page.Asked) (v page.View, err error) {
	question := api.EventsQuestion{Stream: q.Path("stream"), From: number(q.Get("from")), Limit: api.DefaultPage}
	some, err := api.ListEvents.Ask(ctx, q.Backend, question)
	if err != nil {
		return v, err
	}
	v.Title = "Stream " + question.Stream
	v.Add(Told("events", some, q))
	return v, nil
}

// Told is a timeline of events as they are told.
func Told(id string, some api.Events, q *page.Asked) page.Timeline {
	t := page.Timeline{Head: page.Head{ID: id}}
	for _, e := range some.Events {
		t.Moments = append(t.Moments, page.Moment{At: e.Recorded, Text: e.Sentence, Cause: e.Cause, Raw: raw(e)})
	}
	if some.Next > 0 {
		t.Next = &page.Link{Text: "Later events", To: q.With("from", fmt.Sprint(some.Next))}
	}
	return t
}

// raw is an event as it is stored.
func raw(e api.Event) string {
	var out bytes.Buffer
	if json.Indent(&out, e.Data, "", "  ") != nil {
		return ""
	}
	return fmt.Sprintf("%s, revision %d, position %d\n%s", e.Type, e.Revision, e.Position, out.String())
}
