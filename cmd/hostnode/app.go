package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/top"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
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

// app is the program.
type app struct {
	*cli.App
	// began is set when a command begins: any earlier failure is wrong usage.
	began bool
}

// errQuiet is a failure that has been reported completely.
var errQuiet = errors.New("failed")

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if !a.began || errors.Is(err, cli.ErrUsage) || errors.Is(err, config.ErrInvalid) || errors.Is(err, esdb.ErrURL) {
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
	p := rows.All().Explain(err)
	p.Detail = events.HideSecrets(p.Detail, a.Secrets)
	if code == exitUsage && p.Code == "internal" {
		p.Code, p.Title, p.Status = "usage", "The command line makes no sense.", 400
		p.Type, p.Hint = "docs/errors.md", usage(cmd)
	}
	if a.JSON {
		_ = json.NewEncoder(a.Stderr).Encode(p) // There is nowhere else to report it.
		return
	}
	// Several errors take several lines; only the first begins with our name.
	told := cli.Harmless(a.Shown().Told(p.Detail))
	fmt.Fprintf(a.Stderr, "hostnode: %s\n", strings.ReplaceAll(told, "\n", "\n    "))
	fmt.Fprintf(a.Stderr, "  %s [%s]\n", p.Hint, p.Code)
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
	root := cli.Group(&cobra.Command{
		Use:   "hostnode",
		Short: "Sell free storage on the Codex marketplace",
		Long: "hostnode sells a machine's free storage on the Codex (Logos Storage) marketplace: it takes\n" +
			"slots that are on offer, downloads and keeps them, proves that it has them, and is paid.",
		SilenceErrors: true, SilenceUsage: true,
	},
		a.statusCommand(), top.Command(a.App), a.doctorCommand(), a.membersCommand(), a.salesCommand(), a.saleCommand(),
		a.sectorsCommand(), a.queueCommand(), a.earningsCommand(), a.pricesCommand(), a.dryCommand(), a.dutiesCommand(),
		a.transactionsCommand(), a.drainCommand(), a.clusterCommand(),
		a.quarantineCommand(), a.checkCommand(), a.checksCommand(), a.availabilityCommand(), a.keyCommand(),
		a.tokenCommand(), a.auditCommand(), a.replayCommand(),
		a.configCommand(), version, a.exportCommand(), a.importCommand(), a.backupCommand(),
		a.eventstoreCommand(), a.projectionsCommand(), a.repairCommand(), a.initCommand(), a.runCommand(),
		a.demoCommand(), a.devchainCommand(), a.clientCommand(),
	)
	for _, m := range machines.All {
		if m.Commands != nil {
			root.AddCommand(m.Commands(a.App))
		}
	}
	root.InitDefaultCompletionCmd("") // Now, so that it can be found like the others.
	config.AddFlags(root.PersistentFlags(), "dataDir", "eventStore.url", "eventStore.passwordFile")
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print JSON")
	root.PersistentFlags().BoolVar(&a.BaseUnits, "base-units", false, "show amounts exactly, in the token's base units")
	asked := root.Flags().Bool("version", false, version.Short)
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return version.RunE(cmd, args)
		}
		return help(cmd, args)
	}
	a.watch(root)
	cli.Suggesting(root)
	if a.Width > 0 {
		flow(root, a.Width)
		root.SetUsageTemplate(strings.NewReplacer(
			".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", a.Width), " for more information about a command", "",
		).Replace(root.UsageTemplate()))
	}
	return root
}

// settingFlags gives a command every setting as a flag. There are some two hundred, so its help lists the usual ones,
// and says where all are explained; completion and the man page have all.
func settingFlags(cmd *cobra.Command, usual ...string) {
	config.AddFlags(cmd.Flags())
	var others []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(append(usual, "config", "data-dir"), f.Name) {
			others = append(others, f)
		}
	})
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		for _, f := range others {
			f.Hidden = true
			defer func() { f.Hidden = false }()
		}
		err := cmd.Parent().UsageFunc()(cmd)
		cmd.PrintErrf("\nEvery setting is a flag, too: sales.maxWorkers is --sales-max-workers.\n"+
			"All of them, explained: hostnode config example, or man %s.\n",
			strings.ReplaceAll(cmd.CommandPath(), " ", "-"))
		return err
	})
}

// flow fits what commands say of themselves into a terminal.
func flow(cmd *cobra.Command, columns int) {
	cmd.Long = cli.Flow(cmd.Long, columns)
	for _, child := range cmd.Commands() {
		flow(child, columns)
	}
}

// watch makes every command note that it begins.
func (a *app) watch(cmd *cobra.Command) {
	if do := cmd.RunE; do != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "") { // A variable of a shell that is not set.
				return fmt.Errorf("%w: an argument is empty", cli.ErrUsage)
			}
			a.began = true
			return do(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		a.watch(child)
	}
}
