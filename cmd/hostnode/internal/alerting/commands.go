package alerting

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	view "github.com/hostnode/hostnode/projections/alert"
)

// Commands are those below hostnode alerts.
func Commands(a *cli.App) *cobra.Command {
	list := func(use string) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: "Show what needs a person, and what did", Args: cobra.NoArgs}
		return cli.AsAt(a, cmd, cli.Plain(List), printAlerts)
	}
	all := list("alerts")
	all.AddCommand(list("list"), acknowledge(a), completing(a, mute(a)), completing(a, unmute(a)), test(a))
	return all
}

// completing has a shell complete the kinds of the alerts that are open or muted.
func completing(a *cli.App, cmd *cobra.Command) *cobra.Command {
	return cli.Completing(a, cmd, func(ctx context.Context, b api.Backend) (Recorded, error) {
		return List.Ask(ctx, b, api.Then{})
	}, func(all Recorded) (kinds []string) {
		for _, one := range all.Open {
			kinds = append(kinds, one.Kind)
		}
		for _, m := range all.Mutes {
			kinds = append(kinds, m.Kind)
		}
		return kinds
	})
}

func acknowledge(a *cli.App) *cobra.Command {
	var q Acknowledgement
	cmd := &cobra.Command{
		Use: "ack NUMBER|all", Short: "Say that you know of an alert, so that it is not delivered again",
		Args: cobra.ExactArgs(1), Example: `  hostnode alerts ack 7 --note "the disk is ordered"`,
	}
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (room.Answer, error) {
		if args[0] != "all" {
			n, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil || n == 0 {
				return room.Answer{}, fmt.Errorf("%w: %.40q is no number of an alert, and not all", cli.ErrUsage,
					args[0])
			}
			q.Number = n
		}
		return Acknowledge.Ask(ctx, b, api.Send(q))
	}, printChanged)
	cmd.Flags().StringVar(&q.Note, "note", "", "what you `know`; it is recorded")
	cli.WithBy(cmd, &q.By)
	return cmd
}

func mute(a *cli.App) *cobra.Command {
	var m view.Mute
	wait := time.Hour
	cmd := &cobra.Command{
		Use: "mute KIND", Short: "Have alerts of a kind recorded and not delivered, for a while",
		Args:    cobra.ExactArgs(1),
		Example: `  hostnode alerts mute disk-full --for 2h --reason "the disk is replaced"`,
	}
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (room.Answer, error) {
		m.Kind, m.Until = args[0], a.Now().Add(wait).UTC().Truncate(time.Second)
		return Mute.Ask(ctx, b, api.Send(m))
	}, printChanged)
	cmd.Flags().DurationVar(&wait, "for", wait, "how `long`")
	cmd.Flags().StringVar(&m.Subject, "subject", "", "only alerts about this `subject`, as the list shows it")
	cmd.Flags().StringVar(&m.Reason, "reason", "", "the `reason`; it is recorded")
	cli.WithBy(cmd, &m.By)
	return cmd
}

func unmute(a *cli.App) *cobra.Command {
	var q Unmuting
	cmd := &cobra.Command{Use: "unmute KIND", Short: "Have alerts of a kind delivered again", Args: cobra.ExactArgs(1)}
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (room.Answer, error) {
		q.Kind = args[0]
		return Unmute.Ask(ctx, b, api.Send(q))
	}, printChanged)
	cmd.Flags().StringVar(&q.Subject, "subject", "", "the `subject` of the mute")
	cli.WithBy(cmd, &q.By)
	return cmd
}

func test(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test CHANNEL", Short: "Send a test through a channel, and show what was answered",
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (Tested, error) {
		return Test.Ask(ctx, b, OfChannel{args[0]})
	}, func(p *cli.Printer, t Tested) error {
		p.Line("the channel has taken it; it answered: %s", cmp.Or(strings.TrimSpace(t.Answer), "nothing"))
		return nil
	})
	return cmd
}

func printChanged(p *cli.Printer, answer room.Answer) error {
	if answer.Changed == 0 {
		p.Line("nothing was to be changed")
		return nil
	}
	p.Line("recorded; see %s", p.Command("alerts"))
	return nil
}

func printAlerts(p *cli.Printer, all Recorded) error {
	if len(all.Open) == 0 {
		p.Line("no alert is open")
	}
	for _, a := range all.Open {
		how := "not delivered yet"
		switch {
		case !a.Acknowledged.IsZero():
			how = fmt.Sprintf("acknowledged by %s: %s", a.By, a.Note)
		case a.Muted:
			how = "muted"
		case len(a.Delivered) > 0:
			how = "delivered: " + strings.Join(a.Delivered, ", ")
		}
		p.Line("%d  %s  %s%s  since %s, %s", a.Number, strings.ToUpper(a.Severity), a.Kind, about(a.Member, a.Subject),
			cli.Clock(a.Since), how)
		p.Line("    %s", a.Text)
		if a.Hint != "" {
			p.Line("    %s", a.Hint)
		}
	}
	for _, m := range all.Mutes {
		p.Line("muted until %s by %s: %s%s: %s", cli.Clock(m.Until), m.By, m.Kind, about("", m.Subject), m.Reason)
	}
	for _, c := range all.Channels {
		if c.Failures > 0 {
			p.Line("alerts.%s has failed %s in a row, the next try is at %s: %s", c.Name,
				cli.Count(uint64(c.Failures), "time"), cli.Clock(c.Retry), c.Reason)
		}
	}
	for i, a := range all.Cleared[:min(len(all.Cleared), 10)] {
		if i == 0 {
			p.Line("cleared lately:")
		}
		p.Line("%d  %s%s  %s - %s: %s", a.Number, a.Kind, about(a.Member, a.Subject), cli.Clock(a.Since),
			cli.Clock(a.Cleared), a.Reason)
	}
	p.AsOf(all.AsOf)
	return nil
}

// about is what an alert is about, behind its kind.
func about(member, subject string) (text string) {
	if subject != "" {
		text = " " + subject
	}
	if member != "" {
		text += " on " + member
	}
	return text
}
