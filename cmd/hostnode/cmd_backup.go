package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup DIR", Short: "Copy the embedded event store, even while the host runs", Args: cobra.ExactArgs(1),
		Long: "Copy the embedded event store into a directory that is empty or missing. The host may be running.\n" +
			"The copy has everything that was acknowledged before. On the same file system it consists of hard\n" +
			"links, so put it, or a copy of it, on another disk as well.\n\n" +
			"DIR becomes a data directory that holds only the events; inspect it with\n\n" +
			"  hostnode audit --data-dir DIR\n\n" +
			"To restore: stop the host, move the directory `events` of its data directory away, copy\n" +
			"DIR/events there, remove `views`, and start the host. It asks the chain for what the copy does\n" +
			"not know. A backup includes neither the account's key nor the data of slots, sectors and pieces, nor\n" +
			"the outbox of transactions.",
		RunE: cli.Asking(a.App, cli.Look, func(ctx context.Context, b api.Backend, args []string) (api.Backup, error) {
			dir, err := filepath.Abs(args[0]) // The host may stand elsewhere.
			if err != nil {
				return api.Backup{}, fmt.Errorf("back up: %w", err)
			}
			return api.MakeBackup.Ask(ctx, b, api.Send(api.IntoDir{Dir: dir}))
		}, printBackup),
	}
}

func printBackup(p *cli.Printer, b api.Backup) error {
	p.Line("%s: %s up to log position %d, %s in %s", p.Colour(cli.Green, "DONE"), b.Dir, b.Position,
		cli.Size(events.Bytes(b.Bytes)), cli.Count(b.Files, "file"))
	p.Line("check it: hostnode audit --data-dir %s", b.Dir)
	return nil
}
