package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// Options say what to demonstrate.
type Options struct {
	Config config.Config
	// Given are the settings that have other values than the defaults.
	Given []config.Setting
	// File is what the client stores; empty: seeded data is made.
	File string
	// Slots is the number of slots, at least 3; Periods is the least number of
	// periods with proofs.
	Slots, Periods int
	// Crash kills the host once in the middle.
	Crash bool
	// Kill, for tests, is asked after each line of the host's log whether to kill
	// the host now; it replaces Crash.
	Kill func(lines int) bool
	// Binary is the program that runs the host in a second process.
	Binary string
	// Out takes the output; Terminal says that it is a terminal.
	Out      io.Writer
	Terminal bool
}

const (
	// stopPatience is how long the hosts may take to stop properly.
	stopPatience = 30 * time.Second
	// mostLines is how many lines of logs may wait until they are received.
	mostLines = 1 << 12
	// mostKept is how many periods of a slot, and how many starts, a summary has.
	mostKept = 10_000
)

// engine is what all demonstrations have in common.
type engine struct {
	Options
	dir     datadir.Layout
	began   time.Time
	display *display
	text    *tabwriter.Writer // takes what is printed at the end

	local   *localchain.Chain
	ended   chan error  // receives why the chain stopped
	held    atomic.Bool // chain time stands still
	client  *client
	account events.Address // of the host
	before  events.Amount  // its tokens at the beginning
	work    events.Bytes   // what the host has to do with the data

	tick    time.Duration // how often it is looked whether what is waited for is so
	hosts   []*host
	lines   chan line // of their logs
	kills   []kill
	closers []func()

	// receive shows a line of a log, and takes note of what it says.
	receive func(context.Context, line) error
	// killAt says after a line whether its process is to be killed; nil: never.
	killAt func(line) bool
}

// kill is when a host was killed and when it was back, by the machine's clock and in chain time.
type kill struct {
	host     *host
	at       time.Time
	from, to time.Time // chain time; to is zero: it did not come back
}

// Totals are in the result of every demonstration.
type Totals struct {
	HostBalanceBefore string  `json:"hostBalanceBefore"`
	HostBalanceAfter  string  `json:"hostBalanceAfter"`
	AuditFindings     int     `json:"auditFindings"`
	Events            uint64  `json:"events"`
	Seconds           float64 `json:"seconds"`
	DataDir           string  `json:"dataDir"`
}

// record is what the host has recorded, after it has stopped.
type record struct {
	store  events.Store
	views  *projections.Views
	report audit.Report
	after  events.Amount // the host's tokens
	totals Totals
}

func newEngine(o Options) *engine {
	return &engine{
		Options: o, dir: datadir.At(o.Config.DataDir), began: time.Now(), display: newDisplay(o.Out, o.Terminal),
		text: tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0), ended: make(chan error, 1), client: &client{},
		tick: 10 * pollEvery, lines: make(chan line, mostLines),
	}
}

// run takes the steps of a demonstration, reads the record and has it summed up.
func run[S any](
	ctx context.Context, e *engine, summarize func(context.Context, record) (S, error),
	steps ...func(context.Context) error,
) (sum S, err error) {
	defer e.close()
	running, halt := context.WithCancel(ctx)
	defer halt()
	for _, step := range steps {
		if err := step(running); err != nil {
			return sum, err
		}
	}
	halt() // Chain time has ended, too.
	balance, err := e.client.account.BalanceOf(ctx, e.account)
	if err != nil {
		return sum, fmt.Errorf("read the host's balance: %w", err)
	}
	store, err := stores.Open(ctx, stores.FromConfig(e.Config), nil)
	if err != nil {
		return sum, fmt.Errorf("read the record: %w", err)
	}
	defer store.Close()
	report, err := audit.Run(ctx, store, audit.Options{})
	if err != nil {
		return sum, fmt.Errorf("audit: %w", err)
	}
	views, err := projections.ViewsAt(ctx, store, e.scope(), nil)
	if err != nil {
		return sum, err
	}
	sum, err = summarize(ctx, record{store, views, report, balance.Tokens, Totals{
		HostBalanceBefore: e.before.String(), HostBalanceAfter: balance.Tokens.String(),
		AuditFindings: len(report.Findings), Events: report.Events,
		Seconds: time.Since(e.began).Seconds(), DataDir: e.dir.Root,
	}})
	_ = e.text.Flush() // As all of the output, it may have no reader any more.
	if err == nil && !report.Clean() {
		err = problem.ErrUnclean
	}
	return sum, err
}

// scope is that of the views: of this host, with all periods and starts.
func (e *engine) scope() projections.Scope {
	return projections.Scope{Host: e.account, Limits: projections.Limits{ClosedPeriods: mostKept, Starts: mostKept}}
}

// close ends what runs. It is needed when a step failed, too.
func (e *engine) close() {
	for _, end := range slices.Backward(e.closers) {
		end()
	}
	e.client.close()
	if e.local != nil {
		_ = e.local.Close()
	}
}

