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

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
	"github.com/hostnode/hostnode/events"
)

func (a *app) demoCommand() *cobra.Command {
	o := demo.MemberOptions{
		Options: demo.Options{Dial: dialHost},
		DialMember: func(dir datadir.Layout, name events.Member) demo.MemberHost {
			return memberAPI{hostAPI{api.NewClient(dir.Socket()), name}}
		},
	}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ownDirectory(cmd); err != nil {
				return err
			}
			small := map[string]string{}
			if cmd.Flags().Changed("members") {
				small = smallCircuit
			}
			c, err := a.settingsUnlessGiven(cmd, small)
			if err != nil {
				return err
			}
			if err := demonstrates(cmd, &o.Options, c, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("members") {
				sum, err := demo.RunMembers(cmd.Context(), o)
				return summed(cmd, sum, err)
			}
			sum, err := demo.Run(cmd.Context(), o.Options)
			return summed(cmd, sum, err)
		},
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
	cmd.AddCommand(a.demoSectorsCommand())
	return cmd
}

// ownDirectory gives a demonstration without a named directory a new one, so
// that it never touches the data of a real host.
func ownDirectory(cmd *cobra.Command) error {
	if cmd.Flags().Changed("data-dir") || os.Getenv("HOSTNODE_DATA_DIR") != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "hostnode-demo-")
	if err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	return cmd.Flags().Set("data-dir", dir)
}

// demonstrates fills in what all demonstrations need: settings, FILE, and what only this process knows.
func demonstrates(cmd *cobra.Command, o *demo.Options, c config.Loaded, args []string) (err error) {
	o.Config, o.Out = c.Config, cmd.OutOrStdout()
	o.Given = slices.DeleteFunc(c.Settings(), func(s config.Setting) bool { return s.Source == "default" })
	if len(args) == 1 {
		if o.File = args[0]; o.File == "" {
			return fmt.Errorf("%w: its name is empty", api.ErrFile)
		}
	}
	if o.Binary, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if f, ok := o.Out.(*os.File); ok {
		o.Terminal = term.IsTerminal(int(f.Fd()))
	}
	return nil
}

// summed prints the summary as JSON if it is wanted, and says why the demonstration ended.
func summed(cmd *cobra.Command, sum any, err error) error {
	if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
		err = api.ErrDemoStopped
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON { // It is the program's own flag.
		err = errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(sum))
	}
	return err
}

// dialHost connects the demonstration to the host, over the same socket as
// every command.
func dialHost(dir datadir.Layout) demo.HostAPI { return hostAPI{api.NewClient(dir.Socket()), ""} }

// hostAPI is a host, or a member of one.
type hostAPI struct {
	client *api.Client
	member events.Member // empty: the host is one process
}

// answerTime is how long the host may take to answer the demonstration.
const answerTime = 5 * time.Second

// soon asks the host, and does not wait for long.
func soon[A any](ctx context.Context, limit time.Duration, ask func(context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ask(ctx)
	return answer, refused(err)
}

// refused marks the error of an offer or order that the host refused, as opposed to one that it did not answer.
func refused(err error) error {
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Status/100 == 4 {
		return fmt.Errorf("%w: %s", api.ErrDemoRefused, problem.Detail)
	}
	return err
}

// Progress implements demo.HostAPI.
func (h hostAPI) Progress(ctx context.Context) (demo.Progress, error) {
	s, err := soon(ctx, answerTime, h.client.Status)
	if err != nil {
		return demo.Progress{}, err
	}
	if !s.AsOf.Running { // Time stands still while it cannot prove.
		return demo.Progress{}, errors.New(s.Reason)
	}
	p := demo.Progress{Head: s.Chain.Head, Away: s.Record.Away, Working: s.Chain.Head == 0 || !s.Chain.Live}
	// Until the host knows that the event store is away, it waits for it before it proves.
	p.Working = p.Working || s.Record.Unanswered > 0 && !s.Record.Away
	for _, pool := range s.Pools {
		busy := pool.Running+pool.Waiting > 0
		p.Working = p.Working || busy && holdsTime(pool.Name)
		p.Sending = p.Sending || busy && sectorMessages[pool.Name]
	}
	return p, nil
}

// holdsTime reports whether chain time stands still while a pool is busy. It does not for messages, which
// wait for blocks.
func holdsTime(pool string) bool {
	return pool == "proofs" || pool == "downloads" ||
		strings.HasPrefix(pool, "sector ") && !sectorMessages[pool]
}

// sectorMessages are the pools of messages about sectors.
var sectorMessages = map[string]bool{"sector transactions": true, "sector proofs": true}

// OpenSales implements demo.HostAPI.
func (h hostAPI) OpenSales(ctx context.Context) (int, error) {
	s, err := soon(ctx, answerTime, h.client.Status)
	if err != nil {
		return 0, err
	}
	if s.Chain.Head == 0 {
		return 0, errors.New("the host is starting")
	}
	open := 0
	for _, n := range s.Phases {
		open += n
	}
	return open, nil
}

// memberAPI is a member of a host, over its socket.
type memberAPI struct{ hostAPI }

// Owner implements demo.MemberHost.
func (m memberAPI) Owner(ctx context.Context) (events.Member, error) {
	all, err := soon(ctx, answerTime, m.client.Members)
	if err != nil || all.Term == nil || !all.Term.Ended.IsZero() {
		return "", err
	}
	return events.Member(all.Term.Member), nil
}

// Offer implements demo.HostAPI. A large enough availability of an earlier
// demonstration is used again.
func (h hostAPI) Offer(ctx context.Context, size events.Bytes, duration time.Duration, collateral events.Amount) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ledger, err := h.client.Ledger(ctx)
	if err != nil {
		return err
	}
	if ledger.Quota == 0 {
		return errors.New("the host is starting")
	}
	for _, a := range ledger.Availabilities {
		remaining, err := events.ParseAmount(a.Remaining)
		if err == nil && a.Member == h.member && a.Enabled && a.FreeSize >= size && !remaining.Less(collateral) &&
			a.DurationSeconds >= uint64(duration/time.Second) {
			return nil
		}
	}
	_, err = h.client.AddAvailability(ctx, api.Offer{
		Size: size, DurationSeconds: uint64(duration / time.Second), MinPrice: "1", Collateral: collateral.String(),
	})
	return refused(err)
}
