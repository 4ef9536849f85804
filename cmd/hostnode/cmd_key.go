package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
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
			Long: "Make a new key; an existing key is never overwritten." + passwordHelp,
		}, "made", func(_ context.Context, c config.Config, _ []string) (events.Address, error) {
			if exists(c.Account.KeyFile) {
				return events.Address{}, fmt.Errorf("%w: %s is kept as it is", keys.ErrExists, c.Account.KeyFile)
			}
			return a.createKey(c)
		}),
		a.withKeyFile(&cobra.Command{
			Use: "import [FILE]", Short: "Install a key, or a keystore, from a file or standard input",
			Long: "Install a key: 64 hex digits, or a keystore of go-ethereum's, in a file, or on standard input\n" +
				"without FILE or with \"-\". The key itself is never an argument, which every user of the machine\n" +
				"could read." + passwordHelp,
			Args: cobra.MaximumNArgs(1),
		}, "imported", a.importKey),
		a.withKeyFile(&cobra.Command{
			Use: "show", Short: "Show the address of the key, never the key", Args: cobra.NoArgs,
		}, "", func(_ context.Context, c config.Config, _ []string) (events.Address, error) {
			if c.Account.Signer != "" {
				return c.AccountAddress(), nil
			}
			return keys.Address(c.Account.KeyFile)
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
	if exists(c.Account.KeyFile) {
		return events.Address{}, fmt.Errorf("%w: %s is kept as it is", keys.ErrExists, c.Account.KeyFile)
	}
	store := func() error { return nil }
	return keys.Import(c.Account.KeyFile, from, func(encrypted bool) (password string, err error) {
		password, store, err = a.password(c, !encrypted)
		return password, err
	}, func(of events.Address) error {
		if err := belongs(c, of); err != nil {
			return err
		}
		return store()
	})
}

// createKey makes a key, encrypted if the settings name a file for its password.
func (a *app) createKey(c config.Config) (events.Address, error) {
	err := belongs(c, events.Address{})
	if err != nil {
		return events.Address{}, err
	}
	password, store, err := a.password(c, true)
	if err == nil {
		err = store()
	}
	if err != nil {
		return events.Address{}, err
	}
	return keys.Create(c.Account.KeyFile, password)
}

const passwordHelp = "\n\nWith account.passwordFile the key is stored encrypted, as a keystore. If there is no such " +
	"file yet,\nthe password is asked for in the terminal, and written into it."

// password is that of the key file; empty: it needs none. If its file does not exist, a person types it, a new one
// twice, and store writes the file.
func (a *app) password(c config.Config, fresh bool) (password string, store func() error, err error) {
	file := c.Account.PasswordFile
	if store = func() error { return nil }; file == "" || exists(file) || !a.Asks {
		password, err = c.KeyPassword()
		return password, store, err
	}
	for range maxTries {
		fmt.Fprint(a.Stderr, "Password of the account's key, which is not shown: ")
		if password, err = a.Hidden(); err == nil && fresh && password != "" {
			fmt.Fprint(a.Stderr, "\nThe same once more: ")
			var again string
			if again, err = a.Hidden(); again != password {
				password = ""
			}
		}
		fmt.Fprintln(a.Stderr)
		if err != nil {
			return "", store, fmt.Errorf("%w: the password was not typed: %w", cli.ErrUsage, err)
		}
		if password != "" {
			return password, func() error {
				err := os.MkdirAll(filepath.Dir(file), 0o700)
				if err == nil {
					err = durable.Create(file, []byte(password+"\n"))
				}
				if err != nil {
					return fmt.Errorf("write the password: %w", err)
				}
				return nil
			}, nil
		}
		fmt.Fprintln(a.Stderr, "  it is empty, or the second is another one")
	}
	return "", store, fmt.Errorf("%w: no password was given; nothing was written", cli.ErrUsage)
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
	config.AddFlags(cmd.Flags(), "account.keyFile", "account.passwordFile")
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
