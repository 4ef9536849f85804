package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
)

// Scenario says what a run is made of. The zero value is a quiet world.
type Scenario struct {
	Requests int    // posted over the first part of the run; default 2
	Slots    uint64 // of each request; default 2
	// The following are chances in a thousand at each step.
	Fail, Lose           int // a call fails, or its answer is lost
	Crash, Stop          int // the host is killed, or stopped in good order
	Reorganize, Rival    int // the chain drops blocks; another host fills a slot
	Repeat               int // the feed delivers an update twice
	StoreDown            int // the store fails for a while
	Pause                int // the operator pauses the queue, and resumes it later
	Forget               int // record and disk are lost once the host has a slot
	Block                int // a block is sealed instead of a call answered; default 60
	MaxQueued            int // slots that the queue holds; default the host's
	Tokens               uint64
	BadContent, NoClient bool // every second request's data is wrong, or never served
	// FailEveryNProofs makes the host spoil every nth proof.
	FailEveryNProofs uint32
	// Cores are the host's rules, when an error is planted in them.
	Cores actors.Cores
	// MaxSteps bounds a run; default 20,000.
	MaxSteps int
	// Log takes the host's log and the trace; nil: nowhere.
	Log io.Writer
}

func (sc Scenario) withDefaults() Scenario {
	for field, value := range map[*int]int{&sc.Requests: 2, &sc.Block: 60, &sc.MaxSteps: 20_000} {
		if *field == 0 {
			*field = value
		}
	}
	if sc.Slots == 0 {
		sc.Slots = 2
	}
	if sc.Tokens == 0 {
		sc.Tokens = 1 << 40
	}
	return sc
}

// Outcome is what a run was.
type Outcome struct {
	Trace   uint64 // hash of everything that happened, in order
	Steps   int
	Crashes int
	Blocks  uint64
	// Events counts what is in the record, by stored name.
	Events map[string]int
	// Problem is a broken invariant, or a run that did not end.
	Problem error
}

type simulator struct {
	Scenario
	rng     *rand.Rand
	bus     *bus
	world   *world
	store   *events.Memory
	audit   *audit
	owed    map[period]bool // periods that demand a proof, as the host saw
	tokens  events.Amount   // what the account held when the record began
	host    *actors.Host
	trace   io.Writer
	steps   int
	posted  int
	crashes int

	offered, paused, stopping, forgot bool
	away                              int    // steps until a stopped host is started again
	storeDown                         int    // steps until the store is back
	waits                             string // why the run is not over
}

var (
	me     = events.Address{0xaa, 0xbb}
	offer  = events.AvailabilityID{0x0f, 0xfe}
	market = events.MarketConfig{
		RepairRewardPercentage: 10, MaxNumberOfSlashes: 2, SlashPercentage: 20, ValidatorRewardPercentage: 20,
		MaxReservations: 3, RequestDurationLimit: 30 * 24 * time.Hour,
		Proofs: events.ProofConfig{
			Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67, KeyHash: "simulated",
		},
	}
)

const (
	quota     = 64 * events.BlockSize
	offerSize = 32 * events.BlockSize
)

// overhead is what trees and manifest of a slot take on disk.
func overhead(slotSize events.Bytes) events.Bytes { return slotSize / 1024 }

// Run runs one seed of a scenario inside a bubble of fake time.
func Run(t *testing.T, seed uint64, sc Scenario) Outcome {
	sc = sc.withDefaults()
	var out Outcome
	synctest.Test(t, func(t *testing.T) {
		sum := fnv.New64a()
		b := &bus{}
		s := &simulator{
			Scenario: sc, rng: rand.New(rand.NewPCG(seed, 1)), bus: b,
			world: newWorld(b, me, market, sc.Tokens), trace: sum,
		}
		s.newRecord(events.NewAmount(sc.Tokens))
		ctx, cancel := context.WithCancel(t.Context())
		problem := s.run(ctx)
		cancel()
		s.settle()
		s.crash()
		time.Sleep(time.Minute) // Fake time: the actor library's last timers run out.
		out = Outcome{
			Trace: sum.Sum64(), Steps: s.steps, Crashes: s.crashes,
			Blocks: s.world.tip().head.Number, Events: s.count(t.Context()), Problem: problem,
		}
	})
	return out
}

