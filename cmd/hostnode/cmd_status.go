package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

func (a *app) statusCommand() *cobra.Command {
	write, told := printStatus, false
	cmd := cli.AsAt(a.App, &cobra.Command{
		Use: "status", Short: "Show whether the host sells, and the state of all its parts", Args: cobra.NoArgs,
		Long: "Show whether the host sells, and the state of all its parts. The exit code is 0 when there is an\n" +
			"answer, whatever it says. With --exit-code it says what the first line says. 0: the host sells and\n" +
			"proves; one that is there for sectors or validates need not sell. 3: it proves, and does not sell,\n" +
			"or that is not known. 4: it does not prove, or that is not known. 1 and 2 are errors, as always. Of\n" +
			"several members it is about the whole host, as far as the one that is asked knows it.",
	}, cli.Plain(api.ShowStatus), func(p *cli.Printer, s api.Status) error { return write(p, s) })
	cmd.Flags().BoolVar(&told, "exit-code", false, "end with 3 if the host does not sell, with 4 if it does not prove")
	ask := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if told && cmd.Flag("at").Value.String() != "" {
			return fmt.Errorf("%w: --exit-code is about the present, leave --at out", cli.ErrUsage)
		}
		if told {
			write = func(p *cli.Printer, s api.Status) error { return errors.Join(printStatus(p, s), exitOf(s)) }
		}
		err := ask(cmd, args)
		switch {
		case cmd.Flag("at").Value.String() != "" || errors.Is(err, cli.ErrAskTheHost):
			return err
		case errors.Is(err, datadir.ErrEmpty):
			return a.statusWithout(cmd, health.Facts{Stage: health.NeverRun}, write)
		case errors.Is(err, datadir.ErrInUse): // A process that nobody can ask.
			return a.statusWithout(cmd, health.Facts{Stage: health.Silent}, write)
		case errors.Is(err, problem.ErrSilent):
			return a.statusWithout(cmd, health.Facts{Stage: health.Silent, Listens: true}, write)
		}
		return err
	}
	return cmd
}

// statusWithout prints the status when there is no host to ask.
func (a *app) statusWithout(cmd *cobra.Command, f health.Facts, write func(*cli.Printer, api.Status) error) error {
	c, err := a.Settings(cmd)
	if err != nil {
		return err
	}
	f.DataDir, f.Typed = c.DataDir, a.Typed
	if holder := datadir.At(c.DataDir).Holder(); f.Stage == health.Silent {
		f.Process, f.StageSince = holder.PID, holder.Since
	}
	s := api.StatusWithout(f)
	s.AsOf = api.AsOf{Time: a.Now().UTC()}
	return cli.Show(a.App, s, write)
}

// exitOf is the exit code of a status, by its headline; nil: the host does what it is there for.
func exitOf(s api.Status) error {
	switch {
	case s.NotProving, s.Elsewhere:
		return fmt.Errorf("%w: %w", errQuiet, exit(exitNotProving))
	case !s.Selling && s.Purpose == "":
		return fmt.Errorf("%w: %w", errQuiet, exit(exitNotSelling))
	}
	return nil
}

func printStatus(p *cli.Printer, s api.Status) error {
	p.Line("%s: %s", cli.Headline(p, s), s.Reason)
	if s.Hint != "" {
		p.Line("  %s", s.Hint)
	}
	also(p, s.Readiness[min(1, len(s.Readiness)):], nil)
	if h := s.Here; h != nil {
		p.Line("member %s: %s: %s", s.Member, cli.Standing(p, *h), h.Reason)
		if h.Hint != "" && h.Reason != s.Reason {
			p.Line("  %s", h.Hint)
		}
		also(p, h.Readiness[min(1, len(h.Readiness)):], s.Readiness)
	}
	for _, w := range s.Warnings {
		p.Line("%s: %s", p.Colour(cli.Yellow, "warning"), w.Reason)
		p.Line("  %s", w.Hint)
	}
	p.AsOf(s.AsOf)
	p.Line("")
	if s.AsOf.Position == 0 { // Nothing is recorded.
		p.Line("data directory  %s", s.DataDir)
		return nil
	}
	rows := slices.Concat([][]string{{"data directory", s.DataDir}}, cli.Given([][]string{{"account", s.Account}}),
		balanceRows(s.Balance))
	if s.Epoch > 0 {
		started := fmt.Sprintf("start %d at %s", s.Epoch, cli.Clock(s.Since))
		if s.Version != "" {
			started += ", version " + s.Version
		}
		rows = append(rows, []string{"host", started})
	}
	if s.Member != "" {
		rows = append(rows, memberRows(s)...)
	}
	p.Rows(slices.Concat(rows, chainRows(s, p.Now), ledgerRows(p, s), diskRows(s.Disk), scrubRows(s),
		workRows(s), sectorRows(s.Sectors), validatorRows(s.Validator)))
	for _, d := range s.Down {
		p.Line("%s %s is down since %s: %s", p.Colour(cli.Red, "trouble"), d.Part, cli.Clock(d.Since), d.Reason)
	}
	if n := len(s.Quarantined); n > 0 {
		p.Line("%s %s in quarantine after failures; see hostnode quarantine",
			p.Colour(cli.Red, "trouble"), cli.Plural(n, "piece of work is", "pieces of work are"))
	}
	for _, t := range s.Trouble {
		p.Line("%s %s", p.Colour(cli.Red, "trouble"), trouble(t))
	}
	if s.Views.Error != "" {
		p.Line("%s the views stopped following the events: %s", p.Colour(cli.Red, "trouble"), s.Views.Error)
	}
	if s.Views.Skipped > 0 {
		p.Line("%s %s could not be read; see hostnode audit", p.Colour(cli.Red, "trouble"),
			cli.Count(s.Views.Skipped, "event"))
	}
	return nil
}

