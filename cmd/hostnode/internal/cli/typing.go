package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
)

// This file helps a person who types: what is misspelt is answered with the nearest name, and a shell completes names.

// Nearest adds to an error what was probably meant.
func Nearest(err error, typed, prefix string, known iter.Seq[string]) error {
	if best := config.Nearest(typed, known); best != "" {
		return fmt.Errorf("%w; did you mean %s%s?", err, prefix, best)
	}
	return err
}

// Suggesting makes a command and those below it name what is nearest to an unknown command or flag.
func Suggesting(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		unknown, is := errors.AsType[*pflag.NotExistError](err)
		if !is || len(unknown.GetSpecifiedName()) == 1 {
			return err
		}
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		return Nearest(err, unknown.GetSpecifiedName(), "--", slices.Values(flags))
	})
	if check := cmd.Args; check != nil && cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || len(args) == 0 {
				return err
			}
			var names []string
			for _, child := range cmd.Commands() {
				if child.IsAvailableCommand() {
					names = append(names, child.Name())
				}
			}
			return Nearest(err, args[0], cmd.CommandPath()+" ", slices.Values(names))
		}
	}
	for _, child := range cmd.Commands() {
		Suggesting(child)
	}
}

// Completing has a shell complete the first argument of a command with names that the running host knows. Without a
// host, or if it does not answer at once, there are none.
func Completing[A any](
	a *App, cmd *cobra.Command, ask func(context.Context, api.Backend) (A, error), names func(A) []string,
) *cobra.Command {
	const patience = 2 * time.Second
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, _ string,
	) ([]string, cobra.ShellCompDirective) {
		c, err := a.Settings(cmd)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, stop := context.WithTimeout(cmd.Context(), patience)
		defer stop()
		client := api.NewClient(datadir.At(c.DataDir).Socket())
		defer client.Close()
		answer, err := ask(ctx, client)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(answer), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}
