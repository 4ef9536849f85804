package main

import (
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

func (a *app) demoDowntimeCommand() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "downtime",
		Short: "Watch three hosts for five days, and see who is suspended",
		Long: `Watch three hosts for five days of chain time. Each is a process that proves a slot on a
development chain, and answers who asks whether it is there; a fourth process watches them.

One host stays. One is gone for six hours: it is warned, suspended, and reinstated. One comes and
goes: it is suspended and, as it does not stay, disqualified. Then the watcher is gone for half a
day, and nobody is punished for what it did not see. Without --data-dir, a new directory is made.

Exit code 0 means that this was decided and nothing else, and that the audit is clean.`,
		Args: cobra.NoArgs,
		RunE: a.demonstration(&o, func(*cobra.Command) map[string]string { return smallCircuit },
			func(cmd *cobra.Command) (any, error) { return demo.RunDowntime(cmd.Context(), o) }),
	}
	config.AddFlags(cmd.Flags(), "dataDir", "account.keyFile", "prover.samples", "prover.maxDepth", "prover.keysDir")
	return cmd
}
