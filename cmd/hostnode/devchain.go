package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
)

func (a *app) devchainCommand() *cobra.Command {
	var fund []string
	cmd := &cobra.Command{
		Use:   "devchain",
		Short: "Run the development chain with the marketplace in a process of its own",
		Long: `Run the development chain with the marketplace in a process of its own.

It is stored in the directory chain of the data directory, and may be killed at any
time. A host uses it with the options that are printed. Its tokens are worth nothing.
Everything listens on loopback only.`,
		Args: cobra.NoArgs,
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) error {
			return runDevchain(cmd.Context(), cmd, c.Config, fund)
		}),
	}
	settingFlags(cmd, "devchain-block-interval", "devchain-period")
	cmd.Flags().StringSliceVar(&fund, "fund", nil, "give these `accounts` the tokens and gas that a host needs")
	return cmd
}

func runDevchain(ctx context.Context, cmd *cobra.Command, c config.Config, fund []string) (err error) {
	out := cmd.OutOrStdout()
	var accounts []events.Address
	for _, text := range fund {
		account, err := events.ParseAddress(text)
		if err != nil {
			return fmt.Errorf("%w: --fund: %w", cli.ErrUsage, err)
		}
		accounts = append(accounts, account)
	}
	dir := datadir.At(c.DataDir)
	if err := dir.Begin(); err != nil {
		return err
	}
	keys, err := node.DevelopmentKeys(ctx, c.Prover, dir, func(step string) {
		fmt.Fprintln(out, "proving keys:", step)
	})
	if err != nil {
		return err
	}
	local, err := node.LocalChain(ctx, c, dir, keys, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	for _, account := range accounts {
		if err := node.ProvideDevelopmentFunds(ctx, local, account); err != nil {
			return err
		}
		fmt.Fprintln(out, "funded      ", account)
	}
	fmt.Fprintf(out, "chain id     %d\nhead         block %d, chain time %s\n",
		devchain.ChainID, local.Head().Number, local.Head().Time.Format(time.RFC3339))
	fmt.Fprintf(out, "marketplace  %s\nsectors      %s\ntoken        %s\nipc          %s\n",
		local.Marketplace, local.SectorProvider, local.Token, local.IPCPath())
	if url := local.HTTPEndpoint(); url != "" {
		fmt.Fprintf(out, "http         %s\n", url)
	}
	if url := local.WSEndpoint(); url != "" {
		fmt.Fprintf(out, "websocket    %s\n", url)
	}
	fmt.Fprintf(out, "host         hostnode run --chain-endpoint %s --chain-contract %s --sectors-contract %s\n",
		local.IPCPath(), local.Marketplace, local.SectorProvider)
	fmt.Fprintf(out, "client       hostnode client --data-dir %s prepare FILE, and so on; see hostnode help client\n",
		dir.Root)
	return local.Run(ctx, devchain.FixedPace(c.Devchain.BlockInterval))
}
