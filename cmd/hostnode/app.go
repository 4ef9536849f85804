package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/storage"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it did not work, or what was checked is not in order
	exitUsage  = 2 // the command line or the configuration makes no sense
	exitUnable = 2 // an audit could not look
	// Of hostnode status --exit-code alone:
	exitNotSelling = 3
	exitNotProving = 4
)

// exit is an exit code that says what was found.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// app is the program with what it touches of the world.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	now            func() time.Time
	// terminal says that stdout may be coloured.
	terminal bool

	json bool // --json
	// began is set when a command begins: any earlier failure is wrong usage.
	began bool
	// secrets of the settings, once these are read: nothing that is printed contains them.
	secrets []string
	// dataDir is config.Loaded.DataDirFlag, for what is to be typed next.
	dataDir string
}

// errQuiet is a failure that has been reported completely.
var errQuiet = errors.New("failed")

// errUsage: the command line makes no sense.
var errUsage = errors.New("wrong usage")

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if !a.began || errors.Is(err, errUsage) || errors.Is(err, config.ErrInvalid) || errors.Is(err, esdb.ErrURL) {
		code = exitUsage
	}
	if !errors.Is(err, errQuiet) {
		a.complain(err, code, cmd)
	}
	if _, could := errors.AsType[*unable](err); could {
		code = exitUnable
	}
	if said, found := errors.AsType[exit](err); found {
		code = int(said)
	}
	return code
}

// complain prints what went wrong and what to do. With --json it prints the problem as JSON to
// stderr.
func (a *app) complain(err error, code int, cmd *cobra.Command) {
	p := api.Explain(err)
	p.Detail = events.HideSecrets(p.Detail, a.secrets)
	if code == exitUsage && p.Code == "internal" {
		p.Code, p.Title, p.Status = "usage", "The command line makes no sense.", 400
		p.Type, p.Hint = "docs/errors.md", usage(cmd)
	}
	if a.json {
		_ = json.NewEncoder(a.stderr).Encode(p) // There is nowhere else to report it.
		return
	}
	// Several errors take several lines; only the first begins with our name.
	fmt.Fprintf(a.stderr, "hostnode: %s\n", strings.ReplaceAll(harmless(p.Detail), "\n", "\n    "))
	fmt.Fprintf(a.stderr, "  %s [%s]\n", p.Hint, p.Code)
}

// usage is how a command is written.
func usage(cmd *cobra.Command) string {
	if cmd.HasSubCommands() {
		return "See hostnode help, or add --help to the command."
	}
	text := "Usage: " + cmd.UseLine() + "."
	if cmd.Example != "" {
		text += " Example: " + strings.TrimSpace(cmd.Example) + "."
	}
	return text + " More: --help."
}

func (a *app) root() *cobra.Command {
	version := a.versionCommand()
	root := group(&cobra.Command{
		Use:   "hostnode",
		Short: "Sell free storage on the Codex marketplace",
		Long: "hostnode sells a machine's free storage on the Codex (Logos Storage) marketplace: it takes\n" +
			"slots that are on offer, downloads and keeps them, proves that it has them, and is paid.",
		SilenceErrors: true, SilenceUsage: true,
	},
		a.statusCommand(), a.membersCommand(), a.salesCommand(), a.saleCommand(), a.sectorsCommand(), a.queueCommand(),
		a.drainCommand(), a.clusterCommand(),
		a.quarantineCommand(), a.availabilityCommand(), a.keyCommand(), a.auditCommand(), a.replayCommand(),
		a.configCommand(), version, a.exportCommand(), a.importCommand(), a.backupCommand(),
		a.eventstoreCommand(), a.projectionsCommand(), a.repairCommand(), a.runCommand(), a.demoCommand(),
		a.devchainCommand(), a.clientCommand(),
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	config.AddFlags(root.PersistentFlags(), "dataDir", "eventStore.url", "eventStore.passwordFile")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	asked := root.Flags().Bool("version", false, version.Short)
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return version.RunE(cmd, args)
		}
		return help(cmd, args)
	}
	a.watch(root)
	return root
}

// group is a command that only has others below it.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// watch makes every command note that it begins.
func (a *app) watch(cmd *cobra.Command) {
	if do := cmd.RunE; do != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "") { // A variable of a shell that is not set.
				return fmt.Errorf("%w: an argument is empty", errUsage)
			}
			a.began = true
			return do(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		a.watch(child)
	}
}

// settings reads the configuration for a command.
func (a *app) settings(cmd *cobra.Command) (config.Loaded, error) {
	c, err := config.Load(config.Sources{Environ: a.environ, Flags: cmd.Flags()})
	a.secrets, a.dataDir = c.Secrets(), c.DataDirFlag()
	return c, err
}

// configured runs a function with the settings.
func (a *app) configured(
	do func(cmd *cobra.Command, c config.Loaded, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.settings(cmd)
		if err != nil {
			return err
		}
		return do(cmd, c, args)
	}
}

// access says what a command needs of the data directory when no host runs.
type access int

