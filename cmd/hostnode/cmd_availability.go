package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

func (a *app) availabilityCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{Use: "availability", Short: "Put space on offer, change an offer, withdraw it"},
		a.availabilityList(), a.availabilityAdd(), a.availabilitySet(),
		a.availabilitySwitch("enable", "Sell from an availability again", true),
		a.availabilitySwitch("disable", "Sell nothing new from an availability; its sales go on", false),
		&cobra.Command{
			Use: "remove ID", Short: "Remove an availability that has no sales", Args: cobra.ExactArgs(1),
			RunE: cli.Asking(a.App, cli.Change, func(ctx context.Context, b api.Backend, args []string) (gone, error) {
				answer, err := api.RemoveAvailability.Ask(ctx, b, api.OfAvailability{ID: args[0]})
				return gone{answer.ID}, err
			}, func(p *cli.Printer, g gone) error {
				p.Line("removed availability %s", g.ID)
				return nil
			}),
		},
	)
}

// gone answers that an availability was removed.
type gone struct {
	ID string `json:"removed"`
}

func (a *app) availabilityList() *cobra.Command {
	return cli.AsAt(a.App, &cobra.Command{
		Use: "list", Short: "List the space on offer, and how much of it is sold", Args: cobra.NoArgs,
	}, cli.Plain(api.ShowLedger), printAvailabilities)
}

func printAvailabilities(p *cli.Printer, l api.Ledger) error {
	if len(l.Availabilities) == 0 {
		p.Line("nothing is on offer; put space on offer with %s", p.Command("availability add"))
	} else {
		p.Rows(availabilityRows(l.MarketTime, l.Availabilities...))
	}
	sectors := ""
	if l.Sectors > 0 {
		sectors = ", " + cli.Size(l.Sectors) + " sectors"
	}
	if l.Pieces > 0 {
		sectors += ", " + cli.Size(l.Pieces) + " pieces"
	}
	p.Line("quota %s: %s unallocated, %s free on offer, %s reserved, %s stored, %s overhead%s",
		cli.Size(l.Quota), cli.Size(l.Unallocated), cli.Size(l.Free), cli.Size(l.Reserved), cli.Size(l.Stored),
		cli.Size(l.Overhead), sectors)
	return p.End(l.AsOf)
}

func availabilityRows(now time.Time, all ...projections.Availability) [][]string {
	rows := [][]string{{
		"MEMBER", "ID", "STATE", "SIZE", "FREE", "LONGEST", "MIN PRICE", "COLLATERAL LEFT", "UNTIL", "SALES",
	}}
	for _, v := range all {
		state := "enabled"
		if !v.Enabled {
			state = "disabled"
		} else if !v.Until.IsZero() && !now.Before(v.Until) {
			state = "over since " + cli.Clock(v.Until)
		}
		rows = append(rows, []string{
			string(v.Member), cli.Short(v.ID), state, cli.Size(v.TotalSize), cli.Size(v.FreeSize),
			cli.Span(v.DurationSeconds), money.BasePrice(v.MinPrice),
			money.Base(v.Remaining) + " of " + money.Base(v.Collateral), cli.Clock(v.Until),
			fmt.Sprint(v.Reservations),
		})
	}
	several := slices.ContainsFunc(all, func(v projections.Availability) bool { return v.Member != "" })
	return cli.Without(rows, map[string]bool{"MEMBER": !several})
}

// offerTerms are what add and set are told. Those that are given change something.
type offerTerms struct {
	api.Changes
	minPrice, collateral *money.Entry
}

// offerFlags are the flags that add and set share.
func offerFlags(flags *pflag.FlagSet) *offerTerms {
	c := &offerTerms{}
	readFlag(flags, cli.ParseSize, func(n events.Bytes) { c.Size = &n },
		"size", "space on offer, a `size` such as 10GiB")
	readFlag(flags, cli.ParseDuration, func(d time.Duration) { c.DurationSeconds = new(uint64(d / time.Second)) },
		"duration", "longest sale, a `duration` such as 720h or 30d")
	moneyFlag(flags, money.PerByteSecond, func(e money.Entry) { c.minPrice = &e },
		"min-price", "least `price`, such as 0.5/GiB/month, or 180, in base units per byte and second; rounded up")
	moneyFlag(flags, money.Amount, func(e money.Entry) { c.collateral = &e },
		"collateral", "most collateral at stake at once, an `amount` such as '12.5 TST', or base units; rounded down")
	readFlag(flags, cli.ParseTime, func(t time.Time) {
		if c.Until, c.NoEnd = &t, t.IsZero(); c.NoEnd {
			c.Until = nil
		}
	}, "until", "when the last sale must have ended, a `time` such as 2031-12-31, or never")
	return c
}

// in puts the amounts that were typed into base units of a token.
func (c *offerTerms) in(t money.Token) error {
	var minPrice, collateral events.Amount
	err := errors.Join(typedIn(t, "min-price", c.minPrice, &minPrice),
		typedIn(t, "collateral", c.collateral, &collateral))
	if c.minPrice != nil {
		c.MinPrice = new(minPrice.String())
	}
	if c.collateral != nil {
		c.Collateral = new(collateral.String())
	}
	return err
}

