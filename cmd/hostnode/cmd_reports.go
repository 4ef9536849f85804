package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/projections"
)

// This file has the commands for the reports of the API: what was earned, what is owed, what was sent, what waits. Each
// shows one page; --cursor asks for the next.

func withPage(cmd *cobra.Command, page *api.Paging) {
	cmd.Flags().IntVar(&page.Limit, "limit", 50, fmt.Sprintf("the most `rows`, %d at most", api.MaxPage))
	cmd.Flags().StringVar(&page.Cursor, "cursor", "", "the `place` to go on at, as the page before says it")
}

// goesOn says how to ask for the next page.
func goesOn(p *cli.Printer, command string, page api.Paged) {
	if page.Next != "" {
		p.Line("more: %s", p.Command(command+" --cursor "+page.Next))
	}
}

func (a *app) earningsCommand() *cobra.Command {
	var days, availabilities api.PageQuestion
	var slots api.SlotsQuestion
	byDay := &cobra.Command{Use: "days", Short: "Earnings by day of chain time, the newest first", Args: cobra.NoArgs}
	withPage(byDay, &days.Paging)
	bySlot := &cobra.Command{Use: "slots", Short: "Earnings by attempt at a slot, the newest first", Args: cobra.NoArgs}
	withPage(bySlot, &slots.Paging)
	bySlot.Flags().StringVar(&slots.Availability, "availability", "", "only those of this `availability`")
	byAvailability := &cobra.Command{Use: "availabilities", Short: "Earnings by availability", Args: cobra.NoArgs}
	withPage(byAvailability, &availabilities.Paging)
	all := &cobra.Command{
		Use: "earnings", Short: "Show what was earned, and what may still be earned", Args: cobra.NoArgs,
	}
	all.AddCommand(
		cli.AsAt(a.App, byDay, asking(api.ListDays, &days), printDays),
		cli.AsAt(a.App, bySlot, asking(api.ListSlotEarnings, &slots), printSlotEarnings),
		cli.AsAt(a.App, byAvailability, asking(api.ListAvailabilityEarnings, &availabilities), printOfAvailabilities),
	)
	return cli.AsAt(a.App, all, cli.Plain(api.ShowEarnings), printEarnings)
}

// asking makes a call with what the flags have filled in.
func asking[R, Q, A any](call api.Call[R, Q, A], q *Q) func(context.Context, api.Backend, []string) (A, error) {
	return func(ctx context.Context, b api.Backend, _ []string) (A, error) { return call.Ask(ctx, b, *q) }
}

func printEarnings(p *cli.Printer, e api.Earnings) error {
	s := e.Settled
	p.Rows(cli.Given([][]string{
		{"net", money.Base(s.Net)},
		{"rewards", money.Base(s.Rewards)},
		{"  paid elsewhere", money.Base(s.RewardsElsewhere)},
		{"  for repairs", money.Base(s.RepairRewards)},
		{"  for validating", money.Base(s.ValidatorRewards)},
		{"collateral lost", money.Base(s.CollateralLost)},
		{"gas", fmt.Sprintf("%s in %s", money.Wei(s.FeesWei), cli.Count(s.Transactions, "transaction"))},
		{"still at most", money.Base(e.ExpectedAtMost.String()) + ", for the slots that are hosted now"},
	}))
	return p.End(e.AsOf)
}

// incomeRow are the cells of an income.
func incomeRow(name string, i projections.Income, net string) []string {
	return []string{
		name, money.Base(i.Rewards.String()), money.Base(i.CollateralLost.String()), money.Wei(i.FeesWei.String()),
		money.Base(net),
	}
}

func printDays(p *cli.Printer, e api.EarningsByDay) error {
	rows := [][]string{{"DAY", "REWARDS", "COLLATERAL LOST", "GAS", "NET"}}
	for _, d := range e.Days {
		rows = append(rows, incomeRow(d.Day.UTC().Format(time.DateOnly), d.Income, d.Net))
	}
	p.Rows(rows)
	for _, d := range e.Expected {
		p.Line("expected     %s: %s end, and pay %s at most", d.Day.UTC().Format(time.DateOnly),
			cli.Count(d.Slots, "slot"), money.Base(d.AtMost.String()))
	}
	goesOn(p, "earnings days", e.Paged)
	return p.End(e.AsOf)
}

func printSlotEarnings(p *cli.Printer, e api.EarningsBySlot) error {
	rows := [][]string{{"SLOT", "ATTEMPT", "STATE", "BEGAN (CHAIN)", "REWARD", "GAS", "NET", "STILL AT MOST"}}
	for _, s := range e.Slots {
		rows = append(rows, []string{
			cli.Short(s.Slot), fmt.Sprint(s.Attempt), s.Phase, cli.Clock(s.StartedAt), money.Base(s.Reward),
			money.Wei(s.FeesWei), money.Base(s.Net), money.Base(s.ExpectedAtMost.String()),
		})
	}
	p.Rows(rows)
	goesOn(p, "earnings slots", e.Paged)
	return p.End(e.AsOf)
}

