package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
)

// Options say what to demonstrate.
type Options struct {
	Config config.Config
	// File is what the client stores; empty: seeded data is made.
	File string
	// Slots is the number of slots, at least 3; Periods how many periods with
	// proofs there are at least.
	Slots, Periods int
	// Crash kills the host once in the middle.
	Crash bool
	// Kill, for tests, is asked after each line of the host's log whether to kill
	// it now; it replaces Crash.
	Kill func(lines int) bool
	// Binary is the program that the host is a second process of.
	Binary string
	// Out takes the story; Terminal says that it can be drawn on.
	Out      io.Writer
	Terminal bool
	// Dial returns the running host's API, once it answers.
	Dial func(dir datadir.Layout) HostAPI
}

// HostAPI is what the demonstration asks of the host, as an operator would.
type HostAPI interface {
	// Working reports whether the host proves or downloads now; an error means
	// that it does not answer.
	Working(ctx context.Context) (bool, error)
	// Offer sees to it that an enabled availability has room for the bytes and
	// the collateral.
	// It returns api.ErrDemoRefused when the host says no; other errors mean that it
	// does not answer yet.
	Offer(ctx context.Context, size events.Bytes, duration time.Duration, collateral events.Amount) error
	// OpenSales is how many sales are in work or hosted.
	OpenSales(ctx context.Context) (int, error)
}

// Limits of a demonstration.
const (
	minSlots, maxSlots     = 3, 32
	minPeriods, maxPeriods = 1, 50
	// settleTime is how long time stands still after a start of the host, so that
	// it has replayed its record and knows what it owes.
	settleTime = 2 * time.Second
	// stopPatience is how long the host may take to stop in good order.
	stopPatience = 30 * time.Second
)

func (o Options) check() error {
	switch {
	case o.Slots < minSlots || o.Slots > maxSlots:
		return fmt.Errorf("%w: --slots %d, want %d to %d", api.ErrDemoOptions, o.Slots, minSlots, maxSlots)
	case o.Periods < minPeriods || o.Periods > maxPeriods:
		return fmt.Errorf("%w: --periods %d, want %d to %d", api.ErrDemoOptions, o.Periods, minPeriods, maxPeriods)
	case !o.Config.Embedded():
		return fmt.Errorf("%w: the demonstration brings its own chain; leave chain.endpoint empty", api.ErrDemoOptions)
	}
	return nil
}

// show is a demonstration in progress.
type show struct {
	Options
	dir     datadir.Layout
	display *display
	local   *localchain.Chain
	client  *client
	request events.Request
	host    *host
	account events.Address
	before  events.Amount // the host's tokens before the sale
	began   time.Time
	proofs  int                       // that the contract took, as far as the log told
	lines   int                       // of the host's log
	started atomic.Pointer[time.Time] // when the host was started last
	kills   int
}

