package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/doctor"
)

// defaultExamination is how long an examination may take: several times as long as on a small machine.
const defaultExamination = 30 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine whether this machine and these settings can sell", Args: cobra.NoArgs,
		Long: "Examine whether this machine and these settings can sell, before a host runs or beside it: files,\n" +
			"ports, disk, event store, account, end points of the chain, clock, fees, balance, hashing, proving\n" +
			"keys, and how long a proof takes. It writes one test file of 64 MiB, which is gone at the end, and\n" +
			"sends nothing.\n\n" +
			"Exit code 0: all is OK, or there are warnings. 1: something FAILs.",
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("%w: --timeout must be more than zero", cli.ErrUsage)
			}
			report, err := doctor.Examine(cmd.Context(), doctor.Options{Config: c.Config, Timeout: timeout, Now: a.Now})
			return errors.Join(cli.Show(a.App, report, printReport), err)
		}),
	}
	settingFlags(cmd, "quota", "chain-endpoint", "chain-contract", "content-sources")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultExamination, "how long each examination may take")
	return cmd
}

func printReport(p *cli.Printer, r doctor.Report) error {
	colours := map[doctor.Result]string{doctor.OK: cli.Green, doctor.Warn: cli.Yellow, doctor.Fail: cli.Red}
	for _, f := range r.Findings {
		p.Line("%s %-12s %s", p.Colour(colours[f.Result], fmt.Sprintf("%-4s", f.Result)), f.Check, f.Found)
		if f.Hint == "" {
			continue
		}
		if f.Code != "" {
			p.Line("%17s %s [%s]", "", f.Hint, f.Code)
		} else {
			p.Line("%17s %s", "", f.Hint)
		}
	}
	if r.Result == doctor.Fail {
		return errQuiet
	}
	return nil
}
