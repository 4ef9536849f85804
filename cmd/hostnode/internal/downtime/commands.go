package downtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// Commands are those below hostnode nodes.
func Commands(a *cli.App) *cobra.Command {
	about := func(use, short string, write func(*cli.Printer, Shown) error) *cobra.Command {
		cmd := &cobra.Command{Use: use + " NODE", Short: short, Args: cobra.ExactArgs(1)}
		return cli.AsAt(a, cmd, func(ctx context.Context, b api.Backend, args []string) (Shown, error) {
			return shown(ctx, a, b, OfNode{Node: args[0]})
		}, write)
	}
	rules := &cobra.Command{Use: "rules", Short: "Show the rules by which nodes are judged", Args: cobra.NoArgs}
	rules.AddCommand(try(a))
	return cli.Group(&cobra.Command{Use: "nodes", Short: "Show the nodes that the host watches, and decide about them"},
		list(a, "list", "List the nodes that are watched", func(view.Node) bool { return true }),
		list(a, "offending", "List the nodes that are offending now, by the rules in force", func(n view.Node) bool {
			_, offending := opinion(n, n.RuleSet)
			return offending
		}),
		about("show", "Show the windows of a node, and what would change it", printShown),
		about("history", "Show what was decided about a node, by whom and why", printHistory),
		about("windows", "Show the windows of a node, with who audited it", printWindows),
		cli.AsAt(a, rules, cli.Plain(ShowRules), printRules),
		ordering(a, "suspend", "Suspend a node, until a person reinstates it"),
		ordering(a, "reinstate", "Reinstate a node; its windows until now count no more"),
		ordering(a, "disqualify", "Disqualify a node, until a person reinstates it"),
		ordering(a, "exit", "Watch a node no more, because it has left"),
		ordering(a, maintenance, "Say how long a node may be away and, with --reason, announce it"),
	)
}

// shown is what the host knows of a node, and what its settings say of it.
func shown(ctx context.Context, a *cli.App, b api.Backend, q OfNode) (Shown, error) {
	s, err := ShowNode.Ask(ctx, b, q)
	notes, _ := config.OfNodes(a.Config.Nodes.Notes) // They were checked when they were read.
	s.Note = notes[events.Node(s.Node.Node)]
	return s, err
}

func list(a *cli.App, use, short string, shown func(view.Node) bool) *cobra.Command {
	return cli.AsAt(a, &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs},
		func(ctx context.Context, b api.Backend, _ []string) (Nodes, error) {
			all, err := ListNodes.Ask(ctx, b, api.Then{})
			all.Nodes = slices.DeleteFunc(all.Nodes, func(n view.Node) bool { return !shown(n) })
			return all, err
		}, printNodes)
}

// ordering makes a command that gives an order, and shows what became of it.
func ordering(a *cli.App, verb, short string) *cobra.Command {
	o := Ordered{Verb: verb}
	cmd := &cobra.Command{Use: verb + " NODE", Short: short, Args: cobra.ExactArgs(1)}
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (s Shown, err error) {
		if o.Node = args[0]; verb == maintenance && o.Body.From.IsZero() {
			o.Body.From = a.Now().UTC().Truncate(time.Second)
		}
		if verb != maintenance || o.Body.Reason != "" {
			if _, err := OrderNode.Ask(ctx, b, o); err != nil {
				return s, err
			}
		}
		return shown(ctx, a, b, OfNode{Node: o.Node, From: o.Body.From})
	}, printShown)
	if verb == maintenance {
		formats := []string{time.RFC3339, time.DateOnly}
		from, until := &o.Body.From, &o.Body.Until
		cmd.Flags().TimeVar(from, "from", *from, formats, "when it begins: 2026-11-20T08:00:00Z (default: now)")
		cmd.Flags().TimeVar(until, "until", *until, formats, "when it ends")
	}
	cmd.Flags().StringVar(&o.Body.Reason, "reason", "", "the `reason`; it is recorded")
	cli.WithBy(cmd, &o.Body.By)
	return cmd
}

