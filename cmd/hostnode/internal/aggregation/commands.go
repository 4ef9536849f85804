package aggregation

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events"
)

// Commands are those below hostnode aggregation.
func Commands(a *cli.App) *cobra.Command {
	command := func(use, short string) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	}
	group := &cobra.Command{Use: "aggregation", Short: "Show what is made of CARs: pieces, aggregates and deals"}
	queue := command("queue", "Show which CARs, pieces and aggregates wait, and for what")
	return cli.Group(group,
		cli.AsAt(a, queue, cli.Plain(ShowQueue), printQueue),
		cli.AsAt(a, command("deals", "List the deals about aggregates: pending, approved and rejected"),
			cli.Plain(ListDeals), printDeals),
		submit(a), piece(a), aggregates(a), show(a), proof(a), verify(a), report(a), retry(a),
	)
}

func printQueue(p *cli.Printer, q Queue) error {
	p.Line("%s to be read", cli.Plural(q.Contents.Count, "CAR is", "CARs are"))
	rows := [][]string{{"CAR", "SINCE", "SIZE", "GROUP", "WAITS"}}
	for _, c := range q.Contents.First {
		rows = append(rows, []string{c.Link, cli.Clock(c.Since), cli.Size(events.Bytes(c.Size)), c.Group, c.WaitsFor})
	}
	list(p, rows)
	p.Line("%s for an aggregate", cli.Plural(q.Pieces.Count, "piece waits", "pieces wait"))
	rows = [][]string{{"PRIORITY", "PIECE", "SINCE", "SIZE", "GROUP", "ATTEMPTS", "FERRY"}}
	for _, one := range q.Pieces.First {
		ferry := one.Ferry
		if ferry == "" && one.Isolated {
			ferry = "to be tried alone"
		}
		rows = append(rows, []string{
			fmt.Sprint(one.Priority), one.Piece, cli.Clock(one.Inserted), cli.Size(events.Bytes(one.Size)), one.Group,
			fmt.Sprint(one.Attempts), ferry,
		})
	}
	list(p, rows)
	p.Line("%s for a deal", cli.Plural(q.Aggregates.Count, "aggregate waits", "aggregates wait"))
	rows = [][]string{{"AGGREGATE", "SINCE", "SIZE", "PIECES"}}
	for _, f := range q.Aggregates.First {
		rows = append(rows, []string{
			f.Aggregate, cli.Clock(f.Made), cli.Size(events.Bytes(f.Class)), fmt.Sprint(f.Pieces),
		})
	}
	list(p, rows)
	p.AsOf(q.AsOf)
	return nil
}

// list prints rows, if there are any below their heads.
func list(p *cli.Printer, rows [][]string) {
	if len(rows) > 1 {
		p.Rows(rows)
	}
}

func printDeals(p *cli.Printer, all Deals) error {
	rows := [][]string{{"AGGREGATE", "STATUS", "OFFERED", "PROCESSED", "BROKER", "DEAL", "BAD PIECES", "WHY"}}
	for _, d := range append(append(all.Pending, all.Approved...), all.Rejected...) {
		processed := ""
		if !d.Processed.IsZero() {
			processed = cli.Clock(d.Processed)
		}
		rows = append(rows, []string{
			d.Aggregate, string(d.Status), cli.Clock(d.Inserted), processed, d.Broker, d.Deal, fmt.Sprint(d.BadPieces),
			d.Reason,
		})
	}
	if len(rows) == 1 {
		return p.None("no aggregate was offered", all.AsOf)
	}
	p.Rows(rows)
	p.AsOf(all.AsOf)
	return nil
}
