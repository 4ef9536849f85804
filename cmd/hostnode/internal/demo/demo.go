package demo

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage/dataset"
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

// Limits of a demonstration.
const (
	minSlots, maxSlots     = 3, 32
	minPeriods, maxPeriods = 1, 50
	// settleTime is how long chain time stands still after a start of the host,
	// so that it has replayed its events and knows what it owes.
	settleTime = 2 * time.Second
	// readyTime is how long it does so after the host had nothing to do for the first time: the machine may be
	// slow, and the host finds what it owes bit by bit.
	readyTime = time.Second
	// stopPatience is how long the host may take to stop properly.
	stopPatience = 30 * time.Second
)

func (o Options) check() error { return cmp.Or(o.limits(), o.refuseSettings(fixed)) }

func (o Options) limits() error {
	return cmp.Or(within("slots", o.Slots, minSlots, maxSlots), within("periods", o.Periods, minPeriods, maxPeriods))
}

// within refuses an option that is beyond its limits.
func within[N int | time.Duration](option string, is, least, most N) error {
	if is < least || is > most {
		return fmt.Errorf("%w: --%s %v, want %v to %v", problem.ErrDemoOptions, option, is, least, most)
	}
	return nil
}

// show is a demonstration in progress.
type show struct {
	Options
	dir        datadir.Layout
	display    *display
	local      *localchain.Chain
	client     *client
	request    events.Request
	work       events.Bytes // what the host has to do with the data
	host       *host
	account    events.Address
	before     events.Amount // the host's tokens before the sale
	began      time.Time
	proofs     int                       // that the contract took, as far as the log told
	lines      int                       // of the host's log
	started    atomic.Pointer[time.Time] // when the host was started last
	kills      int
	complaints []string // the last complaints of the host
	logFile    *os.File // of the host
}

// Run runs the demonstration and returns its result. The error is nil only when
// the payout arrived and the audit is clean.
func Run(ctx context.Context, o Options) (Summary, error) {
	if err := o.check(); err != nil {
		return Summary{}, err
	}
	if err := o.begin(); err != nil {
		return Summary{}, err
	}
	s := newShow(o)
	return played(ctx, s, s.close, s.summarize, s.prepare, s.sell)
}

func newShow(o Options) *show {
	return &show{
		Options: o, dir: datadir.At(o.Config.DataDir), began: time.Now(), display: newDisplay(o.Out, o.Terminal),
		client: &client{},
	}
}

func (s *show) close() {
	if s.host != nil {
		_ = s.host.kill() // Only when something failed before it was stopped.
		_ = s.logFile.Close()
	}
	s.client.close()
	if s.local != nil {
		_ = s.local.Close()
	}
}

// prepare sets up everything but the host: data, keys, chain, accounts.
func (s *show) prepare(ctx context.Context) error {
	key, err := s.accountKey()
	if err != nil {
		return err
	}
	file, err := s.data(madeBytes)
	if err != nil {
		return err
	}
	s.client.dataset, err = prepare(ctx, file, filepath.Join(s.dir.Root, "client"), s.Slots,
		s.display.steps("Client: codes "+filepath.Base(file)))
	if err != nil {
		return fmt.Errorf("prepare %s: %w", file, err)
	}
	layout := s.client.dataset.Layout()
	s.work = layout.SlotSize() * events.Bytes(layout.Slots())
	s.display.say("Client: %s is %d bytes; coded %d+%d into %d slots of %d bytes, dataset root %.18s...",
		filepath.Base(file), layout.Size, layout.K, layout.M, layout.Slots(), layout.SlotSize(),
		s.client.dataset.MerkleRoot())
	provingKeys, err := s.provingKeys(ctx)
	if err != nil {
		return err
	}
	if s.local, err = node.LocalChain(ctx, s.Config, s.dir, provingKeys, nil); err != nil {
		return err
	}
	s.display.say("Chain: development chain at block %d, marketplace %s", s.local.Head().Number, s.local.Marketplace)
	s.sayUnits("Dates, periods and how long a request lasts are chain time, which has a pace of its own")
	if err := s.client.serve(); err != nil {
		return err
	}
	s.request = s.client.request(s.Config.Devchain.Period, s.Periods)
	if err := s.client.enter(ctx, s.local, requester.Price(s.request)); err != nil {
		return err
	}
	return s.openAccount(ctx, key)
}

