package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

// checkEvery is how often a host is asked how far a check has come.
const checkEvery = 500 * time.Millisecond

func (a *app) checkCommand() *cobra.Command {
	var sector uint64
	cmd := &cobra.Command{
		Use: "check SLOT|--sector N", Short: "Read all data of one slot or sector, and say whether it is sound",
		Args: cobra.MaximumNArgs(1), Example: "hostnode check 0x1fbe",
		Long: "Have the running host read all data of one slot or sector now, at the pace of the scrub, and show\n" +
			"the progress. Of a sector a proof is made and verified, too. What is damaged is recorded and\n" +
			"repaired as if the scrub had found it. If the command is interrupted, the check goes on.\n\n" +
			"Exit code 0: all is sound. 1: it is not, or that could not be found out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			of := api.ToCheck{Sector: sector}
			if len(args) > 0 {
				of.Slot = args[0]
			}
			if (of.Slot != "") == (sector != 0) {
				return fmt.Errorf("%w: name a slot, or a sector with --sector", cli.ErrUsage)
			}
			return cli.Asking(a.App, cli.Look, func(ctx context.Context, b api.Backend, _ []string) (api.Check, error) {
				return a.awaitCheck(ctx, b, of)
			}, func(p *cli.Printer, c api.Check) error {
				p.Line("%s", checkLine(c))
				if c.State != checks.Fine {
					return fmt.Errorf("%w: %w", errQuiet, exit(exitFailed))
				}
				return nil
			})(cmd, args)
		},
	}
	a.completingSlots(cmd)
	cmd.Flags().Uint64Var(&sector, "sector", 0, "check the sector of this number")
	return cmd
}

// awaitCheck begins a check and returns it when it is over. For people it shows how far it has come.
func (a *app) awaitCheck(ctx context.Context, b api.Backend, of api.ToCheck) (c api.Check, err error) {
	shown := ""
	for c, err = api.BeginCheck.Ask(ctx, b, api.Send(of)); err == nil && !c.Over; {
		if now := checkLine(c); !a.JSON && now != shown {
			shown = now
			fmt.Fprintln(a.Stderr, now)
		}
		select {
		case <-ctx.Done():
		case <-time.After(checkEvery):
		}
		c, err = api.ShowCheck.Ask(ctx, b, api.OfCheck{ID: c.ID})
	}
	if errors.Is(err, context.Canceled) && shown != "" {
		err = fmt.Errorf("%w; the check goes on: hostnode checks", err)
	}
	return c, err
}

// checkLine says how a check stands.
func checkLine(c api.Check) string {
	text := fmt.Sprintf("check %s of slot %s: %s", c.ID, cli.Short(c.Slot), c.State)
	if c.Sector != 0 {
		text = fmt.Sprintf("check %s of sector %d: %s", c.ID, c.Sector, c.State)
	}
	if c.Of > 0 {
		percent := uint64(c.Done * 100 / c.Of)
		text += fmt.Sprintf(", %d%% of %s read", percent, cli.Size(c.Of))
	}
	if c.DamagedBlocks > 0 {
		text += ", " + cli.Count(c.DamagedBlocks, "damaged block")
	}
	if c.Proves != "" {
		text += ", a proof of " + c.Proves + " verifies"
	}
	if c.Reason != "" {
		text += "; " + c.Reason
	}
	return text
}

func (a *app) checksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "checks", Short: "Show checks of slots and sectors: those under way, the newest outcomes",
		Args: cobra.NoArgs, RunE: cli.Asking(a.App, cli.Look, cli.Plain(api.ListChecks), printChecks),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "cancel ID", Short: "End a check; what it has found stays reported", Args: cobra.ExactArgs(1),
		RunE: cli.Asking(a.App, cli.Look, cli.Named(api.CancelCheck, func(id string) api.OfCheck {
			return api.OfCheck{ID: id}
		}), func(p *cli.Printer, c api.Check) error {
			p.Line("%s", checkLine(c))
			return nil
		}),
	})
	return cmd
}

func printChecks(p *cli.Printer, all api.Checks) error {
	if len(all.Checks) == 0 {
		p.Line("nothing was checked since the host started; check a slot: hostnode check SLOT")
	}
	for _, c := range all.Checks {
		p.Line("%s: %s", cli.Clock(c.Asked), checkLine(c))
	}
	return p.End(all.AsOf)
}
