package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events/esdb"
)

func (a *app) projectionsCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "projections", Short: "Views inside an EventStoreDB, for its own tools",
		Long: "Views of availabilities, reservations, sectors and slots that run inside an EventStoreDB, for\n" +
			"people who look at a host with the tools of their event store. hostnode does not need them: it has\n" +
			"its own views. docs/projections.md says what they hold and how to read them.\n\n" +
			"The server must run projections (RunProjections=All), and the user of --store be an administrator.",
	},
		&cobra.Command{
			Use: "install", Short: "Install or update the projections, and start them", Args: cobra.NoArgs,
			Long: "Install or update the projections, and start them. It may be repeated. A projection whose source\n" +
				"has changed begins again with the first event.",
			RunE: onServer(a, (*serverviews.Server).Install, printChanges),
		},
		&cobra.Command{
			Use: "status", Short: "Show the installed projections, and how far they have read", Args: cobra.NoArgs,
			Long: "Show the installed projections, and how far they have read. The exit code is 0 only when all\n" +
				"of them run, in the version of this program.",
			RunE: onServer(a, (*serverviews.Server).Status, printProjections),
		},
		&cobra.Command{
			Use: "remove", Short: "Stop and delete the projections; the events stay", Args: cobra.NoArgs,
			RunE: onServer(a, (*serverviews.Server).Remove, printChanges),
		},
	)
}

// onServer runs a function on the EventStoreDB of the settings, and prints its
// answer.
func onServer[A any](
	a *app, ask func(*serverviews.Server, context.Context) (A, error), write func(*cli.Printer, A) error,
) func(*cobra.Command, []string) error {
	return a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) (err error) {
		spec := stores.FromConfig(c.Config)
		if !spec.Remote() {
			return fmt.Errorf("the record is in the data directory, and --store names no EventStoreDB: %w",
				serverviews.ErrNoProjections)
		}
		connection, err := spec.Connection()
		if err != nil {
			return err
		}
		server, err := serverviews.Connect(esdb.Config{URL: connection})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		answer, err := ask(server, cmd.Context())
		if err != nil {
			return fmt.Errorf("%s: %w", esdb.Redact(spec.URL), err)
		}
		return cli.Show(a.App, answer, write)
	})
}

func printChanges(p *cli.Printer, all []serverviews.Change) error {
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{c.Name, string(c.Done)})
	}
	p.Rows(rows)
	return nil
}

func printProjections(p *cli.Printer, all []serverviews.Row) error {
	rows := [][]string{{"NAME", "VERSION", "THIS BUILD", "STATE", "PROGRESS", "POSITION"}}
	for _, r := range all {
		version, state := "unknown", r.State
		switch {
		case !r.There():
			version, state = "-", "not installed"
		case r.Installed > 0:
			version = strconv.Itoa(r.Installed)
		}
		progress := "-"
		if r.There() {
			progress = fmt.Sprintf("%.1f %%", r.Progress)
		}
		rows = append(rows, []string{r.Name, version, strconv.Itoa(r.Version), state, progress, r.Position})
	}
	p.Rows(rows)
	for _, r := range all {
		if r.Reason != "" {
			p.Line("%s: %s", r.Name, r.Reason)
		}
	}
	if slices.ContainsFunc(all, func(r serverviews.Row) bool { return !r.Current }) {
		p.Line("not all of them run in the version of this program; run: hostnode projections install")
		return errQuiet
	}
	return nil
}