// typedIn puts what was typed for a flag, if anything was, into base units of a token.
func typedIn(t money.Token, flag string, typed *money.Entry, into *events.Amount) (err error) {
	if typed == nil {
		return nil
	}
	if *into, err = typed.In(t); err != nil {
		return fmt.Errorf("%w: --%s: %w", cli.ErrUsage, flag, err)
	}
	return nil
}

// moneyFlag defines a flag for an amount.
func moneyFlag(flags *pflag.FlagSet, kind money.Kind, take func(money.Entry), name, usage string) {
	readFlag(flags, func(text string) (money.Entry, error) { return money.Parse(text, kind) }, take, name, usage)
}

// readFlag defines a flag that a function reads, and another one takes.
func readFlag[T any](flags *pflag.FlagSet, parse func(string) (T, error), take func(T), name, usage string) {
	flags.Func(name, usage, func(text string) error {
		value, err := parse(text)
		if err == nil {
			take(value)
		}
		return err
	})
}

func (a *app) availabilityAdd() *cobra.Command {
	var disabled, preview bool
	var member string
	var window api.Window
	cmd := &cobra.Command{
		Use: "add", Short: "Put space on offer", Args: cobra.NoArgs,
		Example: "  hostnode availability add --size 10GiB --duration 720h --min-price 0.5/GiB/month " +
			"--collateral '5 TST'",
	}
	terms := offerFlags(cmd.Flags())
	cmd.PreRunE = a.priced(terms)
	add := a.offering(cli.Create, "on offer", func(
		ctx context.Context, b api.Backend, _ []string,
	) (projections.Availability, error) {
		return api.AddAvailability.Ask(ctx, b, api.Sent[api.Offer]{Body: api.Offer{
			ID: api.DrawID().String(), Member: events.Member(member), Size: *terms.Size,
			DurationSeconds: *terms.DurationSeconds, MinPrice: *terms.MinPrice, Collateral: *terms.Collateral,
			Disabled: disabled, Until: *cmp.Or(terms.Until, &time.Time{}),
		}})
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if preview {
			return a.preview(terms, &window)(cmd, args)
		}
		return add(cmd, args)
	}
	cmd.Flags().BoolVar(&preview, "preview", false, "only say how many of the newest requests it would match, and why "+
		"not all")
	windowFlags(cmd.Flags(), &window)
	cmd.Flags().BoolVar(&disabled, "disabled", false, "do not sell from it yet")
	cmd.Flags().StringVar(&member, "member", "",
		"`name` of the member whose space it is, if the host has several; empty: this one")
	for _, name := range []string{"size", "duration", "min-price", "collateral"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic("availability add: " + err.Error())
		}
	}
	return cmd
}

// priced puts the amounts that were typed into base units, before anything is asked or opened.
func (a *app) priced(terms *offerTerms) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if _, err := a.Settings(cmd); err != nil {
			return err
		}
		return terms.in(a.Token())
	}
}

// offering runs a function that returns an availability, and prints that.
func (a *app) offering(
	want cli.Access, done string,
	do func(ctx context.Context, b api.Backend, args []string) (projections.Availability, error),
) func(*cobra.Command, []string) error {
	return cli.Asking(a.App, want, do, func(p *cli.Printer, v projections.Availability) error {
		p.Line("%s: availability %s", done, v.ID)
		p.Rows(availabilityRows(a.Now(), v))
		if least := a.Token().Unpriceable(); least != "" && want == cli.Create {
			p.Line("%s: the market's token has too few decimals to price storage: the least price is %s",
				p.Colour(cli.Yellow, "warning"), least)
		}
		return nil
	})
}

func (a *app) availabilitySet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set ID", Short: "Change an availability; open sales keep their terms",
		Args: cobra.ExactArgs(1),
	}
	terms := offerFlags(cmd.Flags())
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *terms == (offerTerms{}) {
			return fmt.Errorf("%w: nothing to change; give at least one of --size, --duration, --min-price, "+
				"--collateral, --until", cli.ErrUsage)
		}
		return a.priced(terms)(cmd, args)
	}
	cmd.RunE = a.offering(cli.Change, "changed", func(
		ctx context.Context, b api.Backend, args []string,
	) (projections.Availability, error) {
		return api.SetAvailability.Ask(ctx, b, api.ChangesOf{ID: args[0], Body: terms.Changes})
	})
	return cmd
}

func (a *app) availabilitySwitch(name, short string, enabled bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: a.offering(cli.Change, name+"d", func(
			ctx context.Context, b api.Backend, args []string,
		) (projections.Availability, error) {
			return api.SetAvailability.Ask(ctx, b, api.ChangesOf{
				ID: args[0], Body: api.Changes{Enabled: &enabled},
			})
		}),
	}
}
