package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
)

// stopTime is how long a host may take to stop in good order.
const stopTime = 30 * time.Second

func newRunCommand(load loader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a host that stays up; without options everything is embedded",
		Long: `Run a host that stays up.

Without options everything is embedded: an event store, a development chain with
the marketplace, development proving keys and an account with development money,
all in the data directory. With chain.endpoint and chain.contract the host sells
on that chain. It stops in good order on SIGINT and SIGTERM; killing it is as
safe, only slower: it goes on from its events at the next start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, c.Config, newLog(c.Config.Log, cmd.ErrOrStderr()))
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

// newLog writes what the host tells, one line per fact.
func newLog(c config.Log, out io.Writer) *logrus.Entry {
	log := logrus.New()
	log.SetOutput(out)
	if level, err := logrus.ParseLevel(c.Level); err == nil { // The configuration checked it.
		log.SetLevel(level)
	}
	log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true})
	if c.Format == "json" {
		log.SetFormatter(&logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano})
	}
	return logrus.NewEntry(log)
}

// run runs a host until ctx ends or it cannot go on.
func run(ctx context.Context, c config.Config, log *logrus.Entry) (err error) {
	p, err := node.Open(ctx, c, versionText(), log)
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err = errors.Join(err, p.Close(stopping))
	}()
	socket, err := p.Dir.Listen()
	if err != nil {
		return err
	}
	server, err := api.Listen(socket, api.NewLive(api.LiveConfig{
		Host: p.Host, Store: p.Store, Projector: p.Projector, Account: p.Account, Balance: p.Market.Balance,
		DataDir: p.Dir.Root, Endpoint: p.Endpoint, Development: p.Development,
	}), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	log.WithField("account", p.Account.String()).Infof(
		"the host runs; look at it with: hostnode status --data-dir %s", p.Dir.Root)
	select {
	case <-ctx.Done():
		log.Info("stopping: no new sales are begun; what is hosted goes on at the next start")
		return nil
	case err := <-p.SealingFailed():
		return fmt.Errorf("the development chain makes no more blocks: %w", err)
	case <-p.Host.Done():
		if err := p.Host.Err(); !errors.Is(err, actors.ErrStopped) {
			return err
		}
		return nil
	}
}
