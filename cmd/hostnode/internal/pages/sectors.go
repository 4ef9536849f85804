package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections"
)

// This file has the pages of sectors.

func listSectors(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := api.ListSectors.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	windows, err := windowsAhead(ctx, q)
	if err != nil {
		return v, err
	}
	now := map[uint64]*api.SectorNow{}
	for _, one := range all.Now {
		now[one.SectorNumber] = &one
	}
	t := page.Table{
		Head:   page.Head{ID: "sectors"},
		Heads:  []string{"Sector", "State", "Since", "What it does, or waits for", "Until", "Size", "Deposit"},
		Empty:  "There is none. The setting sectors.run has the host seal sectors; docs/sectors.md tells how.",
		Filter: stateFilter(q, all.Counts),
	}
	some, next := page.Some(q, "from", worstSectors(all.Provider.Sectors, q.Get("state")))
	t.Next = next
	for _, s := range some {
		waits := page.Text(q.Token.Told(sectorWaits(s, now[s.SectorNumber])))
		waits.Under = losses(q, now[s.SectorNumber])
		number := fmt.Sprint(s.SectorNumber)
		t.Row(page.Leads(number, page.To("sectors", number)), sectorStands(s), page.At(s.Since), waits,
			page.At(s.PausedUntil), page.Number(cli.Size(s.Size)), page.Number(q.Token.Amount(cmp.Or(s.Deposit, "0"))))
	}
	if all.Forgotten > 0 {
		t.Note = cli.Count(all.Forgotten, "older finished sector") +
			" not shown; the address of each still has its history."
	}
	v.Add(t, windows)
	return v, nil
}

func stateFilter(q *page.Asked, counts []projections.StateCount) []page.Filter {
	if len(counts) == 0 {
		return nil
	}
	states := make([]string, len(counts))
	for i, c := range counts {
		states[i] = c.State
	}
	all := page.Filters(q, "state", states...)
	for i, c := range counts {
		all[i+1].Text = fmt.Sprintf("%d %s", c.Sectors, c.State)
		all[i+1].To, all[0].To = q.With("state", c.State, "from", ""), q.With("state", "", "from", "")
	}
	return all
}

// worstSectors are those in a state, or all, the ones at risk first.
func worstSectors(all []projections.Sector, state string) []projections.Sector {
	some := slices.DeleteFunc(slices.Clone(all), func(s projections.Sector) bool {
		return state != "" && s.State != state
	})
	slices.SortStableFunc(some, func(a, b projections.Sector) int { return cmp.Compare(risk(a), risk(b)) })
	return some
}

// risk orders sectors, the least first: those that lose money, those that a person must look at, the others.
func risk(s projections.Sector) int {
	switch {
	case s.Bleeds:
		return 0
	case sector.State(s.State).Faulty():
		return 1
	case s.Parked != "":
		return 2
	case !s.PausedUntil.IsZero():
		return 3
	case s.Over:
		return 5
	}
	return 4
}

func sectorStands(s projections.Sector) page.Cell {
	c := page.Text(cmp.Or(s.State, "begins"))
	switch r := risk(s); {
	case r < 2:
		c.Level = page.Bad
	case r < 4:
		c.Level = page.Warn
	case s.State == string(sector.Proving):
		c.Level = page.Good
	}
	return c
}

// sectorWaits says what a sector does or waits for; now may be nil.
func sectorWaits(s projections.Sector, now *api.SectorNow) string {
	state := sector.State(s.State)
	switch {
	case now != nil && now.Quarantined != "":
		return "left alone after failures: " + now.Quarantined
	case s.Bleeds:
		return "a person: the contract has it and nobody proves it, so each window costs a part of its deposit"
	case s.Parked != "":
		return "a person: " + s.Parked
	case !s.PausedUntil.IsZero():
		return "it is tried again: " + s.LastErr
	case !state.Known():
		return "a version that knows its state"
	case !s.Over && s.Step != "":
		return cli.SectorStep(s, now)
	case state == sector.Empty, state == sector.WaitDeals:
		return "further pieces, since " + cli.Clock(s.StartedAt)
	case state == sector.Proving:
		return "its next window"
	}
	return "nothing"
}

