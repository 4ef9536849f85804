package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker/standin"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

func (a *app) demoAggregationCommand() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "aggregation",
		Short: "Make aggregates of 60 CARs, have some rejected, and prove the rest",
		Long: `Make aggregates of 60 CARs, and have them stored. A host reads the CARs and refuses those that are
bad, one of each kind. Of the others it makes pieces, and of these aggregates of 1 MiB, which it offers to
a broker, a process of its own.

The broker rejects the first aggregate and says which two pieces are bad. It rejects others silently,
until the host has found out because of which piece. While it makes an aggregate the host is killed. Then
it makes sectors of its aggregates itself, and proves them on a development chain. In the end the client
takes the proof that his piece is inside, and verifies it without the host and by a contract.

Without --data-dir, a new directory is made and kept.

Exit code 0 means that all of this happened and the audit is clean.`,
		Args: cobra.NoArgs,
		RunE: a.demonstration(&o, func(*cobra.Command) map[string]string { return smallCircuit },
			func(cmd *cobra.Command) (any, error) { return demo.RunAggregation(cmd.Context(), o) }),
	}
	config.AddFlags(cmd.Flags(), "dataDir", "account.keyFile", "prover.samples", "prover.maxDepth", "prover.keysDir")
	cmd.AddCommand(standInCommand())
	return cmd
}

// standInCommand is the broker of the demonstration, which starts it.
func standInCommand() *cobra.Command {
	return &cobra.Command{
		Use: "broker ADDRESS TOKENFILE", Short: "Be the broker of the demonstration", Hidden: true,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := config.ReadPrivate(args[1], 1<<10)
			if err != nil {
				return err
			}
			return standin.Run(cmd.Context(), args[0], strings.TrimSpace(string(token)), cmd.OutOrStdout())
		},
	}
}