// Run makes the demonstration and returns what came of it. The error is nil
// only when the payout arrived and the audit is clean.
func Run(ctx context.Context, o Options) (Summary, error) {
	if err := o.check(); err != nil {
		return Summary{}, err
	}
	s := &show{
		Options: o, dir: datadir.At(o.Config.DataDir), began: time.Now(),
		display: newDisplay(o.Out, o.Terminal),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.close()
	if err := s.prepare(ctx); err != nil {
		return Summary{}, err
	}
	if err := s.sell(ctx); err != nil {
		return Summary{}, err
	}
	return s.summarize(ctx)
}

func (s *show) close() {
	if s.host != nil {
		_ = s.host.kill() // Only when something failed before it was stopped.
	}
	if s.client != nil {
		s.client.close()
	}
	if s.local != nil {
		_ = s.local.Close()
	}
}

// prepare sets up everything but the host: data, keys, chain, accounts.
func (s *show) prepare(ctx context.Context) error {
	if err := os.MkdirAll(s.dir.Root, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	file, err := s.data()
	if err != nil {
		return err
	}
	s.client = &client{}
	s.client.dataset, err = prepare(ctx, file, filepath.Join(s.dir.Root, "client"), s.Slots,
		func(done, total events.Bytes) { s.display.step("preparing the dataset", uint64(done), uint64(total)) })
	if err != nil {
		return fmt.Errorf("prepare %s: %w", file, err)
	}
	layout := s.client.dataset.Layout()
	s.display.say("Client: %s is %d bytes; coded %d+%d into %d slots of %d bytes, dataset root %.18s...",
		filepath.Base(file), layout.Size, layout.K, layout.M, layout.Slots(), layout.SlotSize(),
		s.client.dataset.MerkleRoot())
	provingKeys, err := s.provingKeys(ctx)
	if err != nil {
		return err
	}
	if s.local, err = node.LocalChain(ctx, s.Config, s.dir, provingKeys); err != nil {
		return err
	}
	s.display.say("Chain: development chain at block %d, marketplace %s", s.local.Head().Number, s.local.Marketplace)
	if err := s.client.serve(); err != nil {
		return err
	}
	s.request = s.client.request(s.Config.Devchain.Period, s.Periods)
	if err := s.client.enter(ctx, s.local, price(s.request)); err != nil {
		return err
	}
	return s.openAccount(ctx)
}

func (s *show) data() (string, error) {
	if s.File != "" {
		info, err := os.Stat(s.File)
		switch {
		case err != nil:
			return "", fmt.Errorf("%w: %w", api.ErrFile, err)
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%w: %s is not a plain file", api.ErrFile, s.File)
		}
		return s.File, nil
	}
	file := filepath.Join(s.dir.Root, "made.bin")
	if err := makeData(file); err != nil {
		return "", fmt.Errorf("make data: %w", err)
	}
	s.display.say("No FILE given: made %d MiB of seeded data, %s", madeBytes>>20, file)
	return file, nil
}

// provingKeys makes or loads the keys and says what that cost.
func (s *show) provingKeys(ctx context.Context) (*prover.Keys, error) {
	began := time.Now()
	k, err := node.DevelopmentKeys(ctx, s.Config.Prover, func(step string) {
		s.display.say("Proving keys: %s", step)
	})
	if err != nil {
		return nil, err
	}
	s.display.say("Proving keys: %d constraints, ready after %s, kept in %s (development keys: never for real money)",
		k.Constraints(), time.Since(began).Round(time.Millisecond), s.Config.Prover.KeysDir)
	return k, nil
}

// openAccount gives the host its account and its money.
func (s *show) openAccount(ctx context.Context) error {
	path := s.Config.Account.KeyFile
	if path == "" {
		path = filepath.Join(s.dir.Root, "account.key")
	}
	key, err := keys.Load(path)
	if errors.Is(err, keys.ErrMissing) {
		if _, err = keys.Create(path); err == nil {
			key, err = keys.Load(path)
		}
	}
	if err != nil {
		return err
	}
	s.account = keys.AddressOf(key)
	if err := node.ProvideDevelopmentFunds(ctx, s.local, s.account); err != nil {
		return err
	}
	balance, err := s.client.account.BalanceOf(ctx, s.account)
	s.before = balance.Tokens
	return err
}

// sell runs the host until all sales are settled.
func (s *show) sell(ctx context.Context) error {
	logFile, err := os.OpenFile(filepath.Join(s.dir.Root, "host.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the host's log: %w", err)
	}
	defer logFile.Close()
	s.host = &host{binary: s.Binary, args: s.hostArgs(), logTo: logFile, lines: make(chan line, 256)}
	if err := s.startHost(); err != nil {
		return err
	}
	s.display.say("Host: process %d, account %s", s.host.pid(), s.account)
	operator := s.Dial(s.dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pacing := make(chan error, 1)
	go func() {
		pacing <- s.local.Run(ctx, pacer(s.local, func(ctx context.Context) bool {
			working, err := operator.Working(ctx)
			return working || err != nil || time.Since(*s.started.Load()) < settleTime
		}))
	}()
	if err := s.offer(ctx, operator); err != nil {
		return err
	}
	id, err := s.client.post(ctx, s.request)
	if err != nil {
		return err
	}
	s.request.ID = id
	s.display.say("Client: posted request %s for %s of %s tokens", id.Short(), s.request.Ask.Duration, tokens(price(s.request)))
	if err := s.watch(ctx, operator, pacing); err != nil {
		return err
	}
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer stop()
	return s.host.stop(stopping)
}

func (s *show) startHost() error {
	now := time.Now()
	s.started.Store(&now)
	return s.host.start()
}

func (s *show) hostArgs() []string {
	return []string{
		"run", "--data-dir", s.dir.Root, "--log-format", "json", "--log-level", "info",
		"--chain-endpoint", s.local.IPCPath(), "--chain-contract", s.local.Marketplace.String(),
		"--content-sources", s.client.url, "--quota", s.Config.Quota.String(),
		"--sales-max-slots-per-request", fmt.Sprint(s.Slots),
		"--sales-max-workers", fmt.Sprint(max(s.Config.Sales.MaxWorkers, 1)),
		"--devchain-block-interval", idlePace.String(),
		"--prover-samples", fmt.Sprint(s.Config.Prover.Samples), "--prover-max-depth", fmt.Sprint(s.Config.Prover.MaxDepth),
		"--prover-max-log2-slots", fmt.Sprint(s.Config.Prover.MaxLog2Slots), "--prover-keys-dir", s.Config.Prover.KeysDir,
	}
}

// offer waits until the host answers, and puts capacity up for sale.
func (s *show) offer(ctx context.Context, operator HostAPI) error {
	size := s.request.Ask.SlotSize * events.Bytes(s.Slots)
	perSlot, _ := s.request.Ask.CollateralPerSlot()
	for {
		err := operator.Offer(ctx, size, 2*s.request.Ask.Duration, perSlot.MulSaturating(uint64(s.Slots)))
		if err == nil {
			s.display.say("Operator: one availability with room for %d bytes and %s tokens of collateral",
				size, tokens(perSlot.MulSaturating(uint64(s.Slots))))
			return nil
		}
		if alive, died := s.host.alive(); !alive {
			return fmt.Errorf("the host ended: %w; its last words: %s", died, s.lastWords())
		}
		if errors.Is(err, api.ErrDemoRefused) {
			return err
		}
		select {
		case <-time.After(10 * pollEvery):
		case l := <-s.host.lines:
			s.show(l)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// lastWords are what the host said at last.
func (s *show) lastWords() string {
	var words []string
	for {
		select {
		case l := <-s.host.lines:
			if l.Level != "info" {
				words = append(words, l.Msg)
			}
		default:
			return strings.Join(words, "; ")
		}
	}
}

// watch shows the host's story until the request is over and every sale is
// settled, and kills the host once on the way.
func (s *show) watch(ctx context.Context, operator HostAPI, pacing <-chan error) error {
	tick := time.NewTicker(20 * pollEvery)
	defer tick.Stop()
	for {
		select {
		case l := <-s.host.lines:
			s.lines++
			s.show(l)
			if s.timeToKill() {
				if err := s.crash(); err != nil {
					return err
				}
			}
		case err := <-pacing:
			return fmt.Errorf("the chain stopped: %w", err)
		case <-tick.C:
			if done, err := s.over(ctx, operator); done || err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// timeToKill is once, when each slot has proven a period or so.
func (s *show) timeToKill() bool {
	if s.Kill != nil {
		return s.Kill(s.lines)
	}
	return s.Crash && s.kills == 0 && s.proofs >= s.Slots
}

// over reports whether nothing is left to happen.
func (s *show) over(ctx context.Context, operator HostAPI) (bool, error) {
	if alive, died := s.host.alive(); !alive {
		return false, fmt.Errorf("the host ended: %w; see %s", died, filepath.Join(s.dir.Root, "host.log"))
	}
	state, err := s.client.account.RequestState(ctx, s.request.ID)
	if err != nil {
		return false, fmt.Errorf("ask the chain about the request: %w", err)
	}
	if state <= events.RequestStarted || len(s.host.lines) > 0 {
		return false, nil
	}
	open, err := operator.OpenSales(ctx)
	return err == nil && open == 0, nil // A host that does not answer is being started.
}

// crash kills the host as a power cut would, and starts it again.
func (s *show) crash() error {
	s.kills++
	pid := s.host.pid()
	if err := s.host.kill(); err != nil {
		return fmt.Errorf("kill the host: %w", err)
	}
	s.display.say("SIGKILL to the host, process %d. Chain time stands still.", pid)
	if err := s.startHost(); err != nil {
		return err
	}
	s.display.say("Host: started again as process %d; it goes on from its events", s.host.pid())
	return nil
}

// show tells a line of the host's log. Lines of sales begin with the slot.
func (s *show) show(l line) {
	switch {
	case l.Index != nil:
		s.display.slot(*l.Index, l.State)
		if strings.HasPrefix(l.Msg, "The contract took the proof") || strings.HasPrefix(l.Msg, "The contract had the proof") {
			s.proofs++
			s.display.proof(*l.Index)
		}
		s.display.say("slot %d  %-15s %s", *l.Index, l.State, l.Msg)
	case l.Level == "error" || l.Level == "warning":
		s.display.say("Host: %s", l.Msg)
	}
}
