package downtime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// This file has the pages of the nodes that are watched.

// Pages are those of nodes.
func Pages() []page.Page {
	const recorded = "It is recorded, with your name and the reason."
	return []page.Page{
		{Path: "nodes", Title: "Nodes", Menu: page.MenuMachines, Show: showList},
		{
			Path: "nodes/{node}", Title: "Node", Show: showNode, Orders: map[string]page.Order{
				"decide":    {Done: recorded, Do: decide},
				maintenance: {Done: "The maintenance is announced.", Do: announce},
			},
		},
	}
}

func showList(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := ListNodes.Ask(ctx, q.Backend, q.Then())
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	slices.SortStableFunc(all.Nodes, func(a, b view.Node) int { return cmp.Compare(urgency(a), urgency(b)) })
	t := page.Table{
		Head:  page.Head{ID: "nodes"},
		Heads: []string{"Node", "Status", "Since", "What its windows say", "What comes next"},
		Empty: "No node is watched. The setting nodes.watch names those that are.",
	}
	some, more := page.Some(q, "from", all.Nodes)
	t.Next = more
	for _, n := range some {
		says, _ := opinion(n, n.RuleSet)
		under := page.Text(says)
		under.Under = "by " + n.RuleSet
		t.Row(page.Leads(n.Node, page.To("nodes", n.Node)), stands(n), page.At(n.Since), under, comes(n))
	}
	v.Add(t)
	return v, nil
}

// urgency orders nodes, the least first: those about which something is to be done.
func urgency(n view.Node) int {
	_, offending := opinion(n, n.RuleSet)
	switch {
	case n.Proposed:
		return 0
	case n.Status == core.Suspended.String():
		return 1
	case offending:
		return 2
	case n.Warning != nil:
		return 3
	case n.Status == core.Active.String():
		return 4
	}
	return 5
}

// stands is the status of a node.
func stands(n view.Node) page.Cell {
	c := page.Cell{Text: n.Status}
	switch {
	case n.Status == core.Suspended.String():
		c.Level = page.Bad
	case n.Status == core.Active.String():
		if c.Level = page.Good; n.Warning != nil || urgency(n) < 4 {
			c.Level = page.Warn
		}
	}
	if n.Held {
		c.Under = "by a person, who alone reinstates it"
	}
	return c
}

// comes is what happens to a node next, and until when that can be changed.
func comes(n view.Node) page.Cell {
	switch {
	case n.Proposed:
		return page.Stands(page.Bad, "a person is asked to disqualify it")
	case n.Return != nil && !n.Return.Latest.IsZero():
		return page.Text("disqualified unless online from " + cli.Clock(n.Return.Latest) + " on")
	case n.Warning != nil:
		return page.Text(n.Warning.Text)
	case n.Maintenance != nil:
		return page.Text("away from " + cli.Clock(n.Maintenance.From) + " until " + cli.Clock(n.Maintenance.Until))
	}
	return page.Text("–")
}

func showNode(ctx context.Context, q *page.Asked) (v page.View, err error) {
	s, err := ShowNode.Ask(ctx, q.Backend, OfNode{Then: q.Then(), Node: q.Path("node")})
	if err != nil {
		return v, err
	}
	n := s.Node
	v.Title, v.AsOf = "Node "+n.Node, s.AsOf
	v.Add(page.Join{Each: []page.Block{next(n), facts(n)}}, arithmetic(n), strips(n), verdicts(n))
	v.Add(forms(q, n)...)
	return v, nil
}