func try(a *cli.App) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use: "try", Short: "Say who would have been suspended by other rules", Args: cobra.NoArgs,
		Long: "Judge the recorded windows of all nodes again by other rules, and say what would have been decided,\n" +
			"and when, beside what was. Nothing is changed.",
		Example: "  hostnode nodes rules try --rule-set scored --window 12h --tracking 720h",
	}
	given := settings(&core.Service{})
	cmd.Flags().AddFlagSet(given)
	cmd.Flags().StringVar(&base, "base", "", "`rules` to change: document, scored (default: those in force)")
	return cli.AsAt(a, cmd, func(ctx context.Context, b api.Backend, _ []string) (Tried, error) {
		rules, known := map[string]core.Service{"document": core.DocumentRules(), "scored": core.ScoredRules()}[base]
		if base == "" {
			now, err := ShowRules.Ask(ctx, b, api.Then{})
			if err != nil {
				return Tried{}, err
			}
			if known = len(now.Rules) == 1; known {
				rules = now.Rules[0].Rules
			}
		}
		if !known {
			return Tried{}, fmt.Errorf("%w: --base %.40q: there are document and scored, and the default is the rules "+
				"in force, if all nodes have the same", cli.ErrUsage, base)
		}
		changed := settings(&rules)
		given.VisitAll(func(f *pflag.Flag) {
			if f.Changed {
				_ = changed.Set(f.Name, f.Value.String()) // The same flag has taken it.
			}
		})
		return TryRules.Ask(ctx, b, Trial{Rules: Tryable(rules)})
	}, printTried)
}

func printRows(p *cli.Printer, rows [][]string, asOf api.AsOf) error {
	p.Rows(rows)
	p.AsOf(asOf)
	return nil
}

func printNodes(p *cli.Printer, all Nodes) error {
	rows := [][]string{{"NODE", "STATUS", "SINCE", "WHAT ITS WINDOWS SAY", "WARNING"}}
	for _, n := range all.Nodes {
		says, _ := opinion(n, n.RuleSet)
		row := []string{n.Node, n.Status, cli.Clock(n.Since), says}
		if n.Warning != nil {
			row = append(row, n.Warning.Text)
		}
		rows = append(rows, row)
	}
	return printRows(p, rows, all.AsOf)
}

func printShown(p *cli.Printer, s Shown) error {
	p.Line("%s is %s since %s; the watcher's clock says %s", s.Node.Node, s.Node.Status, cli.Clock(s.Node.Since),
		cli.Clock(s.Node.AsOf))
	if s.Note != "" {
		p.Line("note: %s", s.Note)
	}
	for _, line := range s.Says {
		p.Line("%s", line)
	}
	p.AsOf(s.AsOf)
	return nil
}

func printHistory(p *cli.Printer, s Shown) error {
	rows := [][]string{{"AT", "WHAT", "WHO", "WHY"}}
	for _, v := range s.Node.Verdicts {
		rows = append(rows, rowOf(v))
	}
	return printRows(p, rows, s.AsOf)
}

// rowOf is a verdict: when, what, who and why.
func rowOf(v view.Verdict) []string {
	who, why := v.By, v.Reason
	if v.Score != nil {
		who, why = "the windows", said(v.RuleSet, *v.Score)
	}
	return []string{cli.Clock(v.At), v.What, who, why}
}

func printWindows(p *cli.Printer, s Shown) error {
	rows := [][]string{{"BEGINS", "LENGTH", "RESULT", "ONLINE", "OFFLINE", "SOURCES"}}
	for _, w := range s.Node.Windows {
		rows = append(rows, []string{
			cli.Clock(w.Start), cli.Span(uint64(w.Seconds)), w.Result, fmt.Sprint(w.Online), fmt.Sprint(w.Offline),
			strings.Join(w.Sources, ", "),
		})
	}
	return printRows(p, rows, s.AsOf)
}

func printRules(p *cli.Printer, all InForce) error {
	for _, r := range all.Rules {
		p.Line("%s judged by these rules: %s", cli.Plural(len(r.Nodes), "node is", "nodes are"),
			strings.Join(r.Nodes, ", "))
		var rows [][]string
		settings(&r.Rules).VisitAll(func(f *pflag.Flag) {
			rows = append(rows, []string{"  " + f.Name, f.Value.String(), f.Usage})
		})
		p.Rows(rows)
	}
	p.AsOf(all.AsOf)
	return nil
}

func printTried(p *cli.Printer, t Tried) error {
	rows := [][]string{{"NODE", "", "AT", "WHAT", "WHO", "WHY"}}
	for _, v := range t.Verdicts {
		whose := "was"
		if v.Tried {
			whose = "would be"
		}
		rows = append(rows, append([]string{v.Node, whose}, rowOf(v.Verdict)...))
	}
	p.Line("tried until %s", cli.Clock(t.Until))
	return printRows(p, rows, t.AsOf)
}
