package aggregation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	inclusion "github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/proof"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events"
)

// This file has the commands of clients: they bring CARs, ask how they stand, and take and check proofs.

func submit(a *cli.App) *cobra.Command {
	var q NewContent
	cmd := &cobra.Command{
		Use: "submit FILE|URL", Short: "Have a CAR stored", Args: cobra.ExactArgs(1),
		Long: "Have a CAR stored. The host reads it itself: a file must lie below one of its\n" +
			"aggregation.sources.roots. Of a URL, say the CAR CID and the size.",
		Example: "  hostnode aggregation submit /srv/cars/a.car --group free\n" +
			"  hostnode aggregation submit https://cars.example/a.car --link bagbaiera… --size 1048576",
	}
	cmd.Flags().StringVar(&q.Link, "link", "", "the CAR `CID`, of a URL")
	cmd.Flags().Uint64Var(&q.Size, "size", 0, "its `bytes`, of a URL")
	cmd.Flags().StringVar(&q.Group, "group", "", "the `group` whose quota it counts for")
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (Content, error) {
		q.Key = args[0]
		if !strings.Contains(q.Key, "://") {
			if err := q.file(args[0]); err != nil {
				return Content{}, err
			}
		}
		return PostContent.Ask(ctx, b, api.Send(q))
	}, printContent)
	return cmd
}

// file fills in what a file is.
func (q *NewContent) file(path string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	f, err := os.Open(whole)
	if err != nil {
		return fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	q.Key, q.Size = whole, uint64(n) //nolint:gosec // Not negative.
	q.Link = events.ContentLink(sum.Sum(nil)).String()
	return nil
}

func piece(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "piece CID", Short: "Show how a piece or a CAR stands, and what it waits for",
		Args: cobra.ExactArgs(1),
	}
	ask := cli.Named(ShowPiece, func(cid string) OfPiece { return OfPiece{Piece: cid} })
	return cli.AsAt(a, cmd, ask, printStanding)
}

func proof(a *cli.App) *cobra.Command {
	var file string
	var text []byte
	cmd := &cobra.Command{
		Use: "proof CID", Short: "Write the proof that a piece is in its aggregate", Args: cobra.ExactArgs(1),
		Example: "  hostnode aggregation proof baga6ea4seaq… --output piece.proof\n" +
			"  hostnode aggregation verify piece.proof",
	}
	cmd.Flags().StringVar(&file, "output", "", "the `file` to write; empty: standard output")
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (inclusion.File, error) {
		f, err := ShowProof.Ask(ctx, b, OfPiece{Piece: args[0]})
		if err == nil {
			text, err = json.MarshalIndent(f, "", "  ")
		}
		if err == nil && file != "" {
			err = os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // Anybody may read a proof.
		}
		return f, err
	}, func(p *cli.Printer, f inclusion.File) error {
		if file == "" {
			p.Line("%s", text)
		} else {
			p.Line("the proof that %s is in %s is in %s", f.Piece.CID, f.Aggregate.CID, file)
		}
		return nil
	})
	return cmd
}

// verify needs no host.
func verify(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Verify a proof, without a host", Args: cobra.ExactArgs(1),
		Long: "Verify a proof. It shows that a piece is in an aggregate: compare both with the piece that\n" +
			"you have, and with the deal.",
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("%w: %w", cli.ErrUsage, err)
			}
			defer in.Close()
			f, err := inclusion.Read(in)
			if err == nil {
				err = f.Verify()
			}
			if err != nil {
				return err
			}
			return cli.Show(a, f, func(p *cli.Printer, f inclusion.File) error {
				p.Line("right: %s, of %s, is in %s, of %s", f.Piece.CID, cli.Size(events.Bytes(f.Piece.Size)),
					f.Aggregate.CID, cli.Size(events.Bytes(f.Aggregate.Size)))
				return nil
			})
		},
	}
}

func aggregates(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "aggregates", Short: "List aggregates, and the ferries that become some", Args: cobra.NoArgs,
	}
	return cli.AsAt(a, cmd, cli.Plain(ListFerries), func(p *cli.Printer, all Aggregates) error {
		rows := [][]string{{"AGGREGATE OR FERRY", "STATE", "SINCE", "SIZE", "PIECES", "FILLED", "WHY"}}
		for _, f := range all.Aggregates {
			rows = append(rows, []string{
				cmp.Or(f.Aggregate, f.ID), string(f.State), cli.Clock(f.Since), cli.Size(events.Bytes(f.Class)),
				fmt.Sprint(f.Pieces),
				fmt.Sprintf("%.1f %%", 100*float64(f.Bytes)/float64(f.Class)), f.Reason,
			})
		}
		if len(rows) == 1 {
			return p.None("nothing was packed yet", all.AsOf)
		}
		p.Rows(rows)
		p.AsOf(all.AsOf)
		return nil
	})
}

