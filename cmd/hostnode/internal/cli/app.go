package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/dry"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
)

// ErrUsage: the command line makes no sense.
var ErrUsage = errors.New("wrong usage")

// App is the program with what it touches of the world.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	Now            func() time.Time
	// Terminal says that Stdout may be coloured.
	Terminal bool
	// Width is how many columns a line of Stdout may have; 0: any number.
	Width int

	Dry bool // the commands are about the dry runs of the host
	// Asks says that Stdin is a terminal, where a person can be asked.
	Asks bool
	// Hidden reads a line that a person types there, without showing it.
	Hidden func() (string, error)

	JSON      bool // --json
	BaseUnits bool // --base-units
	// Secrets of the settings, once these are read: nothing that is printed contains them.
	Secrets []string
	// Typed is for what is to be typed next, once the settings are read.
	Typed  health.Typed
	Config config.Config // the settings, once these are read
	// Market is the market's token, if a command has asked for it; zero: what the host has noted counts.
	Market money.Token
	// Machines answer calls of their own.
	Machines []api.Machine
}

// Packaged is the settings' file of the Debian package, whose service reads it.
const Packaged = "/etc/hostnode/hostnode.yaml"

// Settings reads the configuration for a command.
func (a *App) Settings(cmd *cobra.Command) (config.Loaded, error) {
	c, err := config.Load(config.Sources{Environ: a.Environ, Flags: cmd.Flags()})
	a.Secrets, a.Typed = c.Secrets(), health.Typed{Before: as(a.Environ, c.DataDir), After: c.Where()}
	switch {
	case a.Dry:
		c.Config = dry.Place(c.Config)
		a.Typed.After = " --data-dir " + c.DataDir
	case c.File == Packaged:
		a.Typed.Start = "systemctl start hostnode"
	}
	a.Config = c.Config
	return c, err
}

// Token is the market's, once the settings are read; zero: not known.
func (a *App) Token() money.Token {
	if a.Market.Known() || a.Config.DataDir == "" {
		return a.Market
	}
	return datadir.At(a.Config.DataDir).Token()
}

// Shown is what amounts are shown in; zero: base units.
func (a *App) Shown() money.Token {
	if a.BaseUnits {
		return money.Token{}
	}
	return a.Token()
}

// Configured runs a function with the settings.
func (a *App) Configured(
	do func(cmd *cobra.Command, c config.Loaded, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.Settings(cmd)
		if err != nil {
			return err
		}
		return do(cmd, c, args)
	}
}

// Access says what a command needs of the data directory when no host runs.
type Access int

// What a command may need.
const (
	Look     Access = iota // the directory must have been used before
	Change                 // as look, and the account's key is needed
	Create                 // as change, and the directory is made if needed
	LookBack               // as look, and the views of the present are not needed
)

// ErrAskTheHost: a store was named, but views of it would be saved in a directory that
// a running host uses.
var ErrAskTheHost = errors.New("leave --store out to ask the host that runs here, or name a directory " +
	"without a host")

// Backend connects to the running host or, if none runs, opens its data. The caller
// calls the second result at the end.
func (a *App) Backend(cmd *cobra.Command, want Access) (api.Backend, func() error, error) {
	c, err := a.Settings(cmd)
	if err != nil {
		return nil, nil, err
	}
	client := api.NewClient(datadir.At(c.DataDir).Socket())
	// --store asks for that store, even while a host runs here.
	err = client.Ping(cmd.Context())
	running, named := err == nil, cmd.Flags().Changed("store")
	if errors.Is(err, problem.ErrSilent) && !named {
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
			Files: files, Now: a.Now, Machines: a.Machines, Settings: c.Settings(),
			Typed: a.Typed,
		},
		Log: NewLog(quiet, a.Stderr), Quota: c.Quota, Node: machine,
		Store: stores.FromConfig(c.Config), Changes: want == Change || want == Create, Create: want == Create,
		NoViews: want == LookBack && stores.FromConfig(c.Config).Remote(), KeepFree: c.Storage.KeepFree,
		Free: func() (events.Bytes, error) { return storage.Free(c.DataDir) },
	})
	if running && errors.Is(err, datadir.ErrInUse) {
		return nil, nil, fmt.Errorf("%w: %w", ErrAskTheHost, err)
	}
	if err != nil {
		return nil, nil, err
	}
	if n := offline.DroppedBytes(); n > 0 {
		fmt.Fprintf(a.Stderr, "the last run did not shut down properly; %d bytes of a write that was never "+
			"acknowledged were dropped from the end of the log\n", n)
	}
	return offline, offline.Close, nil
}

// account is the address of the key file or, without one, or with a signer, account.address. A command that only
// looks needs neither.
func (a *App) account(c config.Loaded, want Access) (events.Address, error) {
	if dir := datadir.At(c.DataDir); dir.Dry() { // Its key is elsewhere.
		return dir.Owner()
	}
	address := c.AccountAddress()
	if c.Account.Signer != "" {
		return address, nil
	}
	named, err := keys.Address(c.Account.KeyFile)
	switch {
	case err == nil && !address.Zero() && address != named:
		return events.Address{}, fmt.Errorf("%w: account.address = %s, and the key in %s is that of %s",
			config.ErrInvalid, address, c.Account.KeyFile, named)
	case err == nil:
		return named, nil
	case want == Look || want == LookBack || !address.Zero() && errors.Is(err, keys.ErrMissing):
		return address, nil
	}
	return events.Address{}, err
}