// child makes a process that is not started yet, with a log in the data directory.
func (e *engine) child(log string, env []string, args ...string) (*host, error) {
	path := filepath.Join(e.dir.Root, log+".log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	h := &host{binary: e.Binary, args: args, env: append(config.Foreign(os.Environ()), env...), logTo: f, log: path}
	e.closers = append(e.closers, func() {
		_ = h.kill() // Only when something failed before it was stopped.
		_ = f.Close()
	})
	return h, nil
}

// addHost makes a process of the host that is not started yet. Settings are not passed as arguments, which every user
// of the machine can see.
func (e *engine) addHost(name events.Member, c config.Config) error {
	h, err := e.child(cmp.Or(string(name), "host"), c.Environ(), "run")
	if err != nil {
		return err
	}
	h.name, h.dir, h.lines = name, datadir.At(c.DataDir), e.lines
	h.down.Store(true)
	h.operator = operator{Client: api.NewClient(h.dir.Socket()), member: events.Member(c.Cluster.Member)}
	e.hosts = append(e.hosts, h)
	return nil
}

// start starts the hosts, and lets chain time run.
func (e *engine) start(ctx context.Context, pace devchain.Pacer) error {
	for _, h := range e.hosts {
		if err := e.startHost(h); err != nil {
			return err
		}
	}
	go func() { e.ended <- e.local.Run(ctx, pace) }()
	return nil
}

func (e *engine) startHost(h *host) error {
	if err := h.start(); err != nil {
		return fmt.Errorf("%s: %w", h.title(), err)
	}
	h.down.Store(false)
	e.display.say("%sprocess %d, data in %s", h.prefix("Host: "), h.pid(), h.dir.Root)
	return nil
}

// restart stops a host, and starts it with other settings.
func (e *engine) restart(ctx context.Context, h *host, c config.Config) error {
	stopping, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	h.down.Store(true)
	if err := h.stop(stopping); err != nil {
		return fmt.Errorf("%s: %w", h.title(), err)
	}
	h.env = append(config.Foreign(os.Environ()), c.Environ()...)
	return e.startHost(h)
}

// pace lets chain time run as it suits the hosts.
func (e *engine) pace() devchain.Pacer { return pacer(e.local, holdFor(e.work), e.progress) }

// progress is what the hosts do, all in all.
func (e *engine) progress(ctx context.Context) (all Progress, err error) {
	all.Head, all.Working = e.local.Head().Number, e.held.Load()
	for _, h := range e.living() {
		p, err := h.progress(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", h.title(), err)
		}
		all.Working, all.Away, all.Head = all.Working || p.Working, all.Away || p.Away, min(all.Head, p.Head)
		all.Stored, all.Done = all.Stored+p.Stored, all.Done+p.Done
	}
	return all, nil
}

// living are the hosts that are meant to run.
func (e *engine) living() []*host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h *host) bool { return h.down.Load() })
}

// until receives the logs until something is so. Meanwhile hosts and chain must live.
func (e *engine) until(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	tick := time.NewTicker(e.tick)
	defer tick.Stop()
	for {
		select {
		case l := <-e.lines:
			err := e.show(ctx, l)
			if err == nil && e.killAt != nil && e.killAt(l) {
				err = e.crash(ctx, l.from)
			}
			if err != nil {
				return err
			}
		case err := <-e.ended:
			return fmt.Errorf("the chain stopped: %w", cmp.Or(ctx.Err(), err))
		case <-tick.C:
			if err := e.lost(ctx, what); err != nil {
				return err
			}
			if done, err := is(ctx); done || err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// pause receives the logs for some time.
func (e *engine) pause(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	return e.until(ctx, "a pause ends", func(context.Context) (bool, error) { return time.Now().After(end), nil })
}

// lost returns an error when a host has ended by itself.
func (e *engine) lost(ctx context.Context, what string) error {
	for _, h := range e.living() {
		if alive, died := h.alive(); !alive {
			died = cmp.Or(died, errors.New("without an error"))
			if err := e.drain(ctx); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s, while waiting until %s: %w; its last words: %s; see %s",
				problem.ErrDemoHostEnded, h.title(), what, died, strings.Join(h.complaints, "; "), h.log)
		}
	}
	return nil
}

// show shows a line of a log.
func (e *engine) show(ctx context.Context, l line) error {
	l.from.remember(l)
	return e.receive(ctx, l)
}

// complain shows an error or a warning of a host.
func (e *engine) complain(l line) {
	if l.Level == "error" || l.Level == "warning" {
		e.display.say("%s%s", l.from.prefix("Host: "), l.Msg)
	}
}

// drain shows what the hosts have logged.
func (e *engine) drain(ctx context.Context) error {
	for len(e.lines) > 0 {
		if err := e.show(ctx, <-e.lines); err != nil {
			return err
		}
	}
	return nil
}

// crash kills a host as a power cut would, and starts it again.
func (e *engine) crash(ctx context.Context, h *host) error {
	pid := h.pid()
	if err := e.kill(ctx, h); err != nil {
		return err
	}
	e.display.say("SIGKILL to the host, process %d. Chain time stands still.", pid)
	if err := h.start(); err != nil {
		return err
	}
	e.display.say("Host: started again as process %d; it goes on from its events", h.pid())
	return nil
}

// kill kills a host, and shows what it logged before.
func (e *engine) kill(ctx context.Context, h *host) error {
	e.kills = append(e.kills, kill{host: h, at: time.Now(), from: e.local.Head().Time})
	if err := h.kill(); err != nil {
		return fmt.Errorf("kill %s: %w", h.title(), err)
	}
	return e.drain(ctx)
}

// stop stops the hosts.
func (e *engine) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	for _, h := range e.hosts {
		if err := h.stop(ctx); err != nil {
			return fmt.Errorf("%s: %w", h.title(), err)
		}
	}
	return e.drain(ctx)
}
