package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

func (a *app) sectorsPieces() *cobra.Command {
	return &cobra.Command{
		Use: "pieces", Short: "List the pieces that are kept, and the sectors that need them",
		Args: cobra.NoArgs,
		RunE: cli.Asking(a.App, cli.Look, cli.Plain(api.ListPieces), printPieces),
	}
}

func printPieces(p *cli.Printer, all api.Pieces) error {
	if len(all.Pieces) == 0 {
		return p.None("no pieces", all.AsOf)
	}
	rows := [][]string{{"PIECE", "DATA", "NEEDED BY SECTORS"}}
	for _, one := range all.Pieces {
		needed := "none: hostnode sectors remove-piece removes it"
		if len(one.Sectors) > 0 {
			needed = strings.Join(strings.Fields(strings.Trim(fmt.Sprint(one.Sectors), "[]")), ", ")
		}
		if one.Trouble != "" {
			needed += "; " + p.Colour(cli.Red, one.Trouble)
		}
		rows = append(rows, []string{one.CID, cli.Size(one.Payload), needed})
	}
	p.Rows(rows)
	p.Line("%s in all, which count against the quota", cli.Size(all.Payload))
	return p.End(all.AsOf)
}

func (a *app) sectorsRemovePiece() *cobra.Command {
	return &cobra.Command{
		Use: "remove-piece CID", Short: "Remove the data of a piece that no sector needs", Args: cobra.ExactArgs(1),
		RunE: cli.Asking(a.App, cli.Look, cli.Named(api.RemovePiece, ofPiece), printRemoved),
	}
}

func printRemoved(p *cli.Printer, one api.StoredPiece) error {
	p.Line("piece %s is removed, with %s of data", one.CID, cli.Size(one.Payload))
	return nil
}

func ofPiece(cid string) api.OfPiece { return api.OfPiece{CID: cid} }