func losses(q *page.Asked, now *api.SectorNow) string {
	if now == nil || now.LosesPerDay == "" {
		return ""
	}
	return "it loses " + q.Token.Amount(now.LosesPerDay) + " a day"
}

// windowsAhead are the deadlines of sectors, those with the same one together.
func windowsAhead(ctx context.Context, q *page.Asked) (page.Table, error) {
	const named = 10
	t := page.Table{
		Head:  page.Head{ID: "windows", Title: "Windows of the next proving period"},
		Heads: []string{"Opens", "Until", "Period", "Sectors", "Which"}, Empty: "No sector has to be proven.",
	}
	d, err := api.ListDuties.Ask(ctx, q.Backend, api.DutiesQuestion{
		Then: then(q), Paging: api.Paging{Limit: api.MaxPage},
	})
	if err != nil {
		return t, err
	}
	at := map[time.Time][]string{}
	for _, one := range d.Duties {
		if one.Kind != api.DutyWindow {
			continue
		}
		which := append(at[one.Deadline], one.Subject)
		if at[one.Deadline] = which; len(which) == 1 {
			until := page.Chain(one.Deadline)
			if until.Under = strings.TrimPrefix(slack(one.SlackSeconds), ", "); one.State == api.DutyLate {
				until.Level = page.Bad
			}
			t.Row(page.Chain(one.Opens), until, page.Number(one.Period),
				page.Cell{At: one.Deadline}, page.Cell{})
		}
	}
	for _, row := range t.Rows { // How many they are is known now.
		which := at[row[3].At]
		row[3] = page.Number(len(which))
		row[4] = page.Text(strings.Join(which[:min(len(which), named)], ", "))
		if len(which) > named {
			row[4].Text += fmt.Sprintf(" and %d more", len(which)-named)
		}
	}
	switch {
	case d.WindowsUnknown != "":
		t.Note = "They are not known: " + d.WindowsUnknown
	case !d.AsOf.Running:
		t.Empty = "Only a running host knows them."
	case d.Next != "":
		t.Note = "Later ones are not shown."
	}
	return t, nil
}

func showSector(ctx context.Context, q *page.Asked) (v page.View, err error) {
	n := number(q.Path("number"))
	answer, err := api.ShowSector.Ask(ctx, q.Backend, api.OfSector{Then: then(q), Number: n})
	gone := errors.Is(err, problem.ErrUnknownSector) // It may be too old for the list, and have a history.
	if err != nil && !gone {
		return v, err
	}
	told, historyErr := api.ShowTimeline.Ask(ctx, q.Backend, api.TimelineQuestion{
		Then: then(q), Number: n, From: number(q.Get("from")), Most: api.DefaultMoments,
	})
	if historyErr != nil {
		return v, historyErr
	}
	v.Title, v.AsOf = fmt.Sprintf("Sector %d", n), told.AsOf
	s := answer.Sector
	if !gone {
		v.Add(page.Join{Each: []page.Block{sectorNotice(q, answer), sectorFacts(q, answer)}}, pieces(s), steps(s))
	}
	v.Add(sectorHistory(q, told.Page))
	if host, err := events.ParseAddress(told.Page.Host); err == nil {
		v.Add(page.Words{Head: page.Head{ID: "raw"}, Links: []page.Link{
			{Text: "The events as they are stored", To: page.To("streams", events.SectorStream(host, n))},
		}})
	}
	if !gone {
		v.Add(sectorForms(q, s)...)
	}
	return v, nil
}