// next is what happens to a node next, and until when that can be changed.
func next(n view.Node) page.Notices {
	out := page.Notices{
		Head: page.Head{ID: "next", Title: "What comes next"}, Well: "It is active, and no suspension is near.",
	}
	add := func(notice page.Notice) { out.Each = append(out.Each, notice) }
	if n.Proposed {
		add(page.Notice{
			Level: page.Bad, Text: "its time is over: a person is asked to disqualify it", Since: n.State.Deadline(),
			Do: "Reinstate or disqualify it below.",
		})
	}
	if r := n.Return; r != nil {
		reinstated := "never"
		if !r.Reinstated.IsZero() {
			reinstated = "at " + cli.Clock(r.Reinstated)
		}
		add(page.Notice{
			Level: page.Bad, Text: "the windows have suspended it", Since: n.Since, Until: r.Latest,
			Do: fmt.Sprintf("It must be online from then on: else it is disqualified at %s. If it is online from now "+
				"on, it is reinstated %s.", cli.Clock(r.Deadline), reinstated),
		})
	}
	if n.Held {
		add(page.Notice{
			Level: page.Bad, Text: "a person suspended it", Since: n.Since, Do: "Only a person reinstates it: below.",
		})
	}
	if w := n.Warning; w != nil {
		add(page.Notice{Level: page.Warn, Text: w.Text, Until: w.SuspendedAt, Do: "Bring it back before."})
	}
	if m := n.Maintenance; m != nil {
		add(page.Notice{
			Text:  fmt.Sprintf("%s announced that it is away from %s: %s", m.By, cli.Clock(m.From), m.Reason),
			Until: m.Until,
		})
	}
	if len(out.Each) == 0 && n.Status != core.Active.String() {
		add(page.Notice{Text: "it is judged no more"})
	}
	return out
}

func facts(n view.Node) page.Facts {
	f := page.Facts{Head: page.Head{ID: "facts", Title: "How it stands"}}
	f.Fact("Status", stands(n))
	f.Fact("Since", page.At(n.Since))
	f.Fact("The watcher's clock", page.At(n.AsOf))
	if !n.ReviewSince.IsZero() {
		f.Fact("Under review since", page.At(n.ReviewSince))
		f.Fact("The review ends", page.At(n.State.Deadline()))
	}
	var away, means Shown
	away.Node, means.Node = n, n
	away.away(time.Time{})
	means.outlook()
	if n.Return == nil { // Else what comes next says it.
		away.Says = append(away.Says, means.Says[3:]...) // The arithmetic has the others.
	}
	for i, line := range away.Says {
		name := ""
		if i == 0 {
			name = "What this means"
		}
		f.Fact(name, page.Text(line))
	}
	return f
}

// arithmetic is how both sets of rules come to what they say, with the one that counts.
func arithmetic(n view.Node) page.Table {
	t := page.Table{
		Head: page.Head{
			ID: "arithmetic", Title: "What the windows say",
			Note: "A window is offline if all of its audits say so. Void windows, in which nobody could watch, count " +
				"as online.",
		},
		Heads: []string{"Rules", "Offline", "With audits", "Void", "Arithmetic", "Limit", "So it is"},
	}
	for _, set := range []core.RuleSet{core.Document, core.Scored} {
		o, of := n.Document, "offline"
		limit := "at most %s offline"
		if set == core.Scored {
			o, of, limit = n.Scored, "online", "on average at least %s online"
		}
		all := o.Windows + o.Void
		value, _ := strconv.ParseFloat(o.Value, 64) // It is written by us.
		sum := fmt.Sprintf("%d", o.Offline)
		if set == core.Scored {
			sum = strconv.FormatFloat(value*float64(all), 'f', 2, 64)
		}
		name := page.Text(string(set))
		if n.RuleSet == string(set) {
			name.Under = "this line counts"
		}
		so := page.Stands(page.Good, "not offending")
		if o.Offending {
			so = page.Stands(page.Bad, "offending")
		}
		t.Row(name, page.Number(o.Offline), page.Number(o.Windows), page.Number(o.Void),
			page.Textf("%s %s of %d = %s", sum, of, all, o.Value),
			page.Textf(limit, o.Limit), so)
	}
	return t
}

// maxStrips is how many days of windows are shown.
const maxStrips = 31