// memberRows say which member this is, and which has the term.
func memberRows(s api.Status) [][]string {
	rows := [][]string{{"member", string(s.Member)}}
	switch {
	case s.Owner == s.Member:
		rows = append(rows, []string{"", "it has the term since " + cli.Clock(s.OwnerSince)})
	case s.Owner != "":
		rows = append(rows, []string{"", fmt.Sprintf("%s has the term since %s", s.Owner, cli.Clock(s.OwnerSince))})
	}
	return rows
}

// also lists obstacles, except those that were told before.
func also(p *cli.Printer, all, told []api.Obstacle) {
	for _, o := range all {
		if !slices.ContainsFunc(told, func(t api.Obstacle) bool { return t.Code == o.Code && t.Reason == o.Reason }) {
			p.Line("also: %s", o.Reason)
			p.Line("  %s", o.Hint)
		}
	}
}

func balanceRows(b *api.Balance) [][]string {
	switch {
	case b == nil:
		return nil
	case b.Error != "":
		return [][]string{{"balance", "unknown: " + b.Error}}
	}
	return [][]string{
		{"tokens", money.Base(b.Tokens)},
		{"gas money", money.Wei(b.Wei)},
	}
}

func chainRows(s api.Status, now time.Time) [][]string {
	c := s.Chain
	if c.ID == 0 {
		return nil
	}
	where := fmt.Sprintf("%d", c.ID)
	if c.Development {
		where += " (development chain, its tokens are worth nothing)"
	}
	if c.Endpoint != "" {
		where += " at " + c.Endpoint
	}
	rows := [][]string{{"chain", where}}
	if c.FirstEndpoint != "" {
		rows = append(rows, []string{"", fmt.Sprintf("since %s, because of the first one, %s: %s",
			cli.Clock(c.EndpointSince), c.FirstEndpoint, c.WhyNotFirst)})
	}
	if c.BlockTime > 0 {
		every, from := fmt.Sprintf("%g seconds", c.BlockTime), "as measured"
		if c.BlockTime == 1 {
			every = "second"
		}
		switch {
		case c.BlockTimeSet && c.Development:
			from = "the development chain's block time"
		case c.BlockTimeSet:
			from = "as configured"
		}
		rows = append(rows, []string{"", fmt.Sprintf("a block every %s, %s", every, from)})
	}
	rows = append(rows, []string{"contract", c.Contract})
	if c.HeadTime.IsZero() {
		return rows
	}
	head := fmt.Sprintf("block %s, chain time %s", money.Grouped(fmt.Sprint(c.Head)), cli.Clock(c.HeadTime))
	// The time of a development chain is independent of ours, so its age means nothing.
	if age := now.Sub(c.HeadTime); !c.Development && age >= 0 {
		head += ", " + cli.Span(uint64(age/time.Second)) + " ago"
	}
	switch {
	case c.Away:
		head += ", and no answer since"
	case c.Stalled:
		head += ", SILENT for too long"
	case !c.Live:
		head += ", catching up"
	}
	return append(rows, []string{"head", head})
}

func ledgerRows(p *cli.Printer, s api.Status) [][]string {
	l, quota := s.Ledger, cli.Size(s.Ledger.Quota)
	if s.Quota != 0 {
		quota += ", and the configuration gives " + cli.Size(s.Quota)
	}
	rows := [][]string{{"quota", quota}}
	for _, part := range []struct {
		name  string
		bytes events.Bytes
	}{
		{"unallocated", l.Unallocated},
		{"free on offer", l.Free},
		{"reserved", l.Reserved},
		{"stored", l.Stored},
		{"overhead", l.Overhead},
		{"sectors", l.Sectors},
		{"pieces", l.Pieces},
	} {
		if (part.name == "sectors" || part.name == "pieces") && part.bytes == 0 {
			continue // A host that has none need not hear of them.
		}
		amount := strings.TrimSpace(cli.Size(part.bytes) + "  " + p.Bar(part.bytes, l.Quota))
		rows = append(rows, []string{"  " + part.name, amount})
	}
	return append(rows, []string{"availabilities", fmt.Sprint(len(l.Availabilities))})
}

// diskRows say how much room the disk has.
func diskRows(d *api.Disk) [][]string {
	if d == nil {
		return nil
	}
	return [][]string{{"disk", fmt.Sprintf("%s left, of which %s stay free", cli.Size(d.Free), cli.Size(d.Keep))}}
}

