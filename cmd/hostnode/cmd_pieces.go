package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

func (a *app) sectorsPieces() *cobra.Command {
	return &cobra.Command{
		Use: "pieces", Short: "List the pieces whose data the host keeps, and the sectors that need them",
		Args: cobra.NoArgs,
		RunE: asking(a, look, plain(api.Backend.Pieces), printPieces),
	}
}

func printPieces(p *paper, all api.Pieces) error {
	if len(all.Pieces) == 0 {
		return p.none("no pieces", all.AsOf)
	}
	rows := [][]string{{"PIECE", "DATA", "NEEDED BY SECTORS"}}
	for _, one := range all.Pieces {
		needed := "none: hostnode sectors remove-piece removes it"
		if len(one.Sectors) > 0 {
			needed = strings.Join(strings.Fields(strings.Trim(fmt.Sprint(one.Sectors), "[]")), ", ")
		}
		if one.Trouble != "" {
			needed += "; " + p.colour(red, one.Trouble)
		}
		rows = append(rows, []string{one.CID, size(one.Payload), needed})
	}
	p.rows(rows)
	p.line("%s in all, which count against the quota", size(all.Payload))
	p.asOf(all.AsOf)
	return nil
}

func (a *app) sectorsRemovePiece() *cobra.Command {
	return &cobra.Command{
		Use: "remove-piece CID", Short: "Remove the data of a piece that no sector needs", Args: cobra.ExactArgs(1),
		RunE: asking(a, look, named(api.Backend.RemovePiece), func(p *paper, one api.StoredPiece) error {
			p.line("piece %s is removed, with %s of data", one.CID, size(one.Payload))
			return nil
		}),
	}
}
