package pages

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
)

// system is how the parts of the host are: what does not run first, then its store, its chain, its work and its data.
func system(ctx context.Context, q *page.Asked) (v page.View, err error) {
	s, err := api.ShowStatus.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = s.AsOf
	v.Add(failures(q, s), page.Join{Each: []page.Block{process(s), storeOf(s)}}, chainOf(s))
	pools := page.Table{
		Head:  page.Head{ID: "pools", Title: "Work", Note: "Calls on the world; each pool runs a few at once."},
		Heads: []string{"Pool", "Running", "Of at most", "Waiting"}, Empty: "No host runs.",
	}
	for _, p := range s.Pools {
		pools.Row(page.Text(p.Name), page.Number(p.Running), page.Number(p.Size), page.Number(p.Waiting))
	}
	v.Add(page.Join{Each: []page.Block{pools, scrubs(s)}})
	// Only a running host has some.
	if checks, err := checksOf(ctx, q, func(api.Check) bool { return true }); err == nil {
		v.Add(checks)
	}
	return v, nil
}

// failures are the parts that do not run, and the work that is left alone.
func failures(q *page.Asked, s api.Status) page.Notices {
	n := page.Notices{
		Head: page.Head{ID: "failures", Title: "Failures"}, Well: "All parts run, and no work is left alone.",
	}
	if !s.AsOf.Running {
		n.Well = "No work is left alone, as far as the record says."
	}
	for _, d := range s.Down {
		n.Each = append(n.Each, page.Notice{
			Level: page.Bad, Text: d.Part + " does not run: " + d.Reason, Since: d.Since,
			Do: "It is started again by itself. If it stays so, restart the host; its log has the cause.",
		})
	}
	for _, w := range s.Quarantined {
		n.Each = append(n.Each, page.Notice{
			Level: page.Bad, Text: "left alone after failures: " + w.Work + ": " + q.Token.Told(w.Reason),
			Since: w.Since, Do: "The log has the cause.", Forms: []page.Form{retry(w.Work)},
		})
	}
	if s.Views.Error != "" {
		n.Each = append(n.Each, page.Notice{
			Level: page.Bad, Text: "the views have stopped following the events: " + s.Views.Error,
			Do: "What is shown is old. Restart the host.",
		})
	}
	if s.Views.Skipped > 0 {
		n.Each = append(n.Each, page.Notice{
			Level: page.Warn, Text: cli.Count(s.Views.Skipped, "event") + " could not be read",
			Do: "hostnode audit says which.",
		})
	}
	return n
}

func process(s api.Status) page.Facts {
	f := page.Facts{Head: page.Head{ID: "process", Title: "Host"}}
	f.Fact("Version", page.Text(s.Version))
	if s.Epoch > 0 {
		f.Fact("Started", page.At(s.Since))
		f.Fact("Starts", page.Text(fmt.Sprint(s.Epoch)))
	}
	f.Fact("Account", page.Cell{Text: s.Account, Code: true})
	if b := s.Balance; b != nil {
		if f.Fact("Balance", page.Text(tokenOf(s).Amount(b.Tokens))); b.Error != "" {
			f.Fact("Balance", page.Stands(page.Warn, "unknown: "+b.Error))
		}
		f.Fact("For gas", page.Text(money.Gas(b.Wei)))
	}
	f.Fact("Member", page.Text(string(s.Member)))
	if s.Owner != "" {
		f.Fact("Owner", page.Leads(string(s.Owner), page.To("members")))
	}
	f.Fact("Data directory", page.Cell{Text: s.DataDir, Code: true})
	if d := s.Disk; d != nil {
		disk := page.Stands(page.Good, cli.Size(d.Free)+" free, of which "+cli.Size(d.Keep)+" stay free")
		if d.Full {
			disk.Level, disk.Under = page.Bad, "full since "+cli.Clock(d.Since)+": "+d.Reason
		}
		f.Fact("Disk", disk)
	}
	if o := s.Validator; o != nil && o.Enabled {
		of := page.Text(fmt.Sprintf("watches %d slots, skips %d, marks %d", o.Watching, o.Skipped, o.Marking))
		if o.Trouble != "" {
			of = page.Stands(page.Bad, "has stopped: "+o.Trouble)
		}
		f.Fact("Validator", of)
	}
	return f
}

