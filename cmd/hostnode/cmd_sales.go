package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/projections"
)

func (a *app) salesCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "sales", Short: "List the sales: all open ones and the newest settled ones", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "all settled ones, too")
	return cli.AsAt(a.App, cmd, func(ctx context.Context, b api.Backend, _ []string) (api.Sales, error) {
		q := api.SalesQuestion{Settled: api.DefaultSettled}
		if all {
			q.Settled = api.MaxSettled
		}
		sales, err := api.AllSales(ctx, b, q)
		// The open ones are the last, where people look at first.
		slices.Reverse(sales.Sales)
		slices.SortStableFunc(sales.Sales, func(x, y projections.Sale) int {
			return cmp.Compare(openNumber(x), openNumber(y))
		})
		return sales, err
	}, printSales)
}

func openNumber(s projections.Sale) int {
	if s.Over {
		return 0
	}
	return 1
}

func printSales(p *cli.Printer, s api.Sales) error {
	if len(s.Sales) == 0 {
		return p.None("no sales yet", s.AsOf)
	}
	rows := [][]string{{
		"MEMBER", "SLOT", "REQUEST", "INDEX", "STATE", "SINCE (CHAIN)", "SIZE", "PROOFS", "REWARD", "WAITS FOR",
	}}
	for _, sale := range s.Sales {
		waits := sale.WaitsFor
		if sale.Over {
			waits = "nothing"
		}
		if sale.Reason != "" {
			waits += " (" + sale.Reason + ")"
		}
		rows = append(rows, []string{
			string(sale.Member), cli.Short(sale.Slot), cli.Short(sale.Request), fmt.Sprint(sale.SlotIndex), state(sale),
			cli.Clock(sale.Since), cli.Size(sale.SlotSize), proofs(sale.Proofs), money.Base(sale.Reward), waits,
		})
	}
	several := slices.ContainsFunc(s.Sales, func(s projections.Sale) bool { return s.Member != "" })
	p.Rows(cli.Without(rows, map[string]bool{"MEMBER": !several}))
	if s.Hidden > 0 {
		p.Line("%s not shown; %s", cli.Count(s.Hidden, "older settled sale"), p.Command("sales --all"))
	}
	p.Line("`hostnode sale SLOT` shows the history of one")
	return p.End(s.AsOf)
}

func state(s projections.Sale) string {
	if s.Attempt > 1 {
		return fmt.Sprintf("%s (attempt %d)", s.Phase, s.Attempt)
	}
	return s.Phase
}

func proofs(n projections.Proofs) string {
	text := fmt.Sprintf("%d/%d", n.Submitted, n.Due-n.Excused)
	if n.Missed > 0 {
		text += fmt.Sprintf(", %d missed", n.Missed)
	}
	return text
}

func (a *app) saleCommand() *cobra.Command {
	return a.completingSlots(cli.AsAt(a.App, &cobra.Command{
		Use: "sale SLOT", Short: "Tell the history of a slot, and what it waits for",
		Long: "Tell the history of a slot, and what it waits for.\n\n" +
			"SLOT is a slot id as `hostnode sales` shows it, or the beginning of one. Of a slot that was never\n" +
			"sold it tells what the queue did with it, and why; docs/admission.md explains each criterion.",
		Args: cobra.ExactArgs(1),
	}, cli.Named(api.ShowSale, func(id string) api.OfSlot { return api.OfSlot{Slot: id} }), printStory))
}

// completingSlots has a shell complete the ids of slots.
func (a *app) completingSlots(cmd *cobra.Command) *cobra.Command {
	return cli.Completing(a.App, cmd, func(ctx context.Context, b api.Backend) (api.Sales, error) {
		return api.ListSales.Ask(ctx, b, api.SalesQuestion{})
	}, func(s api.Sales) (ids []string) {
		for _, sale := range s.Sales {
			ids = append(ids, sale.Slot)
		}
		return ids
	})
}