func printOfAvailabilities(p *cli.Printer, e api.EarningsByAvailability) error {
	rows := [][]string{{"AVAILABILITY", "REWARDS", "COLLATERAL LOST", "GAS", "NET", "HOSTED", "STILL AT MOST"}}
	for _, one := range e.Availabilities {
		rows = append(rows, append(incomeRow(cli.Short(one.Availability), one.Income, one.Net),
			fmt.Sprint(one.Hosted), money.Base(one.ExpectedAtMost.String())))
	}
	p.Rows(rows)
	goesOn(p, "earnings availabilities", e.Paged)
	return p.End(e.AsOf)
}

func (a *app) dutiesCommand() *cobra.Command {
	var q api.DutiesQuestion
	var periods api.PageQuestion
	cmd := &cobra.Command{
		Use: "duties", Short: "Show what is owed on chain and by when, the soonest deadline first", Args: cobra.NoArgs,
	}
	withPage(cmd, &q.Paging)
	cmd.Flags().IntVar(&q.Ahead, "ahead", 2, "for how many `periods` to come proofs are listed that may be demanded")
	past := &cobra.Command{
		Use: "periods", Short: "Count the proofs that were due, made and missed, by period", Args: cobra.NoArgs,
	}
	withPage(past, &periods.Paging)
	cmd.AddCommand(cli.AsAt(a.App, past, asking(api.ListPeriods, &periods), printPeriods))
	return cli.AsAt(a.App, cmd, asking(api.ListDuties, &q), printDuties)
}

func printDuties(p *cli.Printer, d api.Duties) error {
	rows := [][]string{{"DEADLINE (CHAIN)", "LEFT", "WHAT", "OF", "PERIOD", "STATE", "CHANCE"}}
	for _, one := range d.Duties {
		left := cli.Span(uint64(max(0, one.SlackSeconds))) //nolint:gosec // It is not negative.
		if one.SlackSeconds < 0 {
			left = "late"
		}
		rows = append(rows, []string{
			cli.Clock(one.Deadline), left, string(one.Kind), cli.Short(one.Subject), fmt.Sprint(one.Period), one.State,
			fmt.Sprintf("%.0f %%", 100*one.Chance),
		})
	}
	if len(d.Duties) == 0 {
		return p.None("nothing is owed", d.AsOf)
	}
	p.Rows(rows)
	if d.WindowsUnknown != "" {
		p.Line("the windows of sectors are not known: %s", d.WindowsUnknown)
	}
	goesOn(p, "duties", d.Paged)
	return p.End(d.AsOf)
}

func printPeriods(p *cli.Printer, d api.Periods) error {
	rows := [][]string{{"PERIOD", "OPENED (CHAIN)", "DUE", "MADE", "MISSED", "OPEN", "EXCUSED", "LAPSED"}}
	for _, one := range d.Periods {
		rows = append(rows, []string{
			fmt.Sprint(one.Period), cli.Clock(one.Opens), fmt.Sprint(one.Due), fmt.Sprint(one.Submitted),
			fmt.Sprint(one.Missed), fmt.Sprint(one.Open), fmt.Sprint(one.Excused), fmt.Sprint(one.Lapsed),
		})
	}
	p.Rows(rows)
	goesOn(p, "duties periods", d.Paged)
	return p.End(d.AsOf)
}

func (a *app) transactionsCommand() *cobra.Command {
	var q api.TransactionsQuestion
	cmd := &cobra.Command{
		Use: "transactions", Short: "List the transactions of the account, the newest first", Args: cobra.NoArgs,
	}
	withPage(cmd, &q.Paging)
	cmd.Flags().StringVar((*string)(&q.Outcome), "outcome", "", "only `those`: open, succeeded, failed or abandoned")
	return cli.AsAt(a.App, cmd, asking(api.ListTransactions, &q), func(p *cli.Printer, t api.Transactions) error {
		rows := [][]string{{"INTENDED", "WHAT", "OUTCOME", "NONCE", "BLOCK", "GAS", "REASON"}}
		for _, one := range t.Transactions {
			rows = append(rows, []string{
				cli.Clock(one.IntendedAt), one.Key, string(one.Outcome), fmt.Sprint(one.Nonce), fmt.Sprint(one.Block),
				money.Wei(one.FeeWei.String()), one.Reason,
			})
		}
		p.Rows(rows)
		goesOn(p, "transactions", t.Paged)
		return p.End(t.AsOf)
	})
}

// waitingCommand lists what waits in the queue, below it.
func (a *app) waitingCommand() *cobra.Command {
	var q api.QueueQuestion
	cmd := &cobra.Command{
		Use: "slots", Short: "List the slots that wait, in the order in which they are looked at", Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&q.From, "from", 1, "the first `place` of the queue to list")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, fmt.Sprintf("the most `rows`, %d at most", api.MaxPage))
	return cli.AsAt(a.App, cmd, asking(api.ListQueued, &q), func(p *cli.Printer, w api.QueuedSlots) error {
		rows := [][]string{{"PLACE", "SLOT", "REQUEST", "INDEX", "PAYS", "COLLATERAL", "EXPIRES (CHAIN)", "WAITS FOR"}}
		for _, s := range w.Slots {
			rows = append(rows, []string{
				fmt.Sprint(s.Position), cli.Short(s.Slot), cli.Short(s.Request), fmt.Sprint(s.SlotIndex),
				money.Base(s.Profitability), money.Base(s.Collateral), cli.Clock(s.ExpiresAt), s.WaitsFor,
			})
		}
		p.Rows(rows)
		p.Line("%s in all", cli.Count(w.Length, "slot"))
		return p.End(w.AsOf)
	})
}
