package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transfer"
)

// exportFlags are those of export.
type exportFlags struct {
	transferFlags
	force bool
	host  string
	cut   []string
}

// options are those of the export itself.
func (f exportFlags) options() (o api.ExportOptions, err error) {
	o.AcceptScavenged = f.acceptScavenged
	if o.Cut, err = api.ParseCut(f.cut); err != nil {
		return o, fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	if f.host != "" {
		if o.Host, err = events.ParseAddress(f.host); err != nil {
			err = fmt.Errorf("%w: --host: %w", cli.ErrUsage, err)
		}
	}
	return o, err
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use: "export FILE|-", Short: "Write all streams to a file, or copy them to another event store",
		Args: cobra.MaximumNArgs(1),
		Long: "Write all streams of the event store to a file of JSON lines, or copy them to another event\n" +
			"store, with their revisions and ids. The host may be running. The file appears when it is complete;\n" +
			"it ends with a digest, which hostnode import checks. After an interruption, start the copy again:\n" +
			"what is there already is compared, and if the target has other events in the same streams, nothing\n" +
			"is written. At the end the target is read again and compared.\n\n" +
			"  hostnode export record.jsonl\n" +
			"  hostnode export - | gzip > record.jsonl.gz\n" +
			"  hostnode export --to 'esdb://user@host:2113' --to-password-file FILE\n" +
			"  hostnode export --store 'esdb://host:2113' record.jsonl\n\n" +
			"With --host only the streams of one account are exported, and those of the markets in which it was.\n" +
			"Snapshots, which a host makes again, and the event store's own streams are not copied.",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := f.file("to", args)
			if err != nil {
				return err
			}
			c, err := a.Settings(cmd)
			if err != nil {
				return err
			}
			client := api.NewClient(datadir.At(c.DataDir).Socket())
			err = client.Ping(cmd.Context())
			if c.EventStore.URL == "" && errors.Is(err, problem.ErrSilent) {
				return err
			}
			if c.EventStore.URL == "" && err == nil {
				return errors.Join(a.exportRunning(cmd, c.Config, f, client, file), client.Close())
			}
			return a.withEnd(cmd, c.Config, "", "", false, func(ctx context.Context, from end) error {
				return a.exportStore(ctx, cmd, c.Config, f, from, file)
			})
		},
	}
	f.add(cmd.Flags(), "to", "`connection string` of the event store to copy to")
	cmd.Flags().StringArrayVar(&f.cut, "cut", nil,
		"leave out the events of a stream from a revision on, as `STREAM@REVISION`; may be repeated")
	cmd.Flags().StringVar(&f.host, "host", "",
		"export only the streams of the host with this `account`, and of its markets")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace FILE if it exists")
	return cmd
}

// exportStore exports a store that this process has opened.
func (a *app) exportStore(
	ctx context.Context, cmd *cobra.Command, c config.Config, f exportFlags, from end, file string,
) error {
	if err := from.confirm(ctx); err != nil {
		return fmt.Errorf("read from who leads the event store: %w", err)
	}
	asked, err := f.options()
	if err != nil {
		return err
	}
	options, err := asked.In(ctx, from.store)
	if err != nil {
		return err
	}
	if file == "" {
		return a.withEnd(cmd, c, f.url, f.passwordFile, false, func(ctx context.Context, to end) error {
			return a.copyStore(ctx, options, from, to)
		})
	}
	line := a.progressLine()
	options.Progress = line.show
	var report transfer.Report
	write := func(w io.Writer) (err error) {
		report, err = transfer.Export(ctx, from.store, w, options)
		return err
	}
	if file == "-" {
		err := write(a.Stdout)
		line.clear()
		return err
	}
	digest, err := writeWhole(ctx, file, f.force, write)
	if err == nil && digest.Sum != report.Digest.Sum {
		err = fmt.Errorf("read %s again: %w", file, transfer.ErrDiffers)
	}
	return a.finish(line, from.name, file, report, err)
}

// exportRunning exports the store of a running host, through its socket.
func (a *app) exportRunning(
	cmd *cobra.Command, c config.Config, f exportFlags, client *api.Client, file string,
) error {
	ctx := cmd.Context()
	asked, err := f.options()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return client.Export(ctx, w, asked) }
	switch file {
	case "-":
		return write(a.Stdout)
	case "":
		return a.withEnd(cmd, c, f.url, f.passwordFile, false, func(ctx context.Context, to end) error {
			in, out := io.Pipe()
			go func() { out.CloseWithError(write(out)) }()
			err := a.importFile(ctx, f.transferFlags.options(), in, "the running host", to)
			return errors.Join(err, in.Close())
		})
	}
	digest, err := writeWhole(ctx, file, f.force, write)
	report := transfer.Report{Digest: digest, Copied: digest.Events}
	for _, s := range digest.Streams {
		if s.Events > 0 {
			report.Streams++
		}
		if s.Metadata != nil {
			report.Metadata++
		}
		if s.Ended {
			report.Ended++
		}
	}
	return a.finish(&progressLine{}, "the running host", file, report, err)
}

// writeWhole writes a file that appears under its name only when it is complete
// and durable, and returns the digest of reading it back. Only its owner can
// read it.
func writeWhole(ctx context.Context, path string, force bool, write func(io.Writer) error) (transfer.Digest, error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return transfer.Digest{}, fmt.Errorf("%w: %s", problem.ErrFileExists, path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return transfer.Digest{}, fmt.Errorf("export: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*")
	if err != nil {
		return transfer.Digest{}, fmt.Errorf("export: %w", err)
	}
	digest, err := fill(ctx, f, write)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return digest, errors.Join(err, os.Remove(f.Name()))
	}
	return digest, nil
}

// fill writes a file, syncs it, and reads it back.
func fill(ctx context.Context, f *os.File, write func(io.Writer) error) (digest transfer.Digest, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return digest, err
	}
	if err := f.Sync(); err != nil {
		return digest, fmt.Errorf("export: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return digest, fmt.Errorf("export: %w", err)
	}
	digest, err = transfer.ReadFile(ctx, f)
	if err != nil {
		return digest, fmt.Errorf("read %s again: %w", f.Name(), err)
	}
	return digest, nil
}
