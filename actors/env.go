package actors

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// Ports are what a host needs of the world.
type Ports struct {
	Market  Market
	Feed    ChainFeed
	Prover  Prover
	Repo    Repo
	Content Content
	Clock   Clock
	Store   events.Store
}

// Config are the settings of the shell. Zero values stand for the defaults
// named here.
type Config struct {
	// Node names this process in events and logs.
	Node string
	// Version of the program, for the record.
	Version string
	// ChainID, Genesis and Contract say which market this record belongs to.
	ChainID  uint64
	Genesis  events.Hash
	Contract events.Address

	// Quota is how many bytes the host may use; the ledger is told at the start.
	// 0 leaves it as it is.
	Quota events.Bytes

	// MaxWorkers is how many slots are worked on at once before they are
	// filled; default 3.
	MaxWorkers int
	// MaxQueued is how many slots the queue holds; default 100,000.
	MaxQueued int
	// MaxSlotsPerRequest is how many slots of one request this host fills; 0 is
	// the request's own maxSlotLoss, so that our failure alone never fails it.
	MaxSlotsPerRequest int
	// Downloads, Proofs, Transactions, Reads and Disk bound the calls that run
	// at once. Defaults 2, 1, 16, 16, 4. A proof uses all cores.
	Downloads, Proofs, Transactions, Reads, Disk int
	// FinalBlocks is how many blocks make a fill final; default 12.
	FinalBlocks uint64
	// Margin is what a proof needs before it is on chain; default 6 blocks of
	// one second.
	Margin duty.Margin
	// MinFill is how much chain time must be left before the expiry when a slot
	// is taken; default two periods.
	MinFill time.Duration
	// RetryAfter and RetryMost are the first and the longest pause between two
	// tries of a call that failed for a reason that may pass. Defaults 500 ms
	// and 30 s.
	RetryAfter, RetryMost time.Duration
	// WorkerPatience is how long a worker stays with a slot that makes no
	// progress; default 10 minutes of the machine's time.
	WorkerPatience time.Duration
	// MinWei is the least that must be left for gas when a slot is taken.
	MinWei events.Amount
	// FailEveryNProofs spoils every nth proof; development chains only.
	FailEveryNProofs uint32
	// Overhead is the most bytes that trees and manifest of a slot take on disk.
	Overhead func(slotSize events.Bytes) events.Bytes
	// MayReserve is the dispersal policy: whether this host may reserve the slot
	// now. Nil: always. (Seed 000's sliding window has its place here.)
	MayReserve func(events.Request, uint64, events.Head) (ok bool, reason string)
	// Turn is called by every task when it begins, and when it goes on after a
	// pause or a new block. A simulation lets the tasks go on one after the
	// other there, so that a seed repeats its run; nil otherwise.
	Turn func(ctx context.Context, task string)
	// Cores replaces rules, for tests that plant an error in one and want the
	// simulation to find it. Nil fields are the real ones.
	Cores Cores
}

// Cores are the rules that a host runs.
type Cores struct {
	DecideSale     func(sale.State, sale.Command) ([]sale.Event, error)
	NextSale       func(sale.State) []sale.Effect
	DecideCapacity func(capacity.State, capacity.Command) ([]capacity.Event, error)
}

func (c Config) withDefaults() Config {
	def := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	def(&c.MaxWorkers, 3)
	def(&c.MaxQueued, 100_000)
	def(&c.Downloads, 2)
	def(&c.Proofs, 1)
	def(&c.Transactions, 16)
	def(&c.Reads, 16)
	def(&c.Disk, 4)
	wait := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	wait(&c.RetryAfter, 500*time.Millisecond)
	wait(&c.RetryMost, 30*time.Second)
	wait(&c.WorkerPatience, 10*time.Minute)
	if c.FinalBlocks == 0 {
		c.FinalBlocks = 12
	}
	if c.Margin == (duty.Margin{}) {
		c.Margin = duty.Margin{Blocks: 6, BlockTime: time.Second}
	}
	if c.Overhead == nil {
		c.Overhead = func(events.Bytes) events.Bytes { return 0 }
	}
	if c.Cores.DecideSale == nil {
		c.Cores.DecideSale = sale.Decide
	}
	if c.Cores.NextSale == nil {
		c.Cores.NextSale = sale.Next
	}
	if c.Cores.DecideCapacity == nil {
		c.Cores.DecideCapacity = capacity.Decide
	}
	if c.Turn == nil {
		c.Turn = func(context.Context, string) {}
	}
	if c.MayReserve == nil {
		c.MayReserve = func(events.Request, uint64, events.Head) (bool, string) { return true, "" }
	}
	return c
}

// env is what all actors of a host share.
type env struct {
	Config
	Ports
	rt    *runtime
	log   *logrus.Entry
	codec *events.Codec
	me    events.Address
	epoch uint64
	terms events.MarketConfig // the contract's configuration; set before the actors that read it exist
	view  *chainView

	downloads, proofs, transactions, reads, disk *pool
}

func newEnv(cfg Config, ports Ports, rt *runtime) *env {
	return &env{
		Config: cfg, Ports: ports, rt: rt, log: rt.log, codec: catalog.Codec(),
		me:           ports.Market.Account(),
		view:         newChainView(ports.Market),
		downloads:    newPool("downloads", cfg.Downloads),
		proofs:       newPool("proofs", cfg.Proofs),
		transactions: newPool("transactions", cfg.Transactions),
		reads:        newPool("reads", cfg.Reads),
		disk:         newPool("disk", cfg.Disk),
	}
}

// chainTime is the time of the newest block: At of every command of the market.
func (e *env) chainTime() time.Time { return e.view.now().Time }

func (e *env) metadata(correlation string) events.Metadata {
	return events.Metadata{Correlation: correlation, Epoch: e.epoch, Node: e.Node}
}

// in runs a call inside a pool.
func in[T any](ctx context.Context, p *pool, deadline time.Time, call func() (T, error)) (T, error) {
	leave, err := p.enter(ctx, deadline)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return call()
}

// backoff is the pause before the nth try again, n from 1: doubled each time,
// bounded, and spread by up to a half so that many sales do not knock at once.
// The spread follows from the key, so that a run can be repeated.
func (e *env) backoff(key string, n int) time.Duration {
	pause := e.RetryAfter << min(n-1, 20)
	if pause <= 0 || pause > e.RetryMost {
		pause = e.RetryMost
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", key, n)
	return pause/2 + time.Duration(h.Sum64()%uint64(pause/2+1))
}

// retry repeats a call until it succeeds or fails for good. It tells each
// passing failure to note.
func (e *env) retry(ctx context.Context, key string, note func(error), final func(error) bool,
	call func(context.Context) error,
) error {
	for n := 1; ; n++ {
		e.Turn(ctx, key)
		err := call(ctx)
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case final(err):
			return err
		}
		note(err)
		if err := sleep(ctx, e.Clock, e.backoff(key, n)); err != nil {
			return err
		}
	}
}
