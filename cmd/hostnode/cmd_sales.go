package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/projections"
)

func (a *app) salesCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "sales", Short: "List the sales: all open ones and the newest settled ones", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "all settled ones, too")
	return asAt(a, cmd, func(ctx context.Context, p api.Past, _ []string) (api.Sales, error) {
		if all {
			return p.Sales(ctx, api.MaxSettled)
		}
		return p.Sales(ctx, api.DefaultSettled)
	}, printSales)
}

func printSales(p *paper, s api.Sales) error {
	if len(s.Sales) == 0 {
		return p.none("no sales yet", s.AsOf)
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
			string(sale.Member), short(sale.Slot), short(sale.Request), fmt.Sprint(sale.SlotIndex), state(sale),
			clock(sale.Since), size(sale.SlotSize), proofs(sale.Proofs), grouped(sale.Reward), waits,
		})
	}
	several := slices.ContainsFunc(s.Sales, func(s projections.Sale) bool { return s.Member != "" })
	p.rows(without(rows, map[string]bool{"MEMBER": !several}))
	if s.Hidden > 0 {
		p.line("%s not shown; %s", count(s.Hidden, "older settled sale"), p.command("sales --all"))
	}
	p.line("rewards in base units; `hostnode sale SLOT` shows the history of one")
	p.asOf(s.AsOf)
	return nil
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
	return asAt(a, &cobra.Command{
		Use: "sale SLOT", Short: "Tell the history of a slot, and what it waits for",
		Long: "Tell the history of a slot, and what it waits for.\n\n" +
			"SLOT is a slot id as `hostnode sales` shows it, or the beginning of one. Of a slot that was never\n" +
			"sold it tells what the queue did with it, and why; docs/admission.md explains each criterion.",
		Args: cobra.ExactArgs(1),
	}, named(api.Past.Sale), printStory)
}

func printStory(p *paper, s api.Story) error {
	if s.Offered != nil {
		return printNotSold(p, s)
	}
	now := s.Attempts[len(s.Attempts)-1]
	p.line("Slot %d of request %s", now.SlotIndex, now.Request)
	p.line("%s", now.Slot)
	switch {
	case now.Over && now.Reason != "":
		p.line("%s since %s: %s. Nothing is left to do.", now.Phase, clock(now.Since), now.Reason)
	case now.Over:
		p.line("%s since %s. Nothing is left to do.", now.Phase, clock(now.Since))
	default:
		p.line("%s since %s; waits for %s.", now.Phase, clock(now.Since), now.WaitsFor)
	}
	if s.Trouble != nil {
		p.line("%s %s", p.colour(red, "trouble"), trouble(*s.Trouble))
	}
	p.line("")
	attempt := uint32(0)
	for _, m := range s.Moments {
		if m.Attempt != attempt && len(s.Attempts) > 1 {
			p.line("Attempt %d", m.Attempt)
		}
		attempt = m.Attempt
		p.line("%s  %-16s  %s", clock(m.At), m.Phase, m.Sentence)
	}
	p.line("")
	p.rows(storyRows(now, s.PaysAtMost))
	p.line("points in time are the chain's, amounts base units of the token")
	p.asOf(s.AsOf)
	return nil
}

// printNotSold tells what the queue did with a slot of which no sale began.
func printNotSold(p *paper, s api.Story) error {
	last := s.Moments[len(s.Moments)-1]
	p.line("Slot %d of request %s", s.Offered.SlotIndex, s.Offered.Request)
	p.line("%s", s.Offered.Slot)
	p.line("No sale of it began; last, at %s: %s", clock(last.At), last.Sentence)
	p.line("")
	for _, m := range s.Moments {
		p.line("%s  %-8s  %s", clock(m.At), m.Phase, m.Sentence)
	}
	if s.Offered.Forgotten {
		p.line("what the queue did before that is no longer in the record")
	}
	p.line("")
	p.asOf(s.AsOf)
	return nil
}

func storyRows(s projections.Sale, paysAtMost string) [][]string {
	most := ""
	if paysAtMost != "" {
		most = fmt.Sprintf("; until its end it pays %s at most", grouped(paysAtMost))
	}
	rows := [][]string{
		{"size", fmt.Sprintf("%s, of which %s", size(s.SlotSize), stored(s))},
		{"proofs", fmt.Sprintf("%d submitted, %d missed, %d open, %d excused, %d lapsed",
			s.Proofs.Submitted, s.Proofs.Missed, s.Proofs.Open, s.Proofs.Excused, s.Proofs.Lapsed)},
		{"collateral", fmt.Sprintf("%s committed, %s on chain, %s slashed, %s returned, %s lost",
			grouped(s.Collateral.Committed), grouped(s.Collateral.OnChain), grouped(s.Collateral.Slashed),
			grouped(s.Collateral.Returned), grouped(s.Collateral.Lost))},
		{"reward", fmt.Sprintf("%s%s, net %s%s",
			grouped(s.Reward), to(s.RewardRecipient), grouped(s.NetEarning), most)},
		{"gas", fmt.Sprintf("%s in %s, %s of the chain's own coin",
			grouped(fmt.Sprint(s.GasUsed)), count(s.Transactions, "transaction"), coins(s.FeesWei))},
	}
	if !s.EndsAt.IsZero() && !s.Over {
		rows = append(rows, []string{"ends", clock(s.EndsAt)})
	}
	return append(rows, given([][]string{{"availability", s.Availability}, {"member", string(s.Member)}})...)
}

// stored says how much of the data is on disk.
func stored(s projections.Sale) string {
	switch {
	case s.Over:
		return "nothing is stored any more"
	case s.Stored == 0:
		return "nothing is stored yet"
	}
	return size(s.Stored) + " are stored"
}

// to says who received a reward, if not the host's account.
func to(recipient string) string {
	if recipient == "" {
		return ""
	}
	return " to " + recipient
}
