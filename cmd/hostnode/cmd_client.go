package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// clientListen is where the client's blocks are served by default.
const clientListen = "127.0.0.1:8070"

func (a *app) clientCommand() *cobra.Command {
	c := &clientOf{app: a}
	cmd := cli.Group(&cobra.Command{
		Use:   "client",
		Short: "Be a client of the market, to see one's own host sell",
		Long: `Be a client of the market: code a file, serve its blocks, ask for storage, and see what becomes of it.

Without chain.endpoint it finds the development chain of a host, or of hostnode devchain, in the data
directory, and gets its money there. On another chain its account needs tokens and gas; its address is
printed. The client has a directory and a key of its own.`,
	}, c.prepare(), c.serve(), c.request(), c.status(), c.withdraw())
	config.AddFlags(cmd.PersistentFlags(), "chain.endpoint", "chain.contract")
	cmd.PersistentFlags().StringVar(&c.dir, "dir", "", "the client's `directory`; empty: client in the data directory")
	return cmd
}

// clientOf has what the client's commands share.
type clientOf struct {
	*app
	dir string
}

// on gives a command the client.
func (c *clientOf) on(
	do func(cmd *cobra.Command, client *requester.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return c.Configured(func(cmd *cobra.Command, cfg config.Loaded, args []string) error {
		if c.dir == "" {
			if err := datadir.At(cfg.DataDir).CheckUser(); err != nil {
				return err
			}
		}
		client := requester.NewClient(cfg.Config, c.dir)
		return errors.Join(do(cmd, client, args), client.Close())
	})
}

// command is how a command of this client is written.
func (c *clientOf) command(cmd *cobra.Command, words string) string {
	text := c.Typed.Command("client " + words)
	if cmd.Flags().Changed("dir") {
		text += " --dir " + c.dir
	}
	return text
}

// account is the client's on the market, whose token it asks for.
func (c *clientOf) account(ctx context.Context, client *requester.Client) (*chain.Requester, error) {
	account, err := client.Account(ctx)
	if errors.Is(err, localchain.ErrStopped) {
		err = fmt.Errorf("%w; start it: %s", err, c.Typed.Command("run"))
	}
	if err != nil {
		return nil, err
	}
	symbol, decimals, err := account.TokenSays(ctx)
	c.Market = money.FromContract(symbol, decimals)
	return account, err
}

func (c *clientOf) prepare() *cobra.Command {
	var slots int
	cmd := &cobra.Command{
		Use: "prepare FILE", Short: "Code a file into slots with parity", Args: cobra.ExactArgs(1),
		RunE: c.on(func(cmd *cobra.Command, client *requester.Client, args []string) error {
			last := -1
			says := func(done, total events.Bytes) {
				const step = 10
				if percent := int(float64(done) / float64(total) * 100); percent/step != last/step || last < 0 {
					last = percent
					fmt.Fprintf(cmd.ErrOrStderr(), "coded %d %% of %s\n", percent, cli.Size(total))
				}
			}
			d, err := client.Shelf.Prepare(cmd.Context(), args[0], requester.CodeOf(slots), says)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) {
				err = fmt.Errorf("%w: %w", problem.ErrFile, err)
			}
			if err != nil {
				return err
			}
			l := d.Layout()
			return cli.Show(c.App, prepared{
				CID: d.CID().String(), Slots: l.Slots(), Parity: l.M, SlotSize: l.SlotSize(), File: args[0],
			}, func(p *cli.Printer, v prepared) error {
				p.Line("prepared     %s: %d slots of %s, of which %d may be lost",
					v.File, v.Slots, cli.Size(v.SlotSize), v.Parity)
				p.Line("dataset      %s", v.CID)
				p.Line("next         %s, in another terminal, and %s",
					c.command(cmd, "serve"), c.command(cmd, "request "+v.File))
				return nil
			})
		}),
	}
	cmd.Flags().IntVar(&slots, "slots", 3, "number of slots, a third of them parity")
	return cmd
}

