package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
)

func (a *app) replayCommand() *cobra.Command {
	var at string
	var list bool
	cmd := &cobra.Command{
		Use: "replay STREAM", Short: "Show the present or past state of one machine, from its stream",
		Long: "Fold the events of one stream with the core of its machine and show the resulting state: that of a\n" +
			"sale, a sector, the ledger (capacity), the queue (slotqueue), the starts of a host, its transactions\n" +
			"(tx), or the events of the contract (market).\n\n" +
			"STREAM may be shortened: `sale-0xab…-0x51`, the first digits of a slot, `sector-7`, or `capacity` if\n" +
			"there is only one such stream.\n\n" +
			"--at takes a revision of the stream (17), a position in the log (@1234) or a time. Times are by the\n" +
			"clock of the store's machine: 2026-11-20T08:00:00Z, 2026-11-20 for the beginning of that day in UTC,\n" +
			"-2h for two hours ago. The state is the one after the last event up to then.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			when, err := api.ParseWhen(at, a.Now())
			if err != nil {
				return fmt.Errorf("%w: --at: %w", cli.ErrUsage, err)
			}
			return cli.Asking(a.App, cli.LookBack, func(
				ctx context.Context, b api.Backend, args []string,
			) (replay.Result, error) {
				return api.ReplayStream.Ask(ctx, b, api.ReplayQuestion{Stream: args[0], At: when, Events: list})
			}, printReplay)(cmd, args)
		},
	}
	cmd.Flags().StringVar(&at, "at", "",
		"the state after this revision (17), position (@1234) or time; default: the present")
	cmd.Flags().BoolVar(&list, "events", false, "also list the events that led to the state")
	return cmd
}

func printReplay(p *cli.Printer, r replay.Result) error {
	p.Line("%s", r.Stream)
	p.Line("after revision %d of %d, log position %d, recorded %s", r.Revision, r.Last, r.Position,
		r.Recorded.Format(time.RFC3339))
	if r.Removed > 0 {
		p.Line("%s %s removed from the beginning of the stream; the state lacks what was in them",
			p.Colour(cli.Yellow, "note"), cli.Plural(r.Removed, "event was", "events were"))
	}
	if r.Unread > 0 {
		p.Line("%s %s could not be read and was skipped; see hostnode audit", p.Colour(cli.Red, "trouble"),
			cli.Count(r.Unread, "event"))
	}
	p.Line("")
	var rows [][]string
	for _, f := range r.State.Facts {
		rows = append(rows, []string{f.Name, f.Value})
	}
	p.Rows(rows)
	for _, l := range r.State.Lists {
		p.Line("")
		p.Line("%s", l.Name)
		for _, row := range l.Rows {
			text := " "
			for _, f := range row {
				text += " " + f.Name + "=" + f.Value
			}
			p.Line("%s", text)
		}
		if l.More > 0 {
			p.Line("  and %d more", l.More)
		}
	}
	if len(r.History) == 0 {
		return nil
	}
	p.Line("")
	rows = [][]string{{"REVISION", "RECORDED", "TYPE", "WHAT"}}
	for _, e := range r.History {
		rows = append(rows, []string{fmt.Sprint(e.Revision), cli.Clock(e.Recorded), e.Type, e.Sentence})
	}
	p.Rows(rows)
	return nil
}
