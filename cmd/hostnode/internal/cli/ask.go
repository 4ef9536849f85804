package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

// Asking runs a function with a backend and prints its answer, as JSON or for people.
func Asking[A any](
	a *App, want Access, ask func(ctx context.Context, b api.Backend, args []string) (A, error),
	write func(*Printer, A) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		b, done, err := a.Backend(cmd, want)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		answer, err := ask(cmd.Context(), b, args)
		if err != nil {
			return err
		}
		return Show(a, answer, write)
	}
}

// Plain makes a call that needs to be told nothing.
func Plain[R, Q, A any](call api.Call[R, Q, A]) func(context.Context, api.Backend, []string) (A, error) {
	return func(ctx context.Context, b api.Backend, _ []string) (answer A, err error) {
		var nothing Q
		return call.Ask(ctx, b, nothing)
	}
}

// Named makes a call about what the first argument names.
func Named[R, Q, A any](
	call api.Call[R, Q, A], of func(string) Q,
) func(context.Context, api.Backend, []string) (A, error) {
	return func(ctx context.Context, b api.Backend, args []string) (A, error) {
		return call.Ask(ctx, b, of(args[0]))
	}
}

// atHelp says what --at accepts.
const atHelp = "as of a time (2026-11-20T08:00:00Z, 2026-11-20, -2h) or a position (@1234)"

// AsAt makes a command ask of the present or, with --at, of the past.
func AsAt[A any](
	a *App, cmd *cobra.Command, ask func(ctx context.Context, b api.Backend, args []string) (A, error),
	write func(*Printer, A) error,
) *cobra.Command {
	var at string
	cmd.Flags().StringVar(&at, "at", "", atHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		want := Look
		if at != "" {
			want = LookBack
		}
		when, err := api.ParseWhen(at, a.Now())
		if err != nil {
			return fmt.Errorf("%w: --at: %w", ErrUsage, err)
		}
		return Asking(a, want, func(ctx context.Context, b api.Backend, args []string) (answer A, err error) {
			if at != "" {
				if b, err = b.At(ctx, when); err != nil {
					return answer, err
				}
			}
			return ask(ctx, b, args)
		}, write)(cmd, args)
	}
	return cmd
}

// loginName is who is recorded as giving an order by default.
func loginName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// WithBy adds the flag that says who gives an order.
func WithBy(cmd *cobra.Command, by *string) {
	cmd.Flags().StringVar(by, "by", loginName(), "`name` of the person who gives the order; it is recorded")
}

// Show prints an answer, as JSON or for people. The outcome of the command is the
// error of write in both cases.
func Show[A any](a *App, answer A, write func(*Printer, A) error) error {
	page := a.NewPrinter()
	outcome := write(page, answer)
	if a.JSON {
		return errors.Join(outcome, a.PrintJSON(answer))
	}
	if _, err := io.WriteString(a.Stdout, events.HideSecrets(page.Text(), a.Secrets)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return outcome
}

// PrintJSON prints a value as JSON, without the secrets of the settings.
func (a *App) PrintJSON(v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if _, err := io.WriteString(a.Stdout, events.HideSecrets(text.String(), a.Secrets)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Group is a command that only has others below it.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}