func printStory(p *cli.Printer, s api.Story) error {
	if s.Offered != nil {
		return printNotSold(p, s)
	}
	now := s.Attempts[len(s.Attempts)-1]
	p.Line("Slot %d of request %s", now.SlotIndex, now.Request)
	p.Line("%s", now.Slot)
	switch {
	case now.Over && now.Reason != "":
		p.Line("%s since %s: %s. Nothing is left to do.", now.Phase, cli.Clock(now.Since), now.Reason)
	case now.Over:
		p.Line("%s since %s. Nothing is left to do.", now.Phase, cli.Clock(now.Since))
	default:
		p.Line("%s since %s; waits for %s.", now.Phase, cli.Clock(now.Since), now.WaitsFor)
	}
	if s.Trouble != nil {
		p.Line("%s %s", p.Colour(cli.Red, "trouble"), trouble(*s.Trouble))
	}
	p.Line("")
	attempt := uint32(0)
	for _, m := range s.Moments {
		if m.Attempt != attempt && len(s.Attempts) > 1 {
			p.Line("Attempt %d", m.Attempt)
		}
		attempt = m.Attempt
		p.Line("%s  %-16s  %s", cli.Clock(m.At), m.Phase, m.Sentence)
	}
	p.Line("")
	p.Rows(storyRows(now, s.PaysAtMost))
	p.Line("points in time are the chain's")
	return p.End(s.AsOf)
}

// printNotSold tells what the queue did with a slot of which no sale began.
func printNotSold(p *cli.Printer, s api.Story) error {
	last := s.Moments[len(s.Moments)-1]
	p.Line("Slot %d of request %s", s.Offered.SlotIndex, s.Offered.Request)
	p.Line("%s", s.Offered.Slot)
	p.Line("No sale of it began; last, at %s: %s", cli.Clock(last.At), last.Sentence)
	p.Line("")
	for _, m := range s.Moments {
		p.Line("%s  %-8s  %s", cli.Clock(m.At), m.Phase, m.Sentence)
	}
	if s.Offered.Forgotten {
		p.Line("what the queue did before that is no longer in the record")
	}
	p.Line("")
	return p.End(s.AsOf)
}

func storyRows(s projections.Sale, paysAtMost string) [][]string {
	most := ""
	if paysAtMost != "" {
		most = fmt.Sprintf("; until its end it pays %s at most", money.Base(paysAtMost))
	}
	rows := [][]string{
		{"size", fmt.Sprintf("%s, of which %s", cli.Size(s.SlotSize), stored(s))},
		{"proofs", fmt.Sprintf("%d submitted, %d missed, %d open, %d excused, %d lapsed",
			s.Proofs.Submitted, s.Proofs.Missed, s.Proofs.Open, s.Proofs.Excused, s.Proofs.Lapsed)},
		{"collateral", fmt.Sprintf("%s committed, %s on chain, %s slashed, %s returned, %s lost",
			money.Base(s.Collateral.Committed), money.Base(s.Collateral.OnChain), money.Base(s.Collateral.Slashed),
			money.Base(s.Collateral.Returned), money.Base(s.Collateral.Lost))},
		{"reward", fmt.Sprintf("%s%s, net %s%s",
			money.Base(s.Reward), to(s.RewardRecipient), money.Base(s.NetEarning), most)},
		{"gas", fmt.Sprintf("%s in %s, which cost %s",
			money.Grouped(fmt.Sprint(s.GasUsed)), cli.Count(s.Transactions, "transaction"), money.Wei(s.FeesWei))},
	}
	if !s.EndsAt.IsZero() && !s.Over {
		rows = append(rows, []string{"ends", cli.Clock(s.EndsAt)})
	}
	return append(rows, cli.Given([][]string{{"availability", s.Availability}, {"member", string(s.Member)}})...)
}

// stored says how much of the data is on disk.
func stored(s projections.Sale) string {
	switch {
	case s.Over:
		return "nothing is stored any more"
	case s.Stored == 0:
		return "nothing is stored yet"
	}
	return cli.Size(s.Stored) + " are stored"
}

// to says who received a reward, if not the host's account.
func to(recipient string) string {
	if recipient == "" {
		return ""
	}
	return " to " + recipient
}
