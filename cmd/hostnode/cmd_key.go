package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
)

// account is what may be shown of a key.
type account struct {
	Address string `json:"address"`
	KeyFile string `json:"keyFile,omitempty"`
	// Signer has the key instead of the file; without its secrets.
	Signer string `json:"signer,omitempty"`
}

func (a *app) keyCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{Use: "key", Short: "Make, install or show the account's key"},
		a.withKeyFile(&cobra.Command{
			Use: "new", Short: "Make a new key; an existing key is never overwritten", Args: cobra.NoArgs,
		}, "made", func(_ context.Context, c config.Config, _ []string) (events.Address, error) {
			if _, err := os.Lstat(c.Account.KeyFile); err != nil { // One that exists is refused elsewhere.
				if err := belongs(c, events.Address{}); err != nil {
					return events.Address{}, err
				}
			}
			return keys.Create(c.Account.KeyFile)
		}),
		a.withKeyFile(&cobra.Command{
			Use: "import [FILE]", Short: "Install a key: 64 hex digits in a file, or on standard input",
			Long: "Install a key: 64 hex digits in a file, or on standard input without FILE or with \"-\".\n" +
				"The key itself is never an argument, which every user of the machine could read.",
			Args: cobra.MaximumNArgs(1),
		}, "imported", a.importKey),
		a.withKeyFile(&cobra.Command{
			Use: "show", Short: "Show the address of the key, never the key", Args: cobra.NoArgs,
		}, "", func(_ context.Context, c config.Config, _ []string) (events.Address, error) {
			if c.Account.Signer != "" {
				return c.AccountAddress(), nil
			}
			key, err := keys.Load(c.Account.KeyFile)
			if err != nil {
				return events.Address{}, err
			}
			return keys.AddressOf(key), nil
		}),
	)
}

func (a *app) importKey(ctx context.Context, c config.Config, args []string) (events.Address, error) {
	from := a.Input(ctx)
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			// The system's error without the name: that may be a key that was given by mistake.
			return events.Address{}, fmt.Errorf("%w: the FILE to import cannot be opened: %w",
				cli.ErrUsage, errors.Unwrap(err))
		}
		defer f.Close()
		from = f
	}
	return keys.Import(c.Account.KeyFile, from, func(of events.Address) error { return belongs(c, of) })
}

// belongs refuses a key with which the data directory could not be used: that of
// another account than the directory's, and one that its user could not read. The zero
// address stands for a key that is to be made.
func belongs(c config.Config, of events.Address) error {
	dir := datadir.At(c.DataDir)
	if c.Account.KeyFile != dir.KeyFile() { // The key may be for another directory.
		return nil
	}
	if err := dir.CheckUser(); err != nil {
		return err
	}
	owner, err := dir.Owner()
	if err == nil && !owner.Zero() && of.Zero() {
		return fmt.Errorf("%w: %s belongs to %s", node.ErrKeyLost, dir.Root, owner)
	}
	return errors.Join(err, dir.Belongs(of))
}

// withKeyFile runs a command with the key file of the configuration. done is what it does to the key; empty: nothing.
func (a *app) withKeyFile(
	cmd *cobra.Command, done string,
	do func(ctx context.Context, c config.Config, args []string) (events.Address, error),
) *cobra.Command {
	config.AddFlags(cmd.Flags(), "account.keyFile")
	cmd.RunE = a.Configured(func(cmd *cobra.Command, c config.Loaded, args []string) error {
		if done != "" && c.Account.Signer != "" {
			return fmt.Errorf("%w: account.signer is set, so the signer has the key, and a key file would not be used",
				config.ErrInvalid)
		}
		address, err := do(cmd.Context(), c.Config, args)
		if err != nil {
			return err
		}
		signer, _ := events.RedactURL(c.Account.Signer)
		shown := account{address.String(), c.Account.KeyFile, signer}
		return cli.Show(a.App, shown, func(p *cli.Printer, acc account) error {
			p.Line("%s", acc.Address)
			if done != "" {
				p.Line("%s; the key is in %s, which only you can read. Keep a copy in a safe place.", done, acc.KeyFile)
			}
			return nil
		})
	})
	return cmd
}
