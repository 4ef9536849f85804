package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/pages"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/wire"
)

const (
	// stopTime is how long a host may take to stop properly.
	stopTime = 30 * time.Second
	// endTime is how long its process may take to end, with the last proof that is being made, the last alerts, and all
	// that is closed. It is less than what a service manager grants before it kills.
	endTime = 80 * time.Second
)

func (a *app) runCommand() *cobra.Command {
	begin := node.Begin{Version: versionText(), Rooms: machines.Rooms()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a host; without options everything is embedded",
		Long: `Run a host.

Without options everything is embedded: an event store, a development chain with
the marketplace, development proving keys and an account with development money,
all in the data directory. With chain.endpoint and chain.contract the host sells
on that chain. SIGINT and SIGTERM stop it properly. Killing it is as safe, only
slower: it goes on from its events at the next start.`,
		Args: cobra.NoArgs,
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) error {
			log := cli.NewLog(c.Config, cmd.ErrOrStderr())
			begin.Settings, begin.Typed = c.Recorded, a.Typed
			if begin.Dry {
				var err error
				log = log.WithField("dry", true) // In each line: they tell of a sale as if it were one.
				if c, err = a.beginDry(cmd, c, &begin, log); err != nil {
					return err
				}
			}
			err := run(cmd.Context(), c, begin, log)
			if err == nil {
				log.Info("the host has stopped")
			}
			return err
		}),
	}
	settingFlags(cmd, "quota", "chain-endpoint", "chain-contract", "content-sources", "api-listen", "log-level",
		"validator")
	cmd.Flags().BoolVar(&begin.TakeOver, "take-over", false, "start although, by its events or the chain, "+
		"this host runs elsewhere; only if that process is gone for good")
	cmd.Flags().BoolVar(&begin.Dry, "dry", false, "only record, beside the host, what it would have sold; nothing is "+
		"sent, fetched or proven. hostnode dry shows it")
	return cmd
}

// run runs a host until ctx ends or it cannot go on.
func run(ctx context.Context, c config.Loaded, begin node.Begin, log *logrus.Entry) (err error) {
	defer endsInTime(ctx, func() {
		log.Errorf("the host has not ended %s after it was told to, so it ends now, which is as safe as a kill; "+
			"it waits for:", endTime)
		_ = pprof.Lookup("goroutine").WriteTo(log.Logger.Out, 1)
		os.Exit(1)
	})()
	serving, err := bindEvents(c.ServeEvents) // Before the host says that it has started.
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range serving.Bound { // Those that were served are closed already.
			_ = l.Close()
		}
	}()
	codex := newCodex(c.Config, &begin)
	p, err := node.Take(c.Config, begin, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	server, err := listen(p, c, codex, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	defer func() {
		p.Stopping()
		server.Answer(standby(p, c))
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err = errors.Join(err, p.Stop(stopping))
	}()
	err = p.Start(ctx, func() { server.Answer(standby(p, c)) })
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		log.Info("stopping: the host had not started yet")
		return nil
	}
	if err != nil {
		return err
	}
	live := running(p, c)
	defer live.End()
	server.Answer(live)
	codex.serve(live, p, c.Config, log)
	defer func() { err = errors.Join(err, codex.Close()) }()
	served, err := serveEvents(p.Store, serving, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	log.WithField("account", p.Account.String()).Infof(
		"the host runs; look at it with: hostnode status --data-dir %s", p.Dir.Root)
	return untilEnd(ctx, p, served, server.tcp, log)
}

// untilEnd waits until the host is told to stop, or something that it cannot do without has ended.
func untilEnd(
	ctx context.Context, p *node.Process, served *eventserver.Server, tcp *access.Server, log *logrus.Entry,
) error {
	select {
	case <-ctx.Done():
		log.Info("stopping: no new sales; if it hosts slots, start it again before their next proofs are due, " +
			"so that none is missed")
		return nil
	case err := <-served.Failed():
		return err
	case err := <-tcp.Failed():
		return err
	case err := <-p.Left():
		return fmt.Errorf("this process is no member of the host any more: %w", err)
	case <-p.SendingFailed():
		return fmt.Errorf("the host cannot send transactions any more: %w", p.Market.Failure())
	case err := <-p.SealingFailed():
		return fmt.Errorf("the development chain makes no more blocks: %w", err)
	case <-p.Host.Done():
		if err := p.Host.Err(); !errors.Is(err, actors.ErrStopped) {
			return err
		}
		return nil
	}
}

// endsInTime calls end if the process has not ended for endTime after it was told to: all waits should end with
// ctx, and one that does not must not keep it. ended says that it has.
func endsInTime(ctx context.Context, end func()) (ended func()) {
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(endTime):
			end()
		}
	})
	return func() { stop(); close(over) }
}

// apiServer serves the API on the host's socket, and over TCP if api.listen says where.
type apiServer struct {
	*api.Server
	tcp  *access.Server
	site *page.Site
}