// prepared is what prepare answers.
type prepared struct {
	File     string       `json:"file"`
	CID      string       `json:"cid"`
	Slots    int          `json:"slots"`
	Parity   int          `json:"parity"`
	SlotSize events.Bytes `json:"slotSize"`
}

func (c *clientOf) serve() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the blocks of all prepared files, until it is stopped", Args: cobra.NoArgs,
		RunE: c.on(func(cmd *cobra.Command, client *requester.Client, _ []string) error {
			listener, err := net.Listen("tcp", listen)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("%w: %s", devchain.ErrPortInUse, listen)
			}
			if err != nil {
				return fmt.Errorf("%w: --listen: %w", cli.ErrUsage, err)
			}
			server := &http.Server{Handler: storage.NewHandler(client.Shelf), ReadHeaderTimeout: 10 * time.Second}
			defer context.AfterFunc(cmd.Context(), func() { _ = server.Close() })()
			all, err := client.Shelf.All()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "serving      %s\n", cli.Count(len(all), "dataset"))
			fmt.Fprintf(cmd.OutOrStdout(), "host         %s\n",
				c.Typed.Command("run"+fetchesFrom(c.Config, "http://"+listener.Addr().String(), all)))
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "stopped")
			return nil
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", clientListen, "`address` and port")
	return cmd
}

// fetchesFrom are the settings that a host needs, beside those that it has, to fetch from a client, and to take all
// slots of a request for any of its datasets.
func fetchesFrom(c config.Config, client string, all []*dataset.Dataset) (flags string) {
	if !slices.Contains(c.Content.Sources, client) {
		flags = " --content-sources " + client
	}
	most := 0
	for _, d := range all {
		most = max(most, d.Layout().Slots())
	}
	if most > c.Sales.MaxSlotsPerRequest {
		flags += fmt.Sprintf(" --sales-max-slots-per-request %d", most)
	}
	return flags
}

