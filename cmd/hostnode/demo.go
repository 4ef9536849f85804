package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func (a *app) demoCommand() *cobra.Command {
	var o demo.MemberOptions
	cmd := &cobra.Command{
		Use:   "demo [FILE]",
		Short: "Sell storage for a file, from an empty directory to the payout",
		Long: `Sell storage for a file, in a demonstration in which every part is real: a client codes the
file and asks for storage on a development chain; a host in a second process sells all slots,
proves them, is killed midway, goes on from its events, and is paid. Without FILE, 4 MiB of
data are generated. Without --data-dir a new directory is made, and kept.

With --members 3 the host is three processes on one event store, with an etcd that says who is
alive. The member that owns queue and transactions is killed and another one takes over; then the
event store is away for a while, then etcd; then the killed member comes back. From the first
filled slot on chain time has a fixed pace and waits for nobody. Proofs have one sample, because
all members prove on this machine; --prover-samples says otherwise.

Exit code 0 means that the payout arrived and the audit is clean.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.demonstration(&o.Options, func(cmd *cobra.Command) map[string]string {
			if cmd.Flags().Changed("members") {
				return smallCircuit
			}
			return nil
		}, func(cmd *cobra.Command) (any, error) {
			if cmd.Flags().Changed("members") {
				return demo.RunMembers(cmd.Context(), o)
			}
			return demo.Run(cmd.Context(), o.Options)
		}),
	}
	// The most used settings. All others can be set in the environment and in a file.
	config.AddFlags(cmd.Flags(), "dataDir", "quota", "devchain.period", "account.keyFile",
		"sales.maxWorkers", "prover.samples", "prover.maxDepth", "prover.maxLog2Slots", "prover.keysDir",
		"eventStore.url", "eventStore.passwordFile")
	cmd.Flags().IntVar(&o.Slots, "slots", 3, "number of slots, a third of them parity")
	cmd.Flags().IntVar(&o.Periods, "periods", 3, "least number of periods with proofs")
	cmd.Flags().BoolVar(&o.Crash, "crash", true, "kill the host, or the member that is its owner, once in the middle")
	cmd.Flags().IntVar(&o.Members, "members", 0, "run the host as so many processes")
	cmd.Flags().DurationVar(&o.Away, "away", 20*time.Second, "with --members, how long event store and etcd are away")
	cmd.AddCommand(a.demoSectorsCommand(), a.demoDowntimeCommand(), a.demoAggregationCommand())
	return cmd
}

// demonstration is what the command of a demonstration does: it runs it with the settings, FILE, and what only this
// process knows, and prints the summary as JSON if that is wanted. Some settings have other defaults.
func (a *app) demonstration(
	o *demo.Options, defaults func(*cobra.Command) map[string]string, run func(*cobra.Command) (any, error),
) func(*cobra.Command, []string) error {
	return inOwnDirectory(func(cmd *cobra.Command, args []string) error {
		c, err := a.Settings(cmd)
		if err != nil {
			return err
		}
		others := defaults(cmd)
		for _, s := range c.Settings() {
			if value, is := others[s.Key]; is && s.Source == "default" {
				if err := cmd.Flags().Set(strings.TrimPrefix(s.Flag, "--"), value); err != nil {
					return err
				}
			}
		}
		if c, err = a.Settings(cmd); err != nil {
			return err
		}
		o.Config, o.Out = c.Config, cmd.OutOrStdout()
		o.Given = slices.DeleteFunc(c.Settings(), func(s config.Setting) bool { return s.Source == "default" })
		if len(args) == 1 {
			o.File = args[0]
		}
		if o.Binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		if f, ok := o.Out.(*os.File); ok {
			o.Terminal = term.IsTerminal(int(f.Fd()))
		}
		sum, err := run(cmd)
		if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
			err = problem.ErrDemoStopped
		}
		if asJSON, _ := cmd.Flags().GetBool("json"); asJSON { // It is the program's own flag.
			err = errors.Join(err, json.NewEncoder(o.Out).Encode(sum))
		}
		return err
	})
}

// inOwnDirectory gives a demonstration without a named directory a new one, so
// that it never touches the data of a real host. One that is refused leaves none.
func inOwnDirectory(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("data-dir") || os.Getenv("HOSTNODE_DATA_DIR") != "" {
			return run(cmd, args)
		}
		dir, err := os.MkdirTemp("", "hostnode-demo-")
		if err != nil {
			return fmt.Errorf("make a data directory: %w", err)
		}
		if err = cmd.Flags().Set("data-dir", dir); err == nil {
			err = run(cmd, args)
		}
		if err != nil {
			_ = os.Remove(dir) // Which fails if anything is in it.
		}
		return err
	}
}
