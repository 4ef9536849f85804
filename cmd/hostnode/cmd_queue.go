package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events/slotqueue"
)

func (a *app) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "queue", Short: "Show how many slots wait, which are in work, and which were refused", Args: cobra.NoArgs,
		RunE: cli.Asking(a.App, cli.Look, cli.Plain(api.ShowQueue), printQueue),
	}
	cmd.AddCommand(a.waitingCommand())
	return cmd
}

func printQueue(p *cli.Printer, q api.Queue) error {
	p.Line("%s", queueLine(q))
	for _, t := range q.Taken {
		repair := ""
		if t.Repair {
			repair = " (repair)"
		}
		p.Line("  in work: slot %d of request %s%s, queued at %s",
			t.SlotIndex, cli.Short(t.Request), repair, cli.Clock(t.QueuedAt))
	}
	for _, w := range q.Waiting {
		p.Line("  looked at and put back: %s: %s", cli.Count(w.Slots, "slot"), slotqueue.Why(w.Criterion))
		if w.Criterion == slotqueue.CriterionRequestCap {
			p.Line("    this host has as many slots of the request as it may; it begins when others have filled the " +
				"rest. `sales.maxSlotsPerRequest` says how many, by default as many as may be lost")
		}
	}
	for _, c := range q.Avoided {
		p.Line("  avoided until %s: client %s, %s", cli.Clock(c.Until), c.Client, c.Reason)
	}
	if len(q.Refusals) > 0 {
		p.Line("")
		rows := [][]string{{"REFUSED FOR", "REQUESTS", "SLOTS", "LAST", "LAST SLOT", "LAST REASON"}}
		for _, r := range q.Refusals {
			rows = append(rows, []string{
				r.Criterion, fmt.Sprint(r.Requests), fmt.Sprint(r.Slots), cli.Clock(r.LastAt), cli.Short(r.LastSlot),
				r.LastReason,
			})
		}
		p.Rows(rows)
	}
	if len(q.LetGo) > 0 {
		p.Line("")
		rows := [][]string{{"QUEUED, NOT SOLD FOR", "SLOTS", "LAST", "LAST SLOT", "LAST REASON"}}
		for _, l := range q.LetGo {
			rows = append(rows, []string{
				l.Criterion, fmt.Sprint(l.Slots), cli.Clock(l.LastAt), cli.Short(l.LastSlot), l.LastReason,
			})
		}
		p.Rows(rows)
	}
	if len(q.Refusals)+len(q.LetGo) > 0 {
		p.Line("`hostnode sale SLOT` tells of one of them why it was not sold")
	}
	return p.End(q.AsOf)
}

func queueLine(q api.Queue) string {
	text := fmt.Sprintf("%s waiting, %d in work", cli.Count(q.Length, "slot"), len(q.Taken))
	switch {
	case q.Paused && q.ByOperator:
		text += "; paused until resumed: " + q.PausedFor
	case q.Paused:
		text += "; paused until something changes: " + q.PausedFor
	}
	return text
}

func (a *app) drainCommand() *cobra.Command {
	var resume bool
	var reason string
	cmd := &cobra.Command{
		Use: "drain", Short: "Take no new slots; the open sales go on", Args: cobra.NoArgs,
		Long: "Take no new slots; the open sales go on to their end. This lasts until `hostnode drain --resume`,\n" +
			"even if the host is restarted.",
		RunE: cli.Asking(a.App, cli.Change, func(ctx context.Context, b api.Backend, _ []string) (api.Queue, error) {
			if resume {
				return api.ResumeQueue.Ask(ctx, b, api.Send(api.Why{Reason: reason}))
			}
			return api.PauseQueue.Ask(ctx, b, api.Send(api.Why{Reason: reason}))
		}, func(p *cli.Printer, q api.Queue) error {
			if q.Paused && q.ByOperator {
				p.Line("draining: no new slots are taken; sales go on. Sell again: hostnode drain --resume")
			} else {
				p.Line("selling again: new slots are taken")
			}
			p.Line("%s", queueLine(q))
			return p.End(q.AsOf)
		}),
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "take slots again")
	cmd.Flags().StringVar(&reason, "reason", "drained by the operator", "the reason, which is recorded")
	return cmd
}
