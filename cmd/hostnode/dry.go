package main

import (
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/dry"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file runs a host dry, and shows what it would have sold.

// beginDry turns the settings of a host into those of its dry run. A dry run that has nothing on offer begins with what
// the host has.
func (a *app) beginDry(
	cmd *cobra.Command, c config.Loaded, begin *node.Begin, log *logrus.Entry,
) (_ config.Loaded, err error) {
	settings, err := dry.Settings(c.Config)
	if err != nil {
		return c, err
	}
	offers, err := a.offers(cmd)
	if err != nil {
		log.Warnf("what the host has on offer cannot be read, so the dry run has only offers of its own: %v", err)
	}
	dir, err := datadir.Open(settings.DataDir, a.Now())
	if err != nil {
		return c, err
	}
	if err = dir.For(true); err == nil {
		err = dir.Own(settings.AccountAddress())
	}
	if err := errors.Join(err, dir.Close()); err != nil {
		return c, err
	}
	a.Dry = true
	if err := a.offerIfNone(cmd, offers); err != nil {
		return c, fmt.Errorf("put on offer in the dry run what the host has: %w", err)
	}
	c.Config, begin.Rooms, begin.Version = settings, nil, begin.Version+" (dry run)"
	log.Warnf("DRY RUN: nothing is sent, fetched or proven, and nothing is earned; what the host would have sold is "+
		"recorded in %s, and shown by: hostnode dry%s", settings.DataDir, c.Where())
	return c, nil
}

// offers are those of a host, whether it runs or not; none if there is no host yet.
func (a *app) offers(cmd *cobra.Command) (offers []api.Offer, err error) {
	b, done, err := a.Backend(cmd, cli.Look)
	if errors.Is(err, datadir.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := api.ListAvailabilities.Ask(cmd.Context(), b, api.None{})
	for _, one := range all.Availabilities {
		offers = append(offers, api.OfferOf(one))
	}
	return offers, errors.Join(err, done())
}

func (a *app) offerIfNone(cmd *cobra.Command, offers []api.Offer) error {
	if len(offers) == 0 {
		return nil
	}
	b, done, err := a.Backend(cmd, cli.Create)
	if err != nil {
		return err
	}
	has, err := api.ListAvailabilities.Ask(cmd.Context(), b, api.None{})
	for i := 0; err == nil && len(has.Availabilities) == 0 && i < len(offers); i++ {
		_, err = api.AddAvailability.Ask(cmd.Context(), b, api.Send(offers[i]))
	}
	return errors.Join(err, done())
}

func (a *app) dryCommand() *cobra.Command {
	cmd := cli.AsAt(a.App, &cobra.Command{
		Use: "dry", Short: "Show what a dry run would have sold (hostnode run --dry)", Args: cobra.NoArgs,
	}, cli.Plain(api.ShowDry), printDry)
	ask := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.Dry = true
		return ask(cmd, args)
	}
	return cmd
}

func printDry(p *cli.Printer, d api.Dry) error {
	p.Line("DRY RUN: nothing of this was really sold; it is the most that could have been")
	p.Rows([][]string{
		{"would have filled", fmt.Sprintf("%s, %d of them hosted now", cli.Count(d.Filled, "slot"), d.Hosted)},
		{
			"  on chain",
			fmt.Sprintf("%d filled by another host, %d by none", d.FilledByOthers, d.Filled-d.FilledByOthers),
		},
		{"would have earned", money.Base(d.Earned)},
		{"  a day", money.Base(d.PerDay.String()) + " on average since " + cli.Clock(d.From)},
		{"still at most", money.Base(d.ExpectedAtMost.String())},
		{"collateral", money.Base(d.Collateral.String()) + " would be at stake now"},
		{"gas at today's price", "not counted"},
	})
	rows := [][]string{{"NOT SOLD FOR", "SLOTS", "LAST", "LAST REASON"}}
	for _, r := range d.Refused {
		rows = append(rows, []string{r.Criterion, fmt.Sprint(r.Slots), cli.Clock(r.LastAt), r.LastReason})
	}
	for _, w := range d.Waiting {
		rows = append(rows, []string{w.Criterion, fmt.Sprint(w.Slots), "-", "waits: " + slotqueue.Why(w.Criterion)})
	}
	if len(rows) > 1 {
		p.Line("")
		p.Rows(rows)
		p.Line("which change would take more of them: hostnode prices --data-dir %s", d.DataDir)
	}
	p.Line("each slot: hostnode earnings slots --data-dir %s", d.DataDir)
	return p.End(d.AsOf)
}