const (
	look     access = iota // the directory must have been used before
	change                 // as look, and the account's key is needed
	create                 // as change, and the directory is made if needed
	lookBack               // as look, and the views of the present are not needed
)

// errAskTheHost: a store was named, but views of it would be saved in a directory that
// a running host uses.
var errAskTheHost = errors.New("leave --store out to ask the host that runs here, or name a directory " +
	"without a host")

// backend connects to the running host or, if none runs, opens its data. The caller
// calls the second result at the end.
func (a *app) backend(cmd *cobra.Command, want access) (api.Backend, func() error, error) {
	c, err := a.settings(cmd)
	if err != nil {
		return nil, nil, err
	}
	client := api.NewClient(datadir.At(c.DataDir).Socket())
	// --store asks for that store, even while a host runs here.
	err = client.Ping(cmd.Context())
	running, named := err == nil, cmd.Flags().Changed("store")
	if errors.Is(err, api.ErrSilent) && !named {
		return nil, nil, err
	}
	if running && !named {
		return client, client.Close, nil
	}
	account, err := a.account(c, want)
	if err != nil {
		return nil, nil, err
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "hostnode"
	}
	quiet := c.Config
	// A command that only looks should log nothing but what needs attention.
	quiet.Log.Level = logrus.WarnLevel.String()
	var files api.FilesOf
	if !named { // Another store may have another host's record.
		files = node.FilesOf(c.Config, datadir.At(c.DataDir))
	}
	offline, err := api.OpenOffline(cmd.Context(), api.OfflineConfig{
		Source: api.Source{
			Account: account, DataDir: c.DataDir, Endpoint: c.Chain.Endpoint, Fallbacks: c.Chain.Fallbacks,
			Files: files, Now: a.now,
		},
		Log: newLog(quiet, a.stderr), Quota: c.Quota, Node: machine,
		Store: stores.FromConfig(c.Config), Changes: want == change || want == create, Create: want == create,
		NoViews: want == lookBack && stores.FromConfig(c.Config).Remote(), KeepFree: c.Storage.KeepFree,
		Free: func() (events.Bytes, error) { return storage.Free(c.DataDir) },
	})
	if running && errors.Is(err, datadir.ErrInUse) {
		return nil, nil, fmt.Errorf("%w: %w", errAskTheHost, err)
	}
	if err != nil {
		return nil, nil, err
	}
	if n := offline.DroppedBytes(); n > 0 {
		fmt.Fprintf(a.stderr, "the last run did not shut down properly; %d bytes of a write that was never "+
			"acknowledged were dropped from the end of the log\n", n)
	}
	return offline, offline.Close, nil
}

// account is the address of the key file or, without one, or with a signer, account.address. A command that only
// looks needs neither.
func (a *app) account(c config.Loaded, want access) (events.Address, error) {
	address := c.AccountAddress()
	if c.Account.Signer != "" {
		return address, nil
	}
	key, err := keys.Load(c.Account.KeyFile)
	switch {
	case err == nil && !address.Zero() && address != keys.AddressOf(key):
		return events.Address{}, fmt.Errorf("%w: account.address = %s, and the key in %s is that of %s",
			config.ErrInvalid, address, c.Account.KeyFile, keys.AddressOf(key))
	case err == nil:
		return keys.AddressOf(key), nil
	case want == look || want == lookBack || !address.Zero() && errors.Is(err, keys.ErrMissing):
		return address, nil
	}
	return events.Address{}, err
}

// asking runs a function with a backend and prints its answer, as JSON or for people.
func asking[A any](
	a *app, want access, ask func(ctx context.Context, b api.Backend, args []string) (A, error),
	write func(*paper, A) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		b, done, err := a.backend(cmd, want)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		answer, err := ask(cmd.Context(), b, args)
		if err != nil {
			return err
		}
		return show(a, answer, write)
	}
}

// plain asks without an argument.
func plain[B, A any](ask func(B, context.Context) (A, error)) func(context.Context, B, []string) (A, error) {
	return func(ctx context.Context, b B, _ []string) (A, error) { return ask(b, ctx) }
}

// named asks about what the first argument names.
func named[B, A any](ask func(B, context.Context, string) (A, error)) func(context.Context, B, []string) (A, error) {
	return func(ctx context.Context, b B, args []string) (A, error) { return ask(b, ctx, args[0]) }
}

// show prints an answer, as JSON or for people. The outcome of the command is the
// error of write in both cases.
func show[A any](a *app, answer A, write func(*paper, A) error) error {
	page := &paper{terminal: a.terminal, now: a.now(), dataDir: a.dataDir}
	outcome := write(page, answer)
	if a.json {
		return errors.Join(outcome, a.printJSON(answer))
	}
	if _, err := io.WriteString(a.stdout, events.HideSecrets(page.text(), a.secrets)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return outcome
}

func (a *app) printJSON(v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if _, err := io.WriteString(a.stdout, events.HideSecrets(text.String(), a.secrets)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