// scrubRows say when the stored data was last checked, and how far the running check is.
func scrubRows(s api.Status) (rows [][]string) {
	if p := s.Scrub; p != nil {
		at := ""
		if p.Slot != "" {
			at = fmt.Sprintf("block %d of slot %s", p.Block, cli.Short(p.Slot))
		}
		rows = append(rows, []string{"scrub", passes(p.Began, p.LastBegan, p.LastEnded, at)})
	}
	if p := s.SectorScrub; p != nil {
		at := ""
		if p.Sector != 0 {
			at = fmt.Sprintf("%s of sector %d", cli.Size(p.Offset), p.Sector)
		}
		rows = append(rows, []string{"scrub of sectors", passes(p.Began, p.LastBegan, p.LastEnded, at)})
	}
	return rows
}

// passes say when the last pass of a scrub was, and how far the running one is.
func passes(began, lastBegan, lastEnded time.Time, at string) string {
	last := "no whole pass yet"
	if !lastEnded.IsZero() {
		last = fmt.Sprintf("last whole pass %s to %s", cli.Clock(lastBegan), cli.Clock(lastEnded))
	}
	if !began.IsZero() {
		last += ", one runs since " + cli.Clock(began)
		if at != "" {
			last += ", at " + at
		}
	}
	return last
}

func workRows(s api.Status) [][]string {
	queue := fmt.Sprintf("%s waiting, %d in work", cli.Count(s.Queue.Length, "slot"), len(s.Queue.Taken))
	if s.Queue.Paused {
		queue += ", paused: " + s.Queue.PausedFor
	}
	var open []string
	for _, phase := range slices.Sorted(maps.Keys(s.Phases)) {
		open = append(open, fmt.Sprintf("%d %s", s.Phases[phase], phase))
	}
	e := s.Earnings
	c, pr := e.Sales, e.Proofs
	rows := [][]string{
		{"queue", queue},
		{"sales", cmp.Or(strings.Join(open, ", "), "none open")},
		{"  settled", fmt.Sprintf("%d finished, %d cancelled, %d failed, %d errored, %d let go",
			c.Finished, c.Cancelled, c.Failed, c.Errored, c.Ignored)},
		{"proofs", fmt.Sprintf("%d submitted, %d missed, %d open, %d excused",
			pr.Submitted, pr.Missed, pr.Open, pr.Excused)},
	}
	if e.Rewards != "" {
		rows = append(rows, []string{"earned", fmt.Sprintf("%s net, %s paid for gas",
			money.Base(e.Net), money.Wei(e.FeesWei))})
		for _, part := range []struct{ amount, what string }{
			{e.RepairRewards, " of it was left of the collateral for repairs"},
			{e.ValidatorRewards, " of it came for marking missing proofs of other hosts"},
			{e.RewardsElsewhere, " of it went to account.rewardRecipient"},
		} {
			if part.amount != "" && part.amount != "0" {
				rows = append(rows, []string{"", money.Base(part.amount) + part.what})
			}
		}
	}
	return rows
}

// sectorRows say how the sectors are; a host that never had one need not hear of them.
func sectorRows(s *api.SectorSummary) [][]string {
	if s == nil {
		return nil
	}
	rows := [][]string{{"sectors", stateCounts(s.Counts)}}
	if s.Parked+s.Paused+s.Faulty > 0 {
		stuck := fmt.Sprintf("%d parked, %d paused, %d faulty", s.Parked, s.Paused, s.Faulty)
		if s.Parked > 0 {
			stuck += "; what is parked waits for somebody: hostnode sectors list"
		}
		rows = append(rows, []string{"  stuck", stuck})
	}
	rows = append(rows, []string{"  deposits", fmt.Sprintf("%s at stake, %s returned, %s lost",
		money.Base(s.Deposit), money.Base(s.Returned), money.Base(s.Lost))})
	if s.Withdrawn != "0" {
		rows = append(rows, []string{"  withdrawn", money.Base(s.Withdrawn) +
			" of returned deposits and rewards, by the ledger"})
	}
	if s.Owed != "" && s.Owed != "0" {
		rows = append(rows, []string{"  owed", money.Base(s.Owed) +
			" that the contract owes, withdrawn from time to time"})
	}
	return rows
}

func trouble(t api.Trouble) string {
	if t.Quarantined != "" {
		return fmt.Sprintf("slot %s was set aside: %s; what it owes is NOT PROVEN. Look for the cause with "+
			"hostnode sale %s and in the log; it is tried again by itself, and at once after a restart",
			cli.Short(t.Slot), t.Quarantined, t.Slot)
	}
	if t.Damaged != "" {
		text := fmt.Sprintf("slot %s since %s, by the chain's time: %s",
			cli.Short(t.Slot), cli.Clock(t.DamagedSince), t.Damaged)
		if t.Error != "" {
			text += fmt.Sprintf(" Tried %s: %s", cli.Count(t.Tries, "time"), t.Error)
		}
		return text
	}
	return fmt.Sprintf("slot %s waits for %s: %s (%s, since %s)",
		cli.Short(t.Slot), t.Waiting, t.Error, cli.Count(t.Tries, "try"), cli.Clock(t.Since))
}
