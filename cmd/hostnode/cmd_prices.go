package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// This file has the hints about prices: what clients asked for lately, and what an offer would match of it.

func windowFlags(flags *pflag.FlagSet, w *api.Window) {
	flags.IntVar(&w.Requests, "requests", 1000, fmt.Sprintf("the most `requests` to look at, %d at most", api.MaxAsked))
	flags.IntVar(&w.Days, "days", 30, "look only at requests of so many `days` before the newest one")
}

func (a *app) pricesCommand() *cobra.Command {
	var q api.PricesQuestion
	cmd := &cobra.Command{
		Use: "prices", Short: "Show what clients asked for lately, and what your space on offer matches of it",
		Args: cobra.NoArgs,
	}
	windowFlags(cmd.Flags(), &q.Window)
	return cli.AsAt(a.App, cmd, asking(api.ShowPrices, &q), printPrices)
}

func printPrices(p *cli.Printer, all api.Prices) error {
	if all.Asked.Requests == 0 {
		return p.None("the record has no requests yet; a host reads them from the chain as soon as it runs", all.AsOf)
	}
	printAsked(p, all.Asked)
	rows := [][]string{{"", "SLOT SIZE", "DURATION", "COLLATERAL/BYTE", "PRICE"}}
	for _, level := range []struct {
		name string
		of   func(api.Spread) events.Amount
	}{
		{"least", func(s api.Spread) events.Amount { return s.Least }},
		{"10 % have less", func(s api.Spread) events.Amount { return s.Tenth }},
		{"half have less", func(s api.Spread) events.Amount { return s.Median }},
		{"90 % have less", func(s api.Spread) events.Amount { return s.Ninth }},
		{"most", func(s api.Spread) events.Amount { return s.Most }},
	} {
		rows = append(rows, []string{
			level.name, numbered(capacity.Size, level.of(all.SlotSize)),
			numbered(capacity.Duration, level.of(all.DurationSeconds)),
			numbered(capacity.Collateral, level.of(all.Collateral)), numbered(capacity.Price, level.of(all.Price)),
		})
	}
	p.Rows(rows)
	p.Line("your availabilities match %d of %d, if all of their space is free", all.Matched, all.Asked.Requests)
	for _, one := range all.Availabilities {
		p.Line("")
		p.Line("availability %s wants %s", cli.Short(one.ID), money.BasePrice(one.MinPrice))
		printHint(p, one.Hint, all.Asked)
	}
	return p.End(all.AsOf)
}

func printAsked(p *cli.Printer, asked api.Asked) {
	p.Line("%s from %s to %s", cli.Count(asked.Requests, "request"), cli.Clock(asked.From), cli.Clock(asked.Until))
	if asked.Cut {
		p.Line("there may be more: look at them with --requests")
	}
}

func printHint(p *cli.Printer, h api.Hint, asked api.Asked) {
	p.Line("  matches %d of %d", h.Matches, asked.Requests)
	for _, r := range h.Refused {
		nearest := ""
		if !r.Nearest.IsZero() {
			nearest = "; the nearest needs " + numbered(r.Criterion, r.Nearest)
		}
		p.Line("  not %d, because of %s%s", r.Requests, string(r.Criterion), nearest)
	}
	for _, step := range h.Prices {
		p.Line("  at %s it matches %d", money.BasePrice(step.MinPrice.String()), step.Matches)
	}
}

// numbered prints what a criterion is about.
func numbered(of capacity.Criterion, n events.Amount) string {
	switch of { //nolint:exhaustive // The others are about no number.
	case capacity.Size:
		return cli.Size(events.Bytes(n.Big().Uint64()))
	case capacity.Duration:
		return cli.Span(n.Big().Uint64())
	case capacity.Price:
		return money.BasePrice(n.String())
	}
	return money.Base(n.String())
}

// preview says what an offer would match, and puts nothing on offer.
func (a *app) preview(terms *offerTerms, w *api.Window) func(*cobra.Command, []string) error {
	return cli.Asking(a.App, cli.Look, func(ctx context.Context, b api.Backend, _ []string) (api.Preview, error) {
		q := api.PreviewQuestion{
			Window: *w, Size: *terms.Size, DurationSeconds: *terms.DurationSeconds, MinPrice: *terms.MinPrice,
			Collateral: *terms.Collateral,
		}
		if terms.Until != nil {
			q.Until = *terms.Until
		}
		return api.PreviewOffer.Ask(ctx, b, q)
	}, func(p *cli.Printer, v api.Preview) error {
		p.Line("nothing was put on offer; what this would match, if all of it is free:")
		printAsked(p, v.Asked)
		printHint(p, v.Hint, v.Asked)
		return p.End(v.AsOf)
	})
}