// sayUnits says what the lines that follow count in.
func (s *show) sayUnits(chainTime string) {
	s.display.say(
		"Before each line is this machine's time. %s. Amounts without a unit are base units: 10^18 are a token",
		chainTime)
}

// begin refuses, before anything is written, a data directory that a host uses or a newer
// version made, and a file that cannot be stored.
func (o Options) begin() error {
	if o.File != "" {
		if err := o.fits(); err != nil {
			return err
		}
	}
	dir, err := datadir.OpenBriefly(o.Config.DataDir, time.Now(), true)
	if err != nil {
		return err
	}
	return dir.Close() // The host takes it.
}

// fits refuses a file whose slots need more than the quota, or more than the disk,
// which has to hold them twice: for the client, and for the host.
func (o Options) fits() error {
	bytes, err := readable(o.File)
	if err != nil {
		return err
	}
	layout, err := dataset.NewLayout(bytes, requester.CodeOf(o.Slots))
	if err != nil {
		return err
	}
	return o.hasRoom("slots", bytes, uint64(layout.SlotSize())*uint64(layout.Slots()))
}

// hasRoom refuses a file for which quota or disk lack room; the disk has to hold twice what is needed.
func (o Options) hasRoom(what string, fileBytes, need uint64) error {
	size := events.Bytes(fileBytes).Human()
	if quota := uint64(o.Config.Quota); need > quota {
		return fmt.Errorf("%w: the %s of a file of %s take %s, and the quota is %s; raise --quota, "+
			"or name a smaller file",
			problem.ErrDemoOptions, what, size, events.Bytes(need).Human(), events.Bytes(quota).Human())
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(existing(o.Config.DataDir), &disk); err != nil {
		return fmt.Errorf("look for space on the disk: %w", err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free/2 < need {
		return fmt.Errorf("%w: the %s of a file of %s take %s, twice, and the disk of %s has %s; "+
			"name a smaller file",
			problem.ErrDemoOptions, what, size, events.Bytes(need).Human(), o.Config.DataDir, events.Bytes(free).Human())
	}
	return nil
}

// existing returns a directory, or the nearest existing one above it.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// readable returns the size of a file, or why it cannot be stored: it does not exist, is not a plain file, or may not
// be read.
func readable(file string) (bytes uint64, err error) {
	info, err := os.Stat(file) // First: to open a pipe could wait for ever.
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", problem.ErrFile, err)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: %s is not a plain file", problem.ErrFile, file)
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", problem.ErrFile, err)
	}
	return uint64(info.Size()), f.Close()
}

// data is the file, or so many bytes that are made.
func (s *show) data(made int64) (string, error) {
	if s.File != "" {
		return s.File, nil
	}
	file := filepath.Join(s.dir.Root, "made.bin")
	if err := makeBytes(file, made); err != nil {
		return "", fmt.Errorf("make data: %w", err)
	}
	s.display.say("No FILE given: made %d MiB of seeded data, %s", made>>20, file)
	return file, nil
}

// provingKeys makes or loads the keys and says how long that took.
func (s *show) provingKeys(ctx context.Context) (*prover.Keys, error) {
	began := time.Now()
	k, err := node.DevelopmentKeys(ctx, s.Config.Prover, s.dir, func(step string) {
		s.display.say("Proving keys: %s", step)
	})
	if err != nil {
		return nil, err
	}
	s.display.say("Proving keys: %d constraints, ready after %s, kept in %s (development keys: never for real money)",
		k.Constraints(), time.Since(began).Round(time.Millisecond), s.Config.Prover.KeysDir)
	return k, nil
}

// accountKey is the key of the host's account.
func (s *show) accountKey() (*ecdsa.PrivateKey, error) {
	owner, err := s.dir.Owner()
	if err != nil {
		return nil, err
	}
	return node.AccountKey(s.Config, s.dir, owner, true, logrus.NewEntry(logrus.New()))
}

// openAccount gives the host its funds.
func (s *show) openAccount(ctx context.Context, key *ecdsa.PrivateKey) error {
	s.account = keys.AddressOf(key)
	if err := node.ProvideDevelopmentFunds(ctx, s.local, s.account); err != nil {
		return err
	}
	balance, err := s.client.account.BalanceOf(ctx, s.account)
	s.before = balance.Tokens
	return err
}
