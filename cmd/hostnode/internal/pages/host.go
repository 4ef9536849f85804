package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// This file shows what the host consists of: its transactions, its ledger, its members and its settings.

func transactions(ctx context.Context, q *page.Asked) (v page.View, err error) {
	some, err := api.ListTransactions.Ask(ctx, q.Backend, api.TransactionsQuestion{
		Then: then(q), Paging: q.Paging(), Outcome: projections.Outcome(q.Get("outcome")),
	})
	if err != nil {
		return v, err
	}
	v.AsOf = some.AsOf
	t := page.Table{
		Head:  page.Head{ID: "transactions", Note: "What the account asked of the chain, the newest first."},
		Heads: []string{"Intended", "What", "Outcome", "Nonce", "Until (chain)", "Block", "Gas"},
		Empty: "There is none.", Next: q.More(some.Next),
		Filter: page.Filters(q, "outcome", string(projections.OutcomeOpen), string(projections.OutcomeSucceeded),
			string(projections.OutcomeFailed), string(projections.OutcomeAbandoned)),
	}
	levels := map[projections.Outcome]page.Level{
		projections.OutcomeSucceeded: page.Good, projections.OutcomeFailed: page.Bad,
		projections.OutcomeAbandoned: page.Warn,
	}
	for _, x := range some.Transactions {
		what := page.Cell{Text: x.Key, Code: true, Under: x.TxHash}
		outcome := page.Stands(levels[x.Outcome], string(x.Outcome))
		if outcome.Under = q.Token.Told(x.Reason); x.Attempts > 1 {
			outcome.Text += ", " + cli.Count(x.Attempts, "attempt")
		}
		block, gas := page.Number("–"), page.Number("–")
		if x.Block > 0 {
			block, gas = page.Number(money.Grouped(fmt.Sprint(x.Block))), page.Number(money.Gas(x.FeeWei.String()))
			block.Under = cli.Clock(x.MinedAt)
		}
		t.Row(page.At(x.IntendedAt), what, outcome, page.Number(x.Nonce), page.Chain(x.Deadline), block, gas)
	}
	v.Add(t)
	return v, nil
}

func ledger(ctx context.Context, q *page.Asked) (v page.View, err error) {
	l, err := api.ShowLedger.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = l.AsOf
	f := page.Facts{Head: page.Head{ID: "collateral", Title: "Collateral and deposits"}}
	var committed, lost, left []string
	for _, a := range l.Availabilities {
		committed, lost, left = append(committed, a.Committed), append(lost, a.Lost), append(left, a.Remaining)
	}
	f.Fact("At stake", page.Leads(q.Token.Amount(sum(committed)), page.To("sales")))
	f.Fact("Left of what may be", page.Text(q.Token.Amount(sum(left))))
	f.Fact("Lost", page.Text(q.Token.Amount(sum(lost))))
	d := l.Deposits
	amount(&f, q, "Deposits of sectors", d.Held, page.Plain)
	amount(&f, q, "Deposits returned", d.Returned, page.Plain)
	amount(&f, q, "Deposits lost", d.Lost, page.Bad)
	amount(&f, q, "Deposits withdrawn", d.Withdrawn, page.Plain)
	v.Add(page.Join{Each: []page.Block{spaceOf(l.Ledger), f}})
	t := page.Table{
		Head: page.Head{ID: "bytes", Title: "Bytes", Note: "The parts add up to the quota."},
		Heads: []string{
			"Of", "Quota", "Not on offer", "Free on offer", "Reserved", "Stored", "Overhead", "Sectors", "Pieces",
		},
	}
	for _, m := range l.Members {
		t.Row(bytesOf("member "+string(m.Member), m)...)
	}
	t.Row(bytesOf("the host", l.Ledger)...)
	v.Add(t)
	return v, nil
}

// sum adds up amounts that the views have printed.
func sum(all []string) string {
	var total events.Amount
	for _, text := range all {
		if a, err := events.ParseAmount(text); err == nil {
			total = total.AddSaturating(a)
		}
	}
	return total.String()
}

func bytesOf(name string, l projections.Ledger) []page.Cell {
	return []page.Cell{
		page.Text(name), page.Number(cli.Size(l.Quota)), page.Number(cli.Size(l.Unallocated)),
		page.Number(cli.Size(l.Free)), page.Number(cli.Size(l.Reserved)),
		page.Number(cli.Size(l.Stored)), page.Number(cli.Size(l.Overhead)),
		page.Number(cli.Size(l.Sectors)), page.Number(cli.Size(l.Pieces)),
	}
}