// strips are the windows that are judged, a line for each day.
func strips(n view.Node) page.Strip {
	what := map[byte]page.Mark{
		'+': {Level: page.Good, Sign: "+", Says: "online"}, '-': {Level: page.Bad, Sign: "-", Says: "offline"},
		'*': {Level: page.Warn, Sign: "*", Says: "both"}, '.': {Sign: ".", Says: "no audit"},
		'~': {Sign: "~", Says: "void: nobody could watch"},
	}
	s := page.Strip{Head: page.Head{ID: "windows", Title: "Windows that are judged"}}
	at, all := signs(n)
	for _, sign := range all {
		day := at.UTC().Format(time.DateOnly)
		if last := len(s.Rows) - 1; last < 0 || s.Rows[last].Name != day {
			s.Rows = append(s.Rows, page.StripRow{Name: day})
		}
		row := &s.Rows[len(s.Rows)-1]
		m := what[sign]
		m.Says = at.UTC().Format("15:04 ") + m.Says
		row.Marks = append(row.Marks, m)
		at = at.Add(n.State.Rules.WindowLength)
	}
	s.Note = fmt.Sprintf("Each is %s, and begins at the time that it shows when it is pointed at (UTC).",
		cli.Span(uint64(n.State.Rules.WindowLength/time.Second)))
	if more := len(s.Rows) - maxStrips; more > 0 {
		s.Rows = s.Rows[more:]
		s.Note += fmt.Sprintf(" The first %s are not shown: hostnode nodes windows %s.", cli.Count(more, "day"), n.Node)
	}
	for _, sign := range "+-*.~" {
		s.Legend = append(s.Legend, what[byte(sign)])
	}
	return s
}

// verdicts are what was decided, the newest first.
func verdicts(n view.Node) page.Table {
	t := page.Table{
		Head: page.Head{ID: "verdicts", Title: "What was decided"}, Heads: []string{"When", "What", "By", "Why"},
		Empty: "Nothing was decided yet.",
	}
	for _, v := range slices.Backward(n.Verdicts) {
		row := rowOf(v)
		t.Row(page.At(v.At), page.Text(row[1]), page.Text(row[2]), page.Text(row[3]))
	}
	return t
}

// forms are the orders about a node that make sense now.
func forms(q *page.Asked, n view.Node) (all []page.Block) {
	verbs := map[string][]string{
		core.Active.String():       {"suspend", "disqualify", "exit"},
		core.Suspended.String():    {"reinstate", "disqualify", "exit"},
		core.Disqualified.String(): {"reinstate"},
	}[n.Status]
	if len(verbs) == 0 {
		return nil
	}
	all = append(all, page.Form{
		Head: page.Head{
			ID: "decide", Title: "Decide about it",
			Note: "Who is suspended by a person is reinstated by a person only. What is reinstated begins anew: " +
				"its windows until now count no more. Exit: it has left, and is watched no more.",
		},
		Do: "decide", Button: "Decide", Confirm: "Do this to " + n.Node,
		Fields: []page.Field{
			{Name: "verb", Label: "What", Value: q.Typed("verb", ""), Choices: verbs},
			{Name: "reason", Label: "Why", Value: q.Typed("reason", ""), Required: true},
		},
	})
	if n.Status == core.Active.String() {
		all = append(all, page.Form{
			Head: page.Head{
				ID: maintenance, Title: "Announce maintenance",
				Note: "The page then says how long it may be away without being suspended.",
			},
			Do: maintenance, Button: "Announce",
			Fields: []page.Field{
				{Name: "from", Label: "From", Value: q.Typed("from", cli.Clock(n.AsOf)), Required: true},
				{
					Name: "until", Label: "Until", Value: q.Typed("until", ""), Required: true,
					Hint: "as " + cli.Clock(n.AsOf.Add(2*time.Hour)),
				},
				{Name: "why", Label: "Why", Value: q.Typed("why", ""), Required: true},
			},
		})
	}
	return all
}

func decide(ctx context.Context, q *page.Asked) error {
	_, err := OrderNode.Ask(ctx, q.Backend, Ordered{
		Node: q.Path("node"), Verb: q.Get("verb"), Body: Decision{By: q.By, Reason: q.Get("reason")},
	})
	return err
}

func announce(ctx context.Context, q *page.Asked) error {
	d := Decision{By: q.By, Reason: q.Get("why")}
	for name, at := range map[string]*time.Time{"from": &d.From, "until": &d.Until} {
		typed := strings.ToUpper(strings.Replace(q.Get(name), "T", " ", 1))
		var err error
		if *at, err = time.Parse("2006-01-02 15:04:05Z07:00", typed); err != nil {
			return fmt.Errorf("%w: %.40q is no time like %s", problem.ErrBadRequest, q.Get(name), cli.Clock(q.Now))
		}
	}
	_, err := OrderNode.Ask(ctx, q.Backend, Ordered{Node: q.Path("node"), Verb: maintenance, Body: d})
	return err
}
