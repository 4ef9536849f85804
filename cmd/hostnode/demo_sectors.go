package main

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

func (a *app) demoSectorsCommand() *cobra.Command {
	o := demo.SectorOptions{DialSectors: func(dir datadir.Layout) demo.SectorHost {
		return sectorHostAPI{hostAPI{api.NewClient(dir.Socket()), ""}}
	}}
	cmd := &cobra.Command{
		Use:   "sectors [FILE]",
		Short: "Seal a file into sectors, prove it for some days, and see what can go wrong",
		Long: `Seal a file into sectors and prove it for some days. Every part is real: the file is cut
into pieces, and a host in a second process writes them into four sectors, seals them with
commd, precommits them on a development chain, waits for their seeds, and proves their
seals. From then on it proves every day that it has the data. The proofs show possession,
not replication.

Things also go wrong. The data of one sector is damaged; a challenge finds the damage, and
the sector is repaired from its pieces. The operator declares another sector faulty, and it
recovers. A third one is terminated. Twice the host is killed in the middle of a step, and
continues from its events.

Without FILE, 15 MiB of data are generated. Without --data-dir, a new directory is made and
kept. A day is 40 blocks, which take some seconds.

Exit code 0 means that all of this happened and the audit is clean.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ownDirectory(cmd); err != nil {
				return err
			}
			c, err := a.settingsForSectors(cmd)
			if err != nil {
				return err
			}
			if err := demonstrates(cmd, &o.Options, c, args); err != nil {
				return err
			}
			sum, err := demo.RunSectors(cmd.Context(), o)
			return summed(cmd, sum, err)
		},
	}
	config.AddFlags(cmd.Flags(), "dataDir", "quota", "account.keyFile", "prover.samples", "prover.maxDepth",
		"prover.keysDir", "eventStore.url", "eventStore.passwordFile", "sectors.sealer")
	cmd.Flags().IntVar(&o.Days, "days", 5, "prove each sector on at least this many days")
	cmd.Flags().BoolVar(&o.Crash, "crash", true, "kill the host twice, each time in the middle of a step")
	return cmd
}

// smallCircuit makes proving keys small ones, which are made in seconds.
var smallCircuit = map[string]string{"prover.samples": "1", "prover.maxDepth": "16"}

// settingsForSectors loads the settings. The demonstration sells no slots, so by default their proving keys
// are small ones.
func (a *app) settingsForSectors(cmd *cobra.Command) (config.Loaded, error) {
	wanted := maps.Clone(smallCircuit)
	wanted["sectors.sealer"] = "commd"
	return a.settingsUnlessGiven(cmd, wanted)
}

// settingsUnlessGiven loads the settings, with other defaults for some.
func (a *app) settingsUnlessGiven(cmd *cobra.Command, wanted map[string]string) (config.Loaded, error) {
	c, err := a.settings(cmd)
	if err != nil {
		return c, err
	}
	for _, s := range c.Settings() {
		value, is := wanted[s.Key]
		if is && s.Source == "default" {
			if err := cmd.Flags().Set(strings.TrimPrefix(s.Flag, "--"), value); err != nil {
				return c, err
			}
		}
	}
	return a.settings(cmd)
}

// sectorHostAPI is a host with sectors, over its socket.
type sectorHostAPI struct{ hostAPI }

// whoDemonstrates is recorded as the giver of the orders.
const whoDemonstrates = "demonstration"

// longOrder is how long the host may take to import a piece.
const longOrder = 5 * time.Minute

// Progress implements demo.SectorHost. It fails until sectors answer too: before that they cannot be proven.
func (h sectorHostAPI) Progress(ctx context.Context) (demo.Progress, error) {
	p, err := h.hostAPI.Progress(ctx)
	if err == nil {
		_, err = soon(ctx, answerTime, h.client.Pieces)
	}
	return p, err
}

// Import implements demo.SectorHost.
func (h sectorHostAPI) Import(ctx context.Context, file string) (events.SectorPiece, error) {
	p, err := soon(ctx, longOrder, func(ctx context.Context) (api.Piece, error) {
		return h.client.ImportPiece(ctx, file)
	})
	return events.SectorPiece(p), err
}

// Begin implements demo.SectorHost.
func (h sectorHostAPI) Begin(ctx context.Context, size events.Bytes) (uint64, error) {
	return soon(ctx, answerTime, func(ctx context.Context) (uint64, error) {
		return h.client.BeginSector(ctx, api.NewSector{
			Size: size, By: whoDemonstrates, Request: api.DrawID().String(),
		})
	})
}

func (h sectorHostAPI) order(ctx context.Context, sector uint64, verb api.Verb, o api.SectorOrder) error {
	o.By = whoDemonstrates
	_, err := soon(ctx, answerTime, func(ctx context.Context) (api.Sector, error) {
		return h.client.OrderSector(ctx, sector, verb, o)
	})
	return err
}

// Add implements demo.SectorHost.
func (h sectorHostAPI) Add(ctx context.Context, sector uint64, piece events.SectorPiece) error {
	p := api.Piece(piece)
	return h.order(ctx, sector, api.VerbAddPiece, api.SectorOrder{Piece: &p})
}

// Seal implements demo.SectorHost.
func (h sectorHostAPI) Seal(ctx context.Context, sector uint64) error {
	return h.order(ctx, sector, api.VerbPack, api.SectorOrder{})
}

// Force implements demo.SectorHost.
func (h sectorHostAPI) Force(ctx context.Context, sector uint64, state, reason string) error {
	return h.order(ctx, sector, api.VerbForce, api.SectorOrder{State: state, Reason: reason})
}

// Terminate implements demo.SectorHost.
func (h sectorHostAPI) Terminate(ctx context.Context, sector uint64, reason string) error {
	return h.order(ctx, sector, api.VerbTerminate, api.SectorOrder{Reason: reason})
}

// Sectors implements demo.SectorHost.
func (h sectorHostAPI) Sectors(ctx context.Context) ([]projections.Sector, error) {
	all, err := soon(ctx, answerTime, h.client.Sectors)
	return all.Sectors, err
}