func (c *clientOf) request() *cobra.Command {
	t := requester.Terms{
		PricePerBytePerSecond: events.NewAmount(1000), CollateralPerByte: events.NewAmount(100),
		ProofProbability: 1, Duration: 30 * time.Minute, Expiry: 10 * time.Minute,
	}
	var price, collateral *money.Entry
	cmd := &cobra.Command{
		Use: "request FILE|CID", Short: "Ask the market to store a prepared file, and pay for it",
		Args: cobra.ExactArgs(1),
		RunE: c.on(func(cmd *cobra.Command, client *requester.Client, args []string) error {
			d, err := client.Shelf.Find(args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if _, err := c.account(ctx, client); err != nil {
				return err
			}
			if err := errors.Join(
				typedIn(c.Market, "price", price, &t.PricePerBytePerSecond),
				typedIn(c.Market, "collateral", collateral, &t.CollateralPerByte),
			); err != nil {
				return err
			}
			r, err := client.Buy(ctx, d, t, c.Now())
			if err != nil {
				return err
			}
			return cli.Show(c.App, posted{
				ID: r.ID, Client: r.Client, Price: requester.Price(r),
				Slots: r.Ask.Slots, MaxSlotLoss: r.Ask.MaxSlotLoss,
				all: uint64(max(c.Config.Sales.MaxSlotsPerRequest, 0)) >= r.Ask.Slots,
			}, printPosted)
		}),
	}
	flags := cmd.Flags()
	moneyFlag(flags, money.PerByteSecond, func(e money.Entry) { price = &e }, "price",
		"`price`, such as 0.5/GiB/month, or base units for each byte and second (default 1000); rounded up")
	moneyFlag(flags, money.PerByte, func(e money.Entry) { collateral = &e }, "collateral",
		"`amount` that a host deposits, such as 0.0000001 TST/GiB, or base units per byte (default 100); rounded up")
	readFlag(flags, cli.ParseDuration, func(d time.Duration) { t.Duration = d }, "duration",
		"for how long, a `duration` such as 30m (the default) or 30d")
	readFlag(flags, cli.ParseDuration, func(d time.Duration) { t.Expiry = d }, "expiry",
		"how long the slots may take to be filled, a `duration` (default 10m)")
	flags.Uint64Var(&t.ProofProbability, "proof-probability", t.ProofProbability,
		"a proof is wanted once in so many `periods`, on average")
	return cmd
}

// posted is what request answers.
type posted struct {
	ID          events.RequestID `json:"id"`
	Client      events.Address   `json:"client"`
	Price       events.Amount    `json:"price"`
	Slots       uint64           `json:"slots"`
	MaxSlotLoss uint64           `json:"maxSlotLoss"`
	all         bool             // a host with these settings may fill all of them
}

func printPosted(p *cli.Printer, v posted) error {
	p.Line("request      %s of account %s", v.ID, v.Client)
	p.Line("paid         %s, of which the contract returns what no host earns",
		money.Base(v.Price.String()))
	if v.all {
		p.Line("it starts    when all %s are filled", cli.Count(v.Slots, "slot"))
		return nil
	}
	p.Line("it starts    when all %s are filled; by default a host fills at most %d of them, and with "+
		"--sales-max-slots-per-request %d all of them", cli.Count(v.Slots, "slot"), v.MaxSlotLoss, v.Slots)
	return nil
}

// progress is what became of the requests that the arguments name, or of all.
func (c *clientOf) progress(
	ctx context.Context, client *requester.Client, args []string,
) (account *chain.Requester, answer []requester.Progress, err error) {
	all, err := client.Shelf.All()
	if len(args) > 0 {
		all, err = client.Shelf.Naming(args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	if account, err = c.account(ctx, client); err != nil {
		return nil, nil, err
	}
	answer = []requester.Progress{}
	for _, d := range all {
		some, err := client.Shelf.Progress(ctx, account, d)
		if err != nil {
			return nil, nil, err
		}
		answer = append(answer, some...)
	}
	if len(args) > 0 {
		answer = requester.Only(answer, args[0])
	}
	return account, answer, nil
}

func (c *clientOf) status() *cobra.Command {
	return &cobra.Command{
		Use: "status [FILE|CID|REQUEST]", Short: "Say what became of the requests", Args: cobra.MaximumNArgs(1),
		RunE: c.on(func(cmd *cobra.Command, client *requester.Client, args []string) error {
			_, answer, err := c.progress(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			return cli.Show(c.App, answer, printProgress)
		}),
	}
}

func printProgress(p *cli.Printer, all []requester.Progress) error {
	if len(all) == 0 {
		p.Line(notAsked)
	}
	for _, v := range all {
		p.Line("%s  %s: %s, %d of %d slots filled%s", v.ID.Short(), v.File, v.Says(), v.Filled, len(v.Slots), v.Until())
		for i, s := range v.Slots {
			host := ""
			if !s.Host.Zero() {
				host = " by " + s.Host.String()
			}
			p.Line("    slot %d   %s%s", i, s.State, host)
		}
	}
	return nil
}

// notAsked is said of no requests.
const notAsked = "nothing was asked for on this market; see hostnode client request"

func (c *clientOf) withdraw() *cobra.Command {
	return &cobra.Command{
		Use: "withdraw FILE|CID|REQUEST", Short: "Collect what is left of the payment for requests that are over",
		Args: cobra.ExactArgs(1),
		RunE: c.on(func(cmd *cobra.Command, client *requester.Client, args []string) error {
			account, some, err := c.progress(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			answer := []requester.Withdrawal{}
			for _, v := range some {
				w, err := requester.Withdraw(cmd.Context(), account, v)
				if err != nil { // What was collected before is said all the same.
					return errors.Join(err, cli.Show(c.App, answer, printWithdrawals))
				}
				answer = append(answer, w)
			}
			return cli.Show(c.App, answer, printWithdrawals)
		}),
	}
}

func printWithdrawals(p *cli.Printer, all []requester.Withdrawal) error {
	if len(all) == 0 {
		p.Line(notAsked)
	}
	for _, v := range all {
		if v.Nothing != "" {
			p.Line("nothing      to collect of request %s: %s", v.ID.Short(), v.Nothing)
			continue
		}
		p.Line("withdrawn    %s, what was left of request %s", money.Base(v.Amount.String()), v.ID.Short())
	}
	return nil
}
