package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events/transfer"
)

func (a *app) importCommand() *cobra.Command {
	var f transferFlags
	cmd := &cobra.Command{
		Use: "import FILE|-", Short: "Copy streams into the event store, from a file or another store",
		Args: cobra.MaximumNArgs(1),
		Long: "Copy all streams of an export, or of another event store, into the host's own, with their\n" +
			"revisions and ids. No host may be running on the target. Streams that are there already are\n" +
			"compared; if they have other events, nothing is written. After an interruption, start the import\n" +
			"again. At the end the target is read again and compared.\n\n" +
			"  hostnode import record.jsonl\n" +
			"  hostnode import --from 'esdb://user@host:2113' --from-password-file FILE\n" +
			"  hostnode import --store 'esdb://host:2113' record.jsonl\n\n" +
			"The file - is standard input. From there, everything before the first damaged line is written.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importInto(cmd, f, args)
		},
	}
	f.add(cmd.Flags(), "from", "`connection string` of the event store to read")
	return cmd
}

func (a *app) importInto(cmd *cobra.Command, f transferFlags, args []string) error {
	file, err := f.file("from", args)
	if err != nil {
		return err
	}
	c, err := a.Settings(cmd)
	if err != nil {
		return err
	}
	into := func(do func(ctx context.Context, to end) error) error {
		return a.withEnd(cmd, c.Config, "", "", true, do)
	}
	if file == "" {
		return a.withEnd(cmd, c.Config, f.url, f.passwordFile, false, func(_ context.Context, from end) error {
			return into(func(ctx context.Context, to end) error { return a.copyStore(ctx, f.options(), from, to) })
		})
	}
	in, name := a.Input(cmd.Context()), "standard input"
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("import: %w: %w", problem.ErrFile, err)
		}
		defer opened.Close()
		if info, err := opened.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("import: %w: %s is a directory", problem.ErrFile, file)
		}
		in, name = opened, file
	}
	return into(func(ctx context.Context, to end) error { return a.importFile(ctx, f.options(), in, name, to) })
}

// importFile reads an export into a store, and checks the result.
func (a *app) importFile(ctx context.Context, o transfer.Options, in io.Reader, name string, to end) error {
	return a.move(ctx, o, end{name: name}, to, func(o transfer.Options) (transfer.Report, error) {
		return transfer.Import(ctx, in, to.store, o)
	})
}

// copyStore copies one store to another, and checks the result.
func (a *app) copyStore(ctx context.Context, o transfer.Options, from, to end) error {
	if from.name == to.name {
		return fmt.Errorf("%w: %s", errSameStore, from.name)
	}
	return a.move(ctx, o, from, to, func(o transfer.Options) (transfer.Report, error) {
		return transfer.Copy(ctx, from.store, to.store, o)
	})
}

// move moves streams with a function, and checks the result.
func (a *app) move(
	ctx context.Context, o transfer.Options, from, to end, with func(transfer.Options) (transfer.Report, error),
) error {
	line := a.progressLine()
	o.Progress = line.show
	report, err := with(o)
	if err == nil {
		line.show(transfer.Progress{Step: transfer.StepCheck})
		err = transfer.Check(ctx, report.Digest, from.store, to.store)
	}
	return a.finish(line, from.name, to.name, report, err)
}
