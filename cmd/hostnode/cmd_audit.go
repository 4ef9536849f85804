package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

func (a *app) auditCommand() *cobra.Command {
	var o api.AuditOptions
	var from uint64
	cmd := &cobra.Command{
		Use: "audit", Short: "Replay all streams and account for every byte, token and proof", Args: cobra.NoArgs,
		Long: "Replay all streams: every event can be read, stands where it should and comes from where it says,\n" +
			"every transition was legal, the ledger is closed, proofs and collateral add up, the views equal a\n" +
			"rebuild. With --chain the tokens that moved on chain are compared, too. docs/audit.md has the rules.\n\n" +
			"The record of a running host is audited by the host; with --store any other, for which the right to\n" +
			"read is enough.\n\n" +
			"Exit code 0: nothing is wrong. 1: there are findings, each with its place. 2: it could not be audited.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.From = events.Position(from)
			if o.Checkpoint != "" {
				whole, err := filepath.Abs(o.Checkpoint) // A running host has another working directory.
				if err != nil {
					return fmt.Errorf("%w: --checkpoint: %w", errUsage, err)
				}
				o.Checkpoint = whole
			}
			err := asking(a, lookBack, func(ctx context.Context, b api.Backend, _ []string) (api.Audit, error) {
				return b.Audit(ctx, o)
			}, printAudit)(cmd, args)
			if errors.Is(err, context.Canceled) && o.Checkpoint != "" {
				err = fmt.Errorf("%w; what is known is in %s, and the same command continues", err, o.Checkpoint)
			}
			if err != nil && !errors.Is(err, errQuiet) {
				return &unable{err}
			}
			return err
		},
	}
	cmd.Flags().Uint64Var(&from, "from", 0, "leave out findings up to this position; everything is read even so")
	cmd.Flags().StringVar(&o.Checkpoint, "checkpoint", "",
		"keep what is known in this file: an audit that was interrupted continues, the next one reads what is new")
	cmd.Flags().StringVar(&o.Chain, "chain", "",
		"compare tokens with this chain: an endpoint, or \""+api.OwnChain+"\" for the one that the host uses")
	return cmd
}

// unable is an error that prevented a check, rather than one that the check found.
type unable struct{ error }

func (e *unable) Unwrap() error { return e.error }

// maxShown is how many findings are printed for people; --json prints all.
const maxShown = 50

func printAudit(p *paper, r api.Audit) error {
	verdict := p.colour(green, "CLEAN")
	if !r.Clean {
		verdict = p.colour(red, "NOT CLEAN")
	}
	p.line("%s: %s in %s, %s of which %d settled; %s, %s", verdict,
		count(r.Events, "event"), count(r.Streams, "stream"), count(r.Report.Sales, "sale"), r.SalesFinished,
		count(r.Errors, "error"), count(r.Warnings, "warning"))
	if r.ContinuedFrom > 0 {
		p.line("continued from log position %d", r.ContinuedFrom)
	}
	if r.CheckpointIgnored != "" {
		p.line("%s begun with the first event: %s", p.colour(yellow, "note"), r.CheckpointIgnored)
	}
	if r.ChainCompared {
		p.line("the tokens on chain were compared")
	}
	for _, f := range r.Findings[:min(len(r.Findings), maxShown)] {
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