// newRecord begins an empty record; tokens is what the account is accountable for.
func (s *simulator) newRecord(tokens events.Amount) {
	s.store = events.NewMemory()
	s.audit = newAudit(s.store, market, s.MaxQueued)
	s.tokens, s.offered = tokens, false
	s.owed = map[period]bool{}
}

func (s *simulator) count(ctx context.Context) map[string]int {
	names := map[string]int{}
	for e, err := range s.store.ReadAll(ctx, 0, 0) {
		if err == nil {
			names[e.Type]++
		}
	}
	return names
}

func (s *simulator) note(format string, args ...any) {
	fmt.Fprintf(s.trace, format+"\n", args...)
	if s.Log != nil {
		fmt.Fprintf(s.Log, "%d: "+format+"\n", append([]any{s.steps}, args...)...)
	}
}

func (s *simulator) chance(perMille int) bool { return s.rng.IntN(1000) < perMille }

// start starts the host in the background: its first append parks on the bus.
func (s *simulator) start(ctx context.Context) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if s.Log != nil {
		log.SetOutput(s.Log)
	}
	cfg := actors.Config{
		Node: "sim", Version: "sim", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
		MaxSlotsPerRequest: 256, FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second},
		MinFill: 30 * time.Second, RetryAfter: time.Second, RetryMost: 4 * time.Second, Overhead: overhead,
		MaxQueued: s.MaxQueued, FailEveryNProofs: s.FailEveryNProofs, Cores: s.Cores, Turn: s.bus.turn,
	}
	ports := actors.Ports{
		Market: fakeMarket{s.world}, Feed: fakeFeed{s.world}, Prover: fakeProver{s.world},
		Repo: fakeRepo{s.world}, Content: fakeContent{s.world}, Clock: wallClock{},
		Store: busStore{s.store, s.world},
	}
	go func() {
		for ctx.Err() == nil { // Whoever runs the host starts it again until it starts.
			host, err := actors.Start(ctx, cfg, ports, logrus.NewEntry(log))
			if err == nil {
				s.setHost(host)
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

// wallClock is the bubble's fake time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) After(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

func (s *simulator) setHost(h *actors.Host) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.host = h
}

func (s *simulator) running() *actors.Host {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.host
}

func (s *simulator) crash() {
	if h := s.running(); h != nil {
		h.Kill()
		s.setHost(nil)
	}
	s.forgive()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.unheard = map[string]bool{} // The next host reads everything.
	s.world.hashes = map[uint64]bool{}
}

// settle returns when every goroutine waits for the simulator or for time.
func (s *simulator) settle() {
	synctest.Wait()
	for s.bus.nextTurn() {
		synctest.Wait()
	}
}

// run lets things happen until every request is over and settled.
func (s *simulator) run(ctx context.Context) error {
	s.start(ctx)
	for s.steps = 0; s.steps < s.MaxSteps; s.steps++ {
		s.settle()
		if !s.offered && s.running() != nil {
			s.offered = true
			s.makeOffer(ctx, s.running())
			s.settle()
		}
		s.step(ctx)
		s.settle()
		if err := s.check(ctx); err != nil {
			return fmt.Errorf("step %d: %w", s.steps, err)
		}
		if s.posted == s.Requests && s.steps%16 == 0 {
			done, err := s.over()
			if err != nil || done {
				return err
			}
		}
	}
	_, err := s.over()
	return errors.Join(err, fmt.Errorf("the run did not end within %d steps: %s; %s; calls that wait: %v",
		s.MaxSteps, s.waits, s.world, s.bus.keys()))
}

// makeOffer puts capacity up for sale, as an operator does.
func (s *simulator) makeOffer(ctx context.Context, h *actors.Host) {
	go func() {
		for ctx.Err() == nil {
			err := h.Ledger(ctx, capacity.SetQuota{At: time.Now(), Bytes: quota})
			if err == nil {
				err = h.Ledger(ctx, capacity.Create{At: time.Now(), ID: offer, Now: capacity.Offer{
					Size: offerSize, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
					Collateral: events.NewAmount(1 << 38), Enabled: true,
				}})
			}
			if err == nil {
				return
			}
			time.Sleep(time.Second)
			if now := s.running(); now != nil {
				h = now
			}
			s.bus.turn(ctx, "operator")
		}
	}()
}