// sectorNotice says what a sector waits for, since when and until when.
func sectorNotice(q *page.Asked, a api.Sector) page.Notices {
	s := a.Sector
	stands := sectorStands(s)
	n := page.Notice{
		Level: stands.Level, Text: stands.Text + "; waits for " + q.Token.Told(sectorWaits(s, a.Now)), Since: s.Since,
		Until: s.PausedUntil, Do: losses(q, a.Now),
	}
	if s.Over {
		n.Text = stands.Text
	}
	if s.Step != "" && !s.Over && s.Parked == "" && s.PausedUntil.IsZero() {
		n.Text = stands.Text + "; works on " + sectorWaits(s, a.Now)
	}
	if s.Fault != nil {
		found := fmt.Sprintf("Its fault was found at %s: %s. ", cli.Clock(s.Fault.At), s.Fault.Reason)
		n.Do = strings.TrimSpace(found + n.Do)
	}
	if s.Bleeds || s.Parked != "" {
		n.Do = strings.TrimSpace(n.Do + " What can be done is below.")
	}
	return page.Notices{Head: page.Head{ID: "stands", Title: "How it stands"}, Each: []page.Notice{n}}
}

func sectorFacts(q *page.Asked, a api.Sector) page.Facts {
	s := a.Sector
	f := page.Facts{Head: page.Head{ID: "facts", Title: "What it is"}}
	f.Fact("Size", page.Text(cli.Size(s.Size)))
	f.Fact("Begun", page.At(s.StartedAt))
	f.Fact("Space", page.Textf("%s unsealed, %s sealed, %s tree, %s scratch", cli.Size(s.Space.Unsealed),
		cli.Size(s.Space.Sealed), cli.Size(s.Space.Tree), cli.Size(s.Space.Scratch)))
	f.Fact("Deposit", page.Textf("%s at stake, %s returned, %s lost", q.Token.Amount(cmp.Or(s.Deposit, "0")),
		q.Token.Amount(cmp.Or(s.DepositReturned, "0")), q.Token.Amount(cmp.Or(s.DepositLost, "0"))))
	f.Fact("On the contract", page.Text(q.Token.Told(cli.OnContract(a.Chain))))
	f.Fact("Proofs show", page.Text(cmp.Or(s.Proves, a.Proves)))
	f.Fact("Last error", page.Text(s.LastErr))
	f.Fact("Forced by", page.Text(s.ForcedBy))
	f.Fact("Wanted by", page.Text(s.Wanted))
	for _, one := range [][2]string{
		{"CommD", s.CommD},
		{"CommR", s.CommR},
		{"Precommit", s.PreCommitMessage},
		{"Commit", s.CommitMessage},
		{"Fault report", s.FaultReportMsg},
		{"Recovery", s.RecoveryMsg},
		{"Termination", s.TerminateMsg},
	} {
		f.Fact(one[0], page.Cell{Text: one[1], Code: true})
	}
	return f
}

// maxPieces is how many pieces of a sector are shown.
const maxPieces = 200

func pieces(s projections.Sector) page.Table {
	t := page.Table{
		Head: page.Head{ID: "pieces", Title: "Pieces"}, Heads: []string{"Piece", "Size", "Of it data", ""},
		Empty: "It has none yet.",
	}
	for i, p := range slices.Concat(s.Pieces, s.Pending) {
		if i == maxPieces {
			t.Note = fmt.Sprintf("%d more are not shown.", len(s.Pieces)+len(s.Pending)-maxPieces)
			break
		}
		state := ""
		switch {
		case i >= len(s.Pieces):
			state = "to be added"
		case p.Payload == 0:
			state = "zeros"
		}
		t.Row(page.Cell{Text: p.PieceCID, Code: true}, page.Number(cli.Size(p.Size)), page.Number(cli.Size(p.Payload)),
			page.Text(state))
	}
	return t
}

func steps(s projections.Sector) page.Table {
	t := page.Table{
		Head: page.Head{ID: "steps", Title: "Steps"}, Heads: []string{"Step", "Attempts", "The last took", "In all"},
		Empty: "None was begun.",
	}
	seconds := func(of float64) page.Cell {
		return page.Number(time.Duration(of * float64(time.Second)).Round(time.Millisecond))
	}
	for _, step := range s.Steps {
		t.Row(page.Text(step.Step), page.Number(step.Attempts), seconds(step.Last), seconds(step.Total))
	}
	return t
}