func storeOf(s api.Status) page.Facts {
	f := page.Facts{Head: page.Head{ID: "store", Title: "Event store"}}
	switch r := s.Record; {
	case r.Away:
		f.Fact("Answers", page.Stands(page.Bad, fmt.Sprintf("no, since %s: %s", cli.Clock(r.Since), r.Reason)))
		f.Fact("Unanswered", page.Text(cli.Count(r.Unanswered, "call")))
	case s.AsOf.Running:
		f.Fact("Answers", page.Stands(page.Good, "yes"))
	}
	f.Fact("End of the record", page.Text(fmt.Sprintf("position %d", s.AsOf.Position)))
	f.Fact("Views", page.Text(fmt.Sprintf("have read to position %d", s.Views.AsOf)))
	f.Fact("Read the record", page.Leads("its machines and streams", page.To("machines")))
	return f
}

func chainOf(s api.Status) page.Facts {
	f, c := page.Facts{Head: page.Head{ID: "chain", Title: "Chain"}}, s.Chain
	if c.ID == 0 {
		f.Fact("Chain", page.Text("none is known yet"))
		return f
	}
	name := page.Text(fmt.Sprint(c.ID))
	if c.Development {
		name.Under = "a development chain, whose tokens are worth nothing"
	}
	f.Fact("Chain", name)
	f.Fact("Contract", page.Cell{Text: c.Contract, Code: true})
	if s.AsOf.Running {
		f.Fact("Head", chain(c))
		f.Fact("Hash", page.Cell{Text: c.HeadHash, Code: true})
		f.Fact("End point", page.Cell{Text: c.Endpoint, Code: true})
		f.Fact("In use since", page.At(c.EndpointSince))
	}
	if c.BlockTime > 0 {
		f.Fact("A block every", page.Text(fmt.Sprintf("%.3g s", c.BlockTime)))
	}
	if c.Limited {
		f.Fact("Limits", page.Stands(page.Warn, "the end points limit our requests"))
	}
	if c.FeeLimit != "" {
		f.Fact("Fees", page.Stands(page.Warn, c.FeeLimit))
	}
	if c.Signer != "" {
		f.Fact("Signer", page.Stands(page.Bad, c.Signer))
	}
	return f
}

// scrubs say when the stored data was read last, and how far the running pass is.
func scrubs(s api.Status) page.Facts {
	f := page.Facts{Head: page.Head{ID: "scrub", Title: "Scrub", Note: "Reads all stored data again and again."}}
	add := func(name string, began, lastBegan, lastEnded time.Time, at string) {
		last := page.Text("no whole pass yet")
		if !lastEnded.IsZero() {
			last = page.Text(cli.Clock(lastBegan) + " to " + cli.Clock(lastEnded))
		}
		f.Fact(name+", last pass", last)
		if !began.IsZero() {
			f.Fact(name+", running", page.Cell{Text: "since " + cli.Clock(began), Under: at})
		}
	}
	if p := s.Scrub; p != nil {
		at := ""
		if p.Slot != "" {
			at = fmt.Sprintf("at block %d of slot %s", p.Block, cli.Short(p.Slot))
		}
		add("Slots", p.Began, p.LastBegan, p.LastEnded, at)
	}
	if p := s.SectorScrub; p != nil {
		at := ""
		if p.Sector != 0 {
			at = fmt.Sprintf("at %s of sector %d", cli.Size(p.Offset), p.Sector)
		}
		add("Sectors", p.Began, p.LastBegan, p.LastEnded, at)
	}
	if len(f.Rows) == 0 {
		f.Note = "No host runs."
	}
	return f
}

var systemOrders = map[string]page.Order{
	"retry": {
		Done: "It is tried again; if it fails again, it is back in the list.",
		Do: func(ctx context.Context, q *page.Asked) error {
			_, err := api.TryAgain.Ask(ctx, q.Backend, api.Send(api.OfWork{Work: q.Get("work")}))
			return err
		},
	},
	"cancel": {
		Done: "The check is ended; what it has found stays.",
		Do: func(ctx context.Context, q *page.Asked) error {
			_, err := api.CancelCheck.Ask(ctx, q.Backend, api.OfCheck{ID: q.Get("check")})
			return err
		},
	},
}
