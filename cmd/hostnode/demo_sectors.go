package main

import (
	"maps"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

func (a *app) demoSectorsCommand() *cobra.Command {
	var o demo.SectorOptions
	cmd := &cobra.Command{
		Use:   "sectors [FILE]",
		Short: "Seal a file into sectors, prove it, and see what can go wrong",
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
		RunE: a.demonstration(&o.Options, func(*cobra.Command) map[string]string {
			// It sells no slots, so by default their proving keys are small ones.
			defaults := maps.Clone(smallCircuit)
			defaults["sectors.sealer"] = "commd"
			return defaults
		}, func(cmd *cobra.Command) (any, error) { return demo.RunSectors(cmd.Context(), o) }),
	}
	config.AddFlags(cmd.Flags(), "dataDir", "quota", "account.keyFile", "prover.samples", "prover.maxDepth",
		"prover.keysDir", "eventStore.url", "eventStore.passwordFile", "sectors.sealer")
	cmd.Flags().IntVar(&o.Days, "days", 5, "prove each sector on at least this many days")
	cmd.Flags().BoolVar(&o.Crash, "crash", true, "kill the host twice, each time in the middle of a step")
	return cmd
}

// smallCircuit makes proving keys small ones, which are made in seconds.
var smallCircuit = map[string]string{"prover.samples": "1", "prover.maxDepth": "16"}