func show(a *cli.App) *cobra.Command {
	q := OfAggregate{}
	cmd := &cobra.Command{Use: "show AGGREGATE", Short: "Show an aggregate and its pieces", Args: cobra.ExactArgs(1)}
	cmd.Flags().IntVar(&q.From, "from", 0, "the `number` of the first piece, from 0")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "how `many` pieces")
	return cli.AsAt(a, cmd, func(ctx context.Context, b api.Backend, args []string) (Aggregate, error) {
		q.Aggregate = args[0]
		return ShowAggregate.Ask(ctx, b, q)
	}, printAggregate)
}

func report(a *cli.App) *cobra.Command {
	var q Report
	cmd := &cobra.Command{
		Use: "report AGGREGATE", Short: "Say that an aggregate failed, and which of its pieces are bad",
		Long: "Say that an aggregate failed. The offer is withdrawn; bad pieces are refused, all others wait\n" +
			"again under their priorities. Repeated, it is the same.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringSliceVar(&q.Body.Bad, "bad", nil, "the `CIDs` of bad pieces; none: nobody knows")
	cmd.Flags().StringVar(&q.Body.Reason, "reason", "", "the `reason`; it is recorded")
	cli.WithBy(cmd, &q.Body.By)
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (Aggregate, error) {
		if q.Aggregate = args[0]; q.Body.Reason == "" {
			return Aggregate{}, errors.Join(cli.ErrUsage, errors.New("say why with --reason"))
		}
		if _, err := ReportAggregate.Ask(ctx, b, q); err != nil {
			return Aggregate{}, err
		}
		return ShowAggregate.Ask(ctx, b, OfAggregate{Aggregate: q.Aggregate, Limit: 100})
	}, printAggregate)
	return cmd
}

func retry(a *cli.App) *cobra.Command {
	var q Retry
	cmd := &cobra.Command{
		Use: "retry CAR", Short: "Have a CAR read once more",
		Long: "Have a CAR read once more, because its source was mended, or its piece was derived wrongly:\n" +
			"another piece takes the place of the first. A piece that a broker refused stays refused.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&q.Body.Reason, "reason", "", "the `reason`; it is recorded")
	cli.WithBy(cmd, &q.Body.By)
	cmd.RunE = cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, args []string) (Content, error) {
		q.Link = args[0]
		return RetryContent.Ask(ctx, b, q)
	}, printContent)
	return cmd
}

func printContent(p *cli.Printer, c Content) error {
	p.Line("%s is %s since %s", c.Link, c.Status, cli.Clock(c.Since))
	if c.Code != "" {
		p.Line("refused: %s: %s", c.Code, c.Detail)
	}
	p.Line("%s shows how it goes on", p.Command("aggregation piece "+c.Link))
	return nil
}

func printStanding(p *cli.Printer, s Standing) error {
	p.Line("%s since %s", s.Stage, cli.Clock(s.Since))
	rows := [][]string{
		{"waits for", s.WaitsFor},
		{"refused", s.Refused},
		{"CAR", s.Content.Link},
		{"size", cli.Size(events.Bytes(s.Content.Size))},
		{"group", s.Content.Group},
		{"piece", s.Piece},
		{"piece, version 2", s.PieceV2},
		{"aggregate", s.Aggregate},
	}
	if !s.Expected.IsZero() {
		rows = append(rows, []string{"expected in an aggregate", cli.Clock(s.Expected)})
	}
	if s.Stage == "queued" {
		rows = append(rows, []string{"ahead of it", cli.Count(s.Ahead, "piece")})
	}
	if s.Aggregate != "" {
		rows = append(rows, []string{"offset", fmt.Sprint(s.Offset)})
	}
	if d := s.Deal; d != nil {
		rows = append(rows, []string{"deal", fmt.Sprintf("%s %s with %s", d.Status, d.Deal, d.Broker)})
	}
	for _, source := range s.Content.Sources {
		rows = append(rows, []string{"source", source.BucketURL + source.Key})
	}
	p.Rows(cli.Given(rows))
	if s.MayDelete {
		p.Line("its client may delete the CAR")
	}
	p.AsOf(s.AsOf)
	return nil
}

func printAggregate(p *cli.Printer, a Aggregate) error {
	p.Line("%s, of %s, is %s since %s", a.Aggregate, cli.Size(events.Bytes(a.Class)), a.State, cli.Clock(a.Made))
	if d := a.Deal; d != nil {
		p.Line("deal: %s %s with %s, offered %s", d.Status, d.Deal, d.Broker, cli.Clock(d.Inserted))
		if d.Doubted != "" {
			p.Line("not believed: %s", d.Doubted)
		}
	}
	if a.Reason != "" {
		p.Line("because: %s", a.Reason)
	}
	rows := [][]string{{"PIECE", "STATUS", "OFFSET", "SIZE", "CAR"}}
	for _, one := range a.List {
		rows = append(rows, []string{
			one.Piece, one.Status, fmt.Sprint(one.Offset), cli.Size(events.Bytes(one.Size)), one.Content,
		})
	}
	p.Rows(rows)
	if a.Next > 0 {
		p.Line("%s more: --from %d", cli.Count(a.Pieces-a.Next, "piece"), a.Next)
	}
	p.AsOf(a.AsOf)
	return nil
}
