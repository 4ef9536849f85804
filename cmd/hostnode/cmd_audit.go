package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

func (a *app) auditCommand() *cobra.Command {
	var o api.AuditOptions
	cmd := &cobra.Command{
		Use: "audit", Short: "Replay all streams and check every byte, token and proof", Args: cobra.NoArgs,
		Long: "Replay all streams and check them: every event can be read, is in the right place and has a true\n" +
			"cause; every step was allowed; the ledger, the proofs and the collateral add up; and the views are\n" +
			"the same as rebuilt ones. With --chain the tokens that moved on chain are compared, too.\n" +
			"The files of sectors and pieces in this host's directories are compared with the ledger.\n" +
			"docs/audit.md lists the rules.\n\n" +
			"A running host audits its own event store; with --store any other one is audited, for which the\n" +
			"right to read is enough.\n\n" +
			"Exit code 0: nothing is wrong. 1: there are findings. 2: the audit could not be carried out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Checkpoint != "" {
				whole, err := filepath.Abs(o.Checkpoint) // A running host has another working directory.
				if err != nil {
					return fmt.Errorf("%w: --checkpoint: %w", cli.ErrUsage, err)
				}
				o.Checkpoint = whole
			}
			err := cli.Asking(a.App, cli.LookBack, func(
				ctx context.Context, b api.Backend, _ []string,
			) (api.Audit, error) {
				return api.RunAudit.Ask(ctx, b, o)
			}, printAudit)(cmd, args)
			if errors.Is(err, context.Canceled) && o.Checkpoint != "" {
				err = fmt.Errorf("%w; the same command continues from the state in %s", err, o.Checkpoint)
			}
			if err != nil && !errors.Is(err, errQuiet) {
				return &unable{err}
			}
			return err
		},
	}
	cmd.Flags().Uint64Var((*uint64)(&o.From), "from", 0,
		"leave out findings up to this position; all events are read all the same")
	cmd.Flags().StringVar(&o.Checkpoint, "checkpoint", "",
		"save the state in this file: an interrupted audit continues from it, and the next one reads only new events")
	cmd.Flags().StringVar(&o.Chain, "chain", "",
		"compare tokens with this chain: an endpoint, or \""+api.OwnChain+"\" for the one that the host uses")
	return cmd
}

// unable is an error that prevented a check, rather than one that the check found.
type unable struct{ error }

func (e *unable) Unwrap() error { return e.error }

// maxShown is how many findings are printed for people; --json prints all.
const maxShown = 50

func printAudit(p *cli.Printer, r api.Audit) error {
	verdict := p.Colour(cli.Green, "CLEAN")
	if !r.Clean {
		verdict = p.Colour(cli.Red, "NOT CLEAN")
	}
	p.Line("%s: %s in %s, %s of which %d settled; %s, %s", verdict,
		cli.Count(r.Events, "event"), cli.Count(r.Streams, "stream"), cli.Count(r.Report.Sales, "sale"),
		r.SalesFinished, cli.Count(r.Errors, "error"), cli.Count(r.Warnings, "warning"))
	if s := r.Sectors; s != nil {
		p.Line("sectors: %s; %d over; %s and deposits of %s are held for them", states(s.States), s.Over,
			cli.Size(s.Bytes), money.Base(s.Deposits))
		p.Line("sectors: of deposits %s returned, %s lost; the contract has paid %s, rewards included",
			money.Base(s.Returned), money.Base(s.Lost), money.Base(s.Withdrawn))
	}
	if f := r.Files; f != nil && f.Sectors+f.Pieces > 0 {
		p.Line("the files of %s and %s were compared with the ledger", cli.Count(f.Sectors, "sector"),
			cli.Count(f.Pieces, "piece"))
	}
	if n := r.TransactionsUnderWay; n > 0 {
		p.Line("under way: %s without an outcome yet", cli.Count(n, "transaction"))
	}
	if r.ContinuedFrom > 0 {
		p.Line("continued from log position %d", r.ContinuedFrom)
	}
	if r.CheckpointIgnored != "" {
		p.Line("%s begun with the first event: %s", p.Colour(cli.Yellow, "note"), r.CheckpointIgnored)
	}
	if r.ChainCompared {
		p.Line("the tokens on chain were compared")
	}
	for _, f := range r.Findings[:min(len(r.Findings), maxShown)] {
		p.Line("  %s", f)
	}
	if r.Store != nil {
		p.Line("store: %s in %s checked with their indexes, snapshots included, %s", cli.Count(r.Store.Events, "event"),
			cli.Count(r.Store.Streams, "stream"), cli.Count(uint64(len(r.Store.Findings))+r.Store.More, "finding"))
		for _, f := range r.Store.Findings[:min(len(r.Store.Findings), maxShown)] {
			p.Line("  %s", f.Sentence)
		}
	}
	if listed := uint64(len(r.Findings)); listed > maxShown || r.Errors+r.Warnings > listed {
		p.Line("not all findings are shown; --json has the first %d", listed)
	}
	p.AsOf(r.AsOf)
	if !r.Clean {
		return errQuiet
	}
	return nil
}