func members(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := api.ListMembers.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	t := page.Table{
		Head: page.Head{ID: "members", Note: "The processes that together are the host."},
		Heads: []string{
			"Member", "State", "Last heard", "Space", "Sales", "Proofs due", "Prover", "Blocks behind", "Owner since",
		},
		Empty: "No process has started yet.",
	}
	for _, m := range all.Members {
		name := page.Text(cmp.Or(m.Name, "the host"))
		name.Under = m.Node + ", version " + m.Version
		state := page.Stands(page.Good, m.State)
		switch m.State {
		case api.MemberSilent:
			state.Level = page.Bad
		case api.MemberStopped:
			state.Level = page.Warn
		}
		state.Under = fmt.Sprintf("start %d, %s", m.Epoch, cli.Clock(m.Since))
		space := page.Number(cli.Size(m.Space.Quota))
		space.Under = cli.Size(m.Space.Free) + " free on offer, " + cli.Size(m.Space.Stored) + " stored"
		due, prover, behind := page.Number("–"), page.Number("–"), page.Number("–")
		if w := m.Work; w != nil {
			due, behind = page.Number(w.ProofsDue), page.Number(w.Behind)
			prover = page.Number(fmt.Sprintf("%d %% busy of %d %%", w.ProverBusy, w.ProverMost))
		}
		t.Row(name, state, page.At(m.HeardAt), space, page.Number(m.Sales), due, prover, behind, page.At(m.OwnerSince))
	}
	v.Add(t)
	if !all.Cluster {
		return v, nil
	}
	const meanwhile = "Until a member takes it, no slot is taken and no transaction begins."
	owner := page.Notices{Head: page.Head{ID: "term", Title: "The term"}}
	switch term := all.Term; {
	case term == nil:
		owner.Each = []page.Notice{{Level: page.Bad, Text: "No member has ever had the term.", Do: meanwhile}}
	case !term.Ended.IsZero():
		owner.Each = []page.Notice{{
			Level: page.Bad, Since: term.Ended, Do: meanwhile,
			Text: fmt.Sprintf("Term %d of %s has ended.", term.Number, term.Member),
		}}
	default:
		owner.Each = []page.Notice{{
			Level: page.Good, Since: term.Since,
			Text: fmt.Sprintf("Term %d: %s runs the queue, transactions and validator.", term.Number, term.Member),
		}}
	}
	v.Add(owner)
	return v, nil
}

func settings(ctx context.Context, q *page.Asked) (v page.View, err error) {
	changes, err := api.ListSettingChanges.Ask(ctx, q.Backend, api.SettingChangesQuestion{
		Then: then(q), Paging: q.Paging(), Key: q.Get("key"),
	})
	if err != nil {
		return v, err
	}
	v.AsOf = changes.AsOf
	of := q.Get("key")
	history := settingChanges(of, changes.Changes)
	history.Next = q.More(changes.Next)
	if q.Get("cursor") != "" { // Further back.
		v.Add(history)
		return v, nil
	}
	all, err := api.ListSettings.Ask(ctx, q.Backend, api.None{})
	if err != nil {
		return v, err
	}
	t := page.Table{
		Head: page.Head{
			ID:   "settings",
			Note: "They are read at the start, from the file, the environment and the command. Secrets are hidden.",
		},
		Heads: []string{"Setting", "Value", "Source"}, Empty: "The process that answers does not say.",
	}
	for _, s := range all.Settings {
		if of != "" && s.Key != of {
			continue
		}
		key := page.Cell{Text: s.Key, Code: true, To: toSetting(s.Key), Under: s.About}
		value := quoted(s.Value)
		if s.Value != s.Default && s.Default != "" {
			value.Under = "default: " + s.Default
		}
		t.Row(key, value, page.Text(s.Source))
	}
	if of == "" { // There are many.
		v.Add(page.Words{
			Head: page.Head{ID: "changes"}, Links: []page.Link{{Text: history.Title, To: "#" + history.ID}},
		})
	}
	v.Add(t, history)
	return v, nil
}

// settingChanges are the changes of a setting, or of all, with the lines that were removed and added. A list has a line
// for each of its parts.
func settingChanges(of string, all []projections.SettingChange) page.Table {
	t := page.Table{
		Head:  page.Head{ID: "history", Title: "What starts found changed", Note: newestFirst},
		Heads: []string{"When", "Setting", "Change", "Source"}, Empty: "No change is recorded.",
	}
	if of != "" {
		t.Title += ": " + of
		t.Filter = []page.Filter{{Text: "all settings", To: page.To("settings")}}
	}
	lines := func(value string) []string { return strings.Split(cmp.Or(value, `""`), ",") }
	for _, c := range all {
		key := page.Cell{Text: c.Key, Code: true, To: toSetting(c.Key), Under: string(c.Member)}
		source, after := page.Text(c.Source), lines(c.After)
		if source.Under = "version " + c.Version; c.Source == "" {
			source.Text, after = "no such setting any more", nil
		}
		change := page.Cell{Lines: page.Difference(lines(c.Before), after)}
		if c.Hidden {
			change.Under = "what is hidden of it has changed"
		}
		t.Row(page.At(c.At), key, change, source)
	}
	return t
}

// toSetting is the address of a setting.
func toSetting(key string) string {
	return page.To("settings") + "?" + url.Values{"key": {key}}.Encode()
}

// quoted is a value of a setting, which may be empty, or have many parts.
func quoted(value string) page.Cell {
	return page.Cell{Text: cmp.Or(strings.ReplaceAll(value, ",", ", "), `""`), Code: true}
}
