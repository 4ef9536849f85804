package main

import (
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

func (a *app) quarantineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "quarantine", Short: "Show the work that is in quarantine after failures", Args: cobra.NoArgs,
		Long: "Show the work that is in quarantine, which the host leaves alone: sales whose events cannot be read\n" +
			"or whose rules fail, and offers, commands of the ledger and duties on which a part of the host\n" +
			"failed twice. The host's log has the cause of each. Sales and duties are tried again automatically.",
		RunE: cli.Asking(a.App, cli.Look, cli.Plain(api.ListQuarantine), printQuarantine),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "retry WORK", Short: "Try quarantined work again, by its name in the list", Args: cobra.ExactArgs(1),
		RunE: cli.Asking(a.App, cli.Look, cli.Named(api.TryAgain, ofWork), printTriedAgain),
	})
	return cmd
}

func printQuarantine(p *cli.Printer, q api.Quarantine) error {
	if len(q.Work) == 0 {
		p.Line("nothing is quarantined")
	}
	for _, w := range q.Work {
		p.Line("%s, since %s: %s", w.Work, cli.Clock(w.Since), w.Reason)
		p.Line("  try it again: hostnode quarantine retry %s", w.Work)
	}
	return p.End(q.AsOf)
}

func printTriedAgain(p *cli.Printer, q api.Quarantine) error {
	p.Line("it is tried again; when it fails again it is back in this list")
	return printQuarantine(p, q)
}

func ofWork(name string) api.Sent[api.OfWork] { return api.Send(api.OfWork{Work: name}) }
