package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use: "audit", Short: "Replay all streams and account for every byte, token and proof", Args: cobra.NoArgs,
		Long: "Replay all streams: every event can be read and stands where it should, every transition was\n" +
			"legal, the ledger is closed, proofs and collateral add up, the views equal a rebuild. The exit\n" +
			"code is 0 only when nothing is wrong; otherwise each finding names its place.",
		RunE: asking(a, look, func(ctx context.Context, b api.Backend, _ []string) (api.Audit, error) {
			return b.Audit(ctx)
		}, printAudit),
	}
}

// maxShown is how many findings people are shown; --json has all.
const maxShown = 50

func printAudit(p *paper, r api.Audit) error {
	verdict := p.colour(green, "CLEAN")
	if !r.Clean {
		verdict = p.colour(red, "NOT CLEAN")
	}
	p.line("%s: %s in %s, %s of which %d settled; %s, %s", verdict,
		count(r.Events, "event"), count(r.Streams, "stream"), count(r.Report.Sales, "sale"), r.SalesFinished,
		count(r.Errors, "error"), count(r.Warnings, "warning"))
	shown := 0
	for _, f := range r.Findings {
		if shown++; shown > maxShown {
			break
		}
		p.line("  %s", f)
	}
	if r.Store != nil {
		p.line("store: %s in %s checked with their indexes, %s", count(r.Store.Events, "event"),
			count(r.Store.Streams, "stream"), count(uint64(len(r.Store.Findings))+r.Store.More, "finding"))
		for _, f := range r.Store.Findings[:min(len(r.Store.Findings), maxShown)] {
			p.line("  %s", f.Sentence)
		}
	}
	if listed := uint64(len(r.Findings)); listed > maxShown || r.Errors+r.Warnings > listed {
		p.line("not all findings are shown; --json has the first %d", listed)
	}
	p.asOf(r.AsOf)
	if !r.Clean {
		return errQuiet
	}
	return nil
}