// Answer replaces what answers.
func (s apiServer) Answer(b api.Backend) {
	s.Server.Answer(b)
	s.site.Answer(b)
}

// Close finishes requests in progress, for a few seconds.
func (s apiServer) Close() error { return errors.Join(s.tcp.Close(), s.Server.Close()) }

// listen answers from the beginning, so that people can see what a start waits for.
func listen(p *node.Process, c config.Loaded, codex *codex, log *logrus.Entry) (s apiServer, err error) {
	s.tcp, err = access.Listen(access.Config{API: c.API, Tokens: access.In(p.Dir.Tokens(), time.Now), Log: log})
	if err != nil {
		return s, err
	}
	socket, err := p.Dir.Listen()
	if err == nil {
		s.Server, err = api.Listen(socket, standby(p, c), log)
	}
	if err != nil {
		return s, errors.Join(err, s.tcp.Close())
	}
	s.site = page.New(pages.All(machines.Pages()), log)
	s.site.Answer(standby(p, c))
	over := http.NewServeMux()
	over.Handle("/", s.Handler())
	over.Handle(page.Root, s.site)
	over.Handle("GET /{$}", http.RedirectHandler(page.Root, http.StatusSeeOther))
	over.Handle(access.ProfilesPath, access.Profiles())
	over.Handle("/api/codex/", codex)
	over.Handle("/api/storage/", codex)
	s.tcp.Serve(over)
	return s, nil
}

// standby answers while the host starts or stops.
func standby(p *node.Process, c config.Loaded) *api.Standby {
	cfg := api.StandbyConfig{
		Facts: p.Facts, Projector: p.Projector, Source: api.Source{
			Member: c.Member(), DataDir: p.Dir.Root, Endpoint: c.Chain.Endpoint, Fallbacks: c.Chain.Fallbacks,
			Machines: machines.API(), Settings: c.Settings(), Typed: p.Facts().Typed,
		},
	}
	if p.Store != nil {
		cfg.Store = p.Store.Store
	}
	return api.NewStandby(cfg)
}

// running answers while the host runs.
func running(p *node.Process, c config.Loaded) *api.Live {
	live := api.LiveConfig{
		Source: api.Source{
			Account: p.Account, Member: c.Member(), DataDir: p.Dir.Root, Endpoint: p.Endpoint,
			Fallbacks: c.Chain.Fallbacks, Files: node.FilesOf(c.Config, p.Dir.Layout), Machines: machines.API(),
			Settings: c.Settings(), Typed: p.Facts().Typed,
		},
		Host: p.Host, Store: p.Store.Store, Projector: p.Projector, Balance: p.Market.Balance,
		Standing: p.Market.Reachability, Development: p.Development, FeeLimit: p.Market.FeeLimit, Signing: p.Signing,
		Reach:     p.Content.Reach,
		Outage:    func() health.OutageFacts { return p.Facts().Outage },
		Answerers: p.Answerers, Pieces: p.Pieces, SectorSize: c.Sectors.Size, Quota: c.Quota,
		Proves: p.Proves, Alerts: p.Alerts, Traffic: p.Market.Traffic, Requests: p.Market.Requests,
	}
	if p.Development && c.API.Codex && len(c.Content.Sources) == 0 {
		live.Reach = nil // What is bought through Codex's API is read here.
	}
	if p.Dir.Dry() { // It needs neither money nor data.
		live.Balance, live.Reach = nil, nil
	}
	if p.Provider != nil {
		live.Owed = p.Provider.Owed
	}
	return api.NewLive(live)
}

// bindEvents listens on the configured address for EventStoreDB's tools; without an
// address there is no listener.
func bindEvents(c config.ServeEvents) (o eventserver.Options, err error) {
	if c.Listen == "" {
		return o, nil
	}
	o = eventserver.Options{
		Listen: []string{c.Listen}, CertFile: c.CertFile, KeyFile: c.KeyFile, UsersFile: c.UsersFile,
		Advertise: c.Advertise, Guarded: catalog.Streams().Categories(), Memory: int64(c.MemoryBytes),
		MaxAppendSize: int(c.MaxAppendSize),
	}
	if c.UsersFile == "" { // On this machine only, as the configuration has checked.
		o.Anonymous = wire.RoleAuditor
	}
	o.Bound, err = eventserver.Bind(o)
	return o, err
}

// serveEvents serves the host's event store to EventStoreDB's tools.
func serveEvents(store *stores.Opened, o eventserver.Options, log *logrus.Entry) (*eventserver.Server, error) {
	if o.Bound == nil {
		return &eventserver.Server{}, nil
	}
	server, err := eventserver.Start(store.Store, o, log)
	if err != nil {
		return nil, err
	}
	log.Infof("the events can be read at %s", server.ConnectionStrings(o.CertFile != ""))
	return server, nil
}