func sectorHistory(q *page.Asked, told projections.SectorTimeline) page.Timeline {
	t := page.Timeline{Head: page.Head{ID: "history", Title: "What happened"}}
	for _, m := range told.Moments {
		t.Moments = append(t.Moments, page.Moment{
			At: m.At, Text: q.Token.Told(fmt.Sprintf("%s: %s (now %s)", m.Type, m.Sentence, cmp.Or(m.State, "begun"))),
			Cause: m.Cause,
		})
	}
	if told.Next > 0 {
		t.Next = &page.Link{Text: "Later events", To: q.With("from", fmt.Sprint(told.Next))}
	}
	return t
}

var sectorOrders = map[string]page.Order{
	string(api.VerbRetry):     {Done: "It is tried again.", Do: ordering(api.VerbRetry)},
	string(api.VerbPack):      {Done: "It takes no more pieces, and is sealed.", Do: ordering(api.VerbPack)},
	string(api.VerbForce):     {Done: "It is in that state.", Do: ordering(api.VerbForce)},
	string(api.VerbTerminate): {Done: "It is being terminated.", Do: ordering(api.VerbTerminate)},
	string(api.VerbRemove):    {Done: "It is being removed.", Do: ordering(api.VerbRemove)},
}

func ordering(verb api.Verb) func(context.Context, *page.Asked) error {
	return func(ctx context.Context, q *page.Asked) error {
		o := api.SectorOrder{By: q.By, Reason: q.Get("reason"), State: q.Get("to")}
		_, err := api.OrderSector(verb).Ask(ctx, q.Backend, api.OrderOf{Number: number(q.Path("number")), Body: o})
		return err
	}
}

// sectorForms are the orders that make sense for a sector.
func sectorForms(q *page.Asked, s projections.Sector) (all []page.Block) {
	if s.Over {
		return nil
	}
	add := func(verb api.Verb, title, note, button, confirm string, fields ...page.Field) {
		id := string(verb)
		f := page.Form{Head: page.Head{ID: id, Title: title, Note: note}, Do: id, Button: button, Confirm: confirm}
		if f.Fields = fields; confirm != "" {
			reason := "" // What was typed into another form belongs there.
			if q.Typed("do", "") == id {
				reason = q.Typed("reason", "")
			}
			f.Fields = append(f.Fields, page.Field{Name: "reason", Label: "Why", Value: reason, Required: true})
		}
		all = append(all, f)
	}
	state := sector.State(s.State)
	can := func(action string) bool { return slices.Contains(s.Actions, action) }
	if can("SectorRestart") || !s.PausedUntil.IsZero() {
		add(api.VerbRetry, "Try it again", "A parked sector goes on, or the pause of a paused one ends.", "Try again",
			"")
	}
	if (state == sector.Empty || state == sector.WaitDeals) && len(s.Pieces) > 0 {
		add(api.VerbPack, "Seal it as it is", "It takes no more pieces.", "Seal", "")
	}
	if s.OnChain || can("SectorTerminate") {
		add(api.VerbTerminate, "Terminate it", "It ends on chain before it expires. The contract keeps a part of the "+
			"deposit; then the data is removed. This cannot be undone.", "Terminate", "Lose that part of the deposit")
	}
	if can("SectorForceState") {
		states := make([]string, 0, len(sector.States()))
		for _, to := range sector.States()[1:] { // The first one is that of none.
			states = append(states, string(to))
		}
		add(api.VerbForce, "Put it into a state", "Nothing is checked first: it goes on from that state, with its "+
			"recorded data and whatever the contract has of it.", "Force", "Set this state", page.Field{
			Name: "to", Label: "State", Value: q.Typed("to", s.State), Choices: states,
		})
	}
	if can("SectorRemove") {
		add(api.VerbRemove, "Remove its data", "Its data is removed at once. If it is on the contract, its missing "+
			"proofs cost the deposit, so terminate it first. This cannot be undone.", "Remove", "Remove the data now")
	}
	return all
}
