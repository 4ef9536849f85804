package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/repair"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
)

// repaired is what repair answers.
type repaired struct {
	// Events is about the event store; left out when that is undamaged.
	Events   *repairedEvents  `json:"events,omitempty"`
	Outboxes []repairedOutbox `json:"outboxes,omitempty"`
	// Done: it was repaired. Kept names the damaged files that were kept.
	Done bool     `json:"done"`
	Kept []string `json:"kept,omitempty"`
}

type repairedEvents struct {
	Problem string `json:"problem"`
	// Kept events are carried over, Lost ones are not; Readable is how many can be read in all.
	Kept     uint64 `json:"kept"`
	Lost     uint64 `json:"lost"`
	Readable uint64 `json:"readable"`
}

type repairedOutbox struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
	// Recorded events are in the account's stream, Rescued ones readable only in
	// the file; Lost ones are readable but cannot be kept, and Bytes are
	// unreadable.
	Recorded int `json:"recorded"`
	Rescued  int `json:"rescued"`
	Lost     int `json:"lost"`
	Bytes    int `json:"illegibleBytes"`
}

func (a *app) repairCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "repair", Short: "Repair the event store or the outbox, and lose what is damaged", Args: cobra.NoArgs,
		Long: "Look for damage in the embedded event store and in the outbox of transactions, show what would be\n" +
			"lost, ask, and replace the damaged files by what is left of them. The damaged files are kept under\n" +
			"names that are shown. No host may be running. With --json nothing is asked, and without --yes\n" +
			"nothing is changed.\n\n" +
			"If there is a backup of the event store, it is better to restore that. Of a damaged event store\n" +
			"everything before the first unreadable event is kept, as if a backup from that time were restored,\n" +
			"and the loss is recorded. What happened since, the host asks the chain for when it starts.\n" +
			"The outbox is completed from the event store and from what is readable of it.",
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) error {
			return a.repair(cmd.Context(), c.Config, yes)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) repair(ctx context.Context, c config.Config, yes bool) (err error) {
	dir, err := datadir.OpenExisting(c.DataDir, a.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	var elsewhere events.Store
	if spec := stores.FromConfig(c); spec.Remote() {
		opened, err := stores.Open(ctx, spec, nil)
		if err != nil {
			return err
		}
		defer opened.Close()
		elsewhere = opened.Store
	}
	plan, err := repair.Examine(ctx, dir.Layout, elsewhere, a.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	answer := planned(plan)
	if plan.Empty() || a.JSON && !yes {
		return cli.Show(a.App, answer, printRepaired)
	}
	if !yes {
		if err := a.agree(ctx, answer); err != nil {
			return err
		}
	}
	answer.Kept, err = plan.Mend(ctx)
	if err != nil {
		return err
	}
	answer.Done = true
	return cli.Show(a.App, answer, printRepaired)
}

// agree shows what would be done and asks for consent.
func (a *app) agree(ctx context.Context, answer repaired) error {
	if err := cli.Show(a.App, answer, printRepaired); err != nil {
		return err
	}
	if _, err := io.WriteString(a.Stdout, "Do it? Type yes: "); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	agreed, err := a.Types(ctx, "yes")
	if err == nil && !agreed {
		err = problem.ErrNotAgreed
	}
	return err
}

func planned(p *repair.Plan) (answer repaired) {
	if e := p.Events; e != nil {
		answer.Events = &repairedEvents{
			Problem: e.Problem.Error(), Kept: uint64(e.Kept), Lost: p.Lost(), Readable: e.Readable,
		}
	}
	for _, d := range p.Outboxes {
		answer.Outboxes = append(answer.Outboxes, repairedOutbox{
			File: d.Path, Problem: d.Problem.Error(),
			Recorded: d.Recorded, Rescued: d.Rescued, Lost: d.LostEvents, Bytes: d.Lost,
		})
	}
	return answer
}

func printRepaired(p *cli.Printer, r repaired) error {
	if r.Done {
		p.Line("%s: start the host: %s", p.Colour(cli.Green, "REPAIRED"), p.Command("run"))
		if len(r.Outboxes) > 0 || r.Events != nil && r.Events.Lost > 0 {
			p.Line("if it says that it runs elsewhere, because the chain has transactions that were lost here: "+
				"%s, once", p.Command("run --take-over"))
		}
		for _, name := range r.Kept {
			p.Line("damaged files are kept in %s", name)
		}
		return nil
	}
	if r.Events == nil && len(r.Outboxes) == 0 {
		p.Line("%s: the event store and the outbox can be read as they were written", p.Colour(cli.Green, "WHOLE"))
		return nil
	}
	if e := r.Events; e != nil {
		p.Line("%s event store: %s", p.Colour(cli.Red, "DAMAGED"), e.Problem)
		p.Line("  %s can be kept, up to the first unreadable one", cli.Count(e.Kept, "event"))
		if e.Lost > 0 {
			p.Line("  %s after that would be LOST; %d in all can be read, and still can in the files that are kept",
				cli.Count(e.Lost, "event"), e.Readable)
			p.Line("  if there is a newer backup, restore that instead")
		}
	}
	for _, o := range r.Outboxes {
		p.Line("%s outbox %s: %s", p.Colour(cli.Red, "DAMAGED"), filepath.Base(o.File), o.Problem)
		p.Line("  %s from the event store and %d that only the file has are kept",
			cli.Count(o.Recorded, "event"), o.Rescued)
		p.Line("  %s and %d unreadable bytes would be LOST; the chain knows which of these transactions were sent",
			cli.Count(o.Lost, "event"), o.Bytes)
	}
	return nil
}
