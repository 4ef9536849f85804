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
	Requests int // posted over the first part of the run; default 2
	Slots    uint64
	// The following are chances in a thousand at each step.
	Fail, Lose, Crash, Reorganize, Rival int
	// BadContent makes every second request's data differ from its root.
	BadContent bool
	// Silent is how many steps the host is left without any answer at the
	// start of proving; for runs in which proofs must be missed.
	Silent int
	// MaxSteps bounds a run; default 20,000.
	MaxSteps int
	// Log takes the host's log and the trace; nil: nowhere.
	Log io.Writer
}

// Outcome is what a run was.
type Outcome struct {
	Trace   uint64 // hash of everything that happened, in order
	Steps   int
	Crashes int
	Store   events.Store
	World   *world
	Blocks  uint64
	Problem error // a broken invariant, or a run that did not end
}

type simulator struct {
	Scenario
	rng     *rand.Rand
	bus     *bus
	world   *world
	store   *events.Memory
	host    *actors.Host
	trace   io.Writer
	sum     interface{ Sum64() uint64 }
	posted  int
	steps   int
	crashes int
	waits   string // why the run is not over
	quiet   int    // steps without a fault left, so that a run can end
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
	quota       = 64 * events.BlockSize
	offerSize   = 32 * events.BlockSize
	tokensAtAll = 1 << 40
)

// Run runs one seed of a scenario inside a bubble of fake time.
func Run(t *testing.T, seed uint64, sc Scenario) Outcome {
	if sc.Requests == 0 {
		sc.Requests = 2
	}
	if sc.Slots == 0 {
		sc.Slots = 2
	}
	if sc.MaxSteps == 0 {
		sc.MaxSteps = 20_000
	}
	var out Outcome
	synctest.Test(t, func(t *testing.T) {
		sum := fnv.New64a()
		b := &bus{}
		s := &simulator{
			Scenario: sc, rng: rand.New(rand.NewPCG(seed, 1)), bus: b,
			world: newWorld(b, me, market, tokensAtAll), store: events.NewMemory(), trace: sum, sum: sum,
		}
		problem := s.run(t.Context())
		s.crash()
		time.Sleep(time.Minute) // Fake time: the actor library's last timers run out.
		out = Outcome{
			Trace: sum.Sum64(), Steps: s.steps, Crashes: s.crashes, Store: s.store,
			World: s.world, Blocks: s.world.tip().head.Number, Problem: problem,
		}
	})
	return out
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
		MinFill: 30 * time.Second, RetryAfter: time.Second, RetryMost: 4 * time.Second,
		Overhead: func(n events.Bytes) events.Bytes { return n / 1024 },
	}
	ports := actors.Ports{
		Market: fakeMarket{s.world}, Feed: fakeFeed{s.world}, Prover: fakeProver{s.world},
		Repo: fakeRepo{s.world}, Content: fakeContent{s.world}, Clock: wallClock{},
		Store: busStore{s.store, s.bus},
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
}

// run lets things happen until every request is over and settled.
func (s *simulator) run(ctx context.Context) error {
	s.start(ctx)
	offered := false
	for s.steps = 0; s.steps < s.MaxSteps; s.steps++ {
		synctest.Wait()
		if s.steps > s.MaxSteps*2/3 {
			s.quiet = 1 // No more faults: what is left must come to an end.
		}
		if !offered && s.running() != nil {
			offered = true
			s.makeOffer(ctx)
			continue
		}
		if err := s.step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", s.steps, err)
		}
		if s.posted == s.Requests && s.steps%16 == 0 {
			done, err := s.over(ctx)
			if err != nil || done {
				return err
			}
		}
	}
	_, err := s.over(ctx)
	return errors.Join(err, fmt.Errorf("the run did not end within %d steps: %s; %s; calls that wait: %v",
		s.MaxSteps, s.waits, s.world, s.bus.keys()))
}

// makeOffer puts capacity up for sale, as an operator does.
func (s *simulator) makeOffer(ctx context.Context) {
	h := s.running()
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
		}
	}()
}

// step lets one thing happen.
func (s *simulator) step(ctx context.Context) error {
	calm := s.quiet > 0
	keys := s.bus.keys()
	switch {
	case s.running() != nil && !calm && s.chance(s.Crash):
		s.note("crash")
		s.crashes++
		s.crash()
		s.start(ctx)
	case !calm && s.chance(s.Reorganize):
		n := 1 + s.rng.IntN(6)
		s.note("reorganize %d", n)
		s.world.reorganize(n)
	case !calm && s.chance(s.Rival):
		s.note("rival")
		s.world.rival(s.rng.IntN(16))
	case s.posted < s.Requests && s.chance(20):
		s.post()
	case len(keys) == 0 || s.chance(60):
		s.note("block")
		s.world.mine()
		time.Sleep(time.Second)
	case s.chance(50):
		time.Sleep(time.Second)
	default:
		i := s.rng.IntN(len(keys))
		v := proceed
		switch {
		case calm:
		case s.chance(s.Fail):
			v = fail
		case s.chance(s.Lose):
			v = lostMind
		}
		s.note("%s %s", keys[i], v)
		s.bus.release(i, v)
	}
	return s.check(ctx)
}

func (s *simulator) post() {
	s.posted++
	r := events.Request{
		ID: events.RequestID{byte(s.posted), 0x51}, Client: events.Address{7},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(uint64(1 + s.rng.IntN(3))),
			CollateralPerByte: events.NewAmount(1), Slots: s.Slots, SlotSize: 4 * events.BlockSize,
			Duration: 400 * time.Second, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}},
		Expiry:  time.Duration(120+s.rng.IntN(60)) * time.Second,
	}
	if s.BadContent && s.posted%2 == 0 {
		r.Nonce[0] = 0xbd
	}
	s.note("post %s", r.ID.Short())
	s.world.post(r)
}
