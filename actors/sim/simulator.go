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
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/validation"
)

// hostMargin is how many blocks a host plans for a proof to be made and mined.
const hostMargin = 4

type simulator struct {
	Scenario
	rng   *rand.Rand
	decay *rand.Rand // for rotting data, so that other draws stay the same
	liar  *rand.Rand // for lies, likewise
	nodes *rand.Rand // for the nodes of the event store, likewise
	// sealers are for sectors, likewise. Of their faults, early terminations, forged answers of the
	// contract, and reorganisations beyond what is final have theirs.
	sealers, early, forger, depths *rand.Rand
	shippers                       *rand.Rand // for what is aggregated, likewise
	ringers                        *rand.Rand // for alerts, likewise
	panics                         *panics
	bus                            *bus
	world                          *world
	store                          *storetest.Memory
	// cluster is the store as the host reaches it.
	cluster *cluster
	audit   *audit
	rules   *rules
	view    View
	owed    map[period]bool // periods that demanded a proof, as the host saw
	// chances are the proofs that the host could submit, in scenarios that check that.
	chances *chances
	noted   uint64 // the newest block that was checked for them
	loop    struct {
		left int    // crashes still to come
		next uint64 // the block of the next one
	}
	// unsettled is the last period about which a reorganisation changed the story.
	unsettled uint64
	// older describes a record that lost events; nil: it did not. A witness keeps its file in
	// dir.
	older   *older
	dir     string
	unwatch func() error
	tokens  events.Amount // what the account held when the record began
	host    *actors.Host
	end     func()       // ends all processes
	lastly  func() error // what else must hold at the end
	// endLife ends a start that is under way.
	endLife context.CancelFunc
	trace   io.Writer
	faults  map[Fault]int
	steps   int
	posted  []events.Request
	crashes int

	offered, paused, stopping, forgot bool
	// retrying: the operator is having quarantined work tried again. Guarded by the world's
	// lock.
	retrying bool
	// hurried: nothing goes wrong any more, because there is nothing left to disturb.
	hurried  bool
	away     int            // steps until a stopped host is started again
	until    map[string]int // steps at which a trouble of the world is over
	waits    string         // why the run is not over
	highest  uint64         // the highest block that there was
	compared events.Position

	ferries bool // pieces travel by the packer of that name
	// Of sectors: how often the operator began one, whether an order is under way (guarded by the
	// world's lock), which pieces are bad, and whose data was damaged.
	begun    int
	ordering bool
	bad      map[string]bool
	harmed   map[uint64]bool
	// undone are the sectors of which a reorganisation took back what was final.
	undone map[uint64]bool
	// answered is the step of each sector whose result this process was told; told: the newest call
	// was answered.
	answered map[uint64]string
	told     bool
	windows  map[sectorPeriod]*sectorWindow
	looked   uint64 // the newest block that was checked for them
}

// Run runs one seed of a scenario inside a bubble of fake time.
func Run(t *testing.T, seed uint64, sc Scenario) Outcome {
	sc = sc.withDefaults()
	var out Outcome
	synctest.Test(t, func(t *testing.T) {
		sum := fnv.New64a()
		b := &bus{}
		s := &simulator{
			Scenario: sc, rng: rand.New(rand.NewPCG(seed, 1)), decay: rand.New(rand.NewPCG(seed, 2)), liar: rand.New(rand.NewPCG(seed, 4)),
			nodes: rand.New(rand.NewPCG(seed, 5)), sealers: rand.New(rand.NewPCG(seed, 6)), early: rand.New(rand.NewPCG(seed, 8)),
			forger: rand.New(rand.NewPCG(seed, 9)), depths: rand.New(rand.NewPCG(seed, 10)), bus: b, rules: newRules(sc.Cores, sc.MaxQueued),
			shippers: rand.New(rand.NewPCG(seed, 11)), ferries: seed%2 == 1,
			ringers: rand.New(rand.NewPCG(seed, 12)),
			world:   newWorld(b, me, sc.market(), events.NewAmount(sc.Tokens)), trace: sum,
			faults: map[Fault]int{}, until: map[string]int{}, panics: newPanics(seed, sc.Plant.Brittle),
			bad: map[string]bool{}, harmed: map[uint64]bool{}, undone: map[uint64]bool{}, answered: map[uint64]string{},
			windows: map[sectorPeriod]*sectorWindow{},
		}
		if sc.Sectors.Begin > 0 {
			s.world.tip().state.provider = newSectorContract(sectorRules, me)
			s.world.seals = newSeals()
			s.world.seals.hasty, s.world.unasking, s.world.lenient = sc.Plant.Hasty, sc.Plant.Unasking, sc.Plant.Lenient
		}
		if sc.Older > 0 {
			s.dir = t.TempDir()
		}
		s.panics.aim = sc.aim
		s.world.rot, s.world.confirmations = sc.Rot, sc.finality()
		s.world.faithless, s.world.reckless = sc.Plant.Faithless, sc.Plant.Reckless
		s.world.tip().state.leaky, s.world.altering = sc.Plant.Leaky, sc.Plant.Altering
		s.world.dropping = sc.Plant.Dropping
		s.world.unwatched, s.world.lying = sc.Validator, sc.Plant.Lying
		if sc.Chance > 0 {
			s.chances = newChances(s.world.blockchain)
		}
		if sc.Policy.WalletDays > 0 {
			s.world.purse = events.Balance{Wei: events.NewAmount(sc.Policy.Wei), ProofWei: events.NewAmount(1)}
		}
		s.newRecord(storetest.NewMemory(), events.NewAmount(sc.Tokens))
		ctx, cancel := context.WithCancel(t.Context())
		problem := s.runAll(ctx, seed)
		cancel()
		s.end()
		time.Sleep(time.Minute) // Fake time, in which the actor library's last timers end.
		out = Outcome{
			Trace: sum.Sum64(), Steps: s.steps, Crashes: s.crashes,
			Blocks: s.world.tip().head.Number, Events: map[string]int{}, Faults: s.faults, Problem: problem,
			met: s.panics.kinds,
		}
		for e, err := range s.store.ReadAll(t.Context(), 0, 0) {
			if err == nil {
				out.Record = append(out.Record, e)
				out.Events[e.Type]++
			}
		}
	})
	return out
}

// runAll runs the host, one process or several members.
func (s *simulator) runAll(ctx context.Context, seed uint64) error {
	if s.Members.Count == 0 {
		s.end = func() {
			s.settle()
			s.crash()
		}
		return s.run(ctx)
	}
	g := newGroup(s, seed)
	s.end = func() {
		g.settle()
		g.crashAll()
	}
	return g.run(ctx)
}

// newRecord begins a record; tokens is what the account must account for.
func (s *simulator) newRecord(store *storetest.Memory, tokens events.Amount) {
	s.store = store
	s.cluster = &cluster{Memory: store, rng: s.nodes, plant: s.Plant, world: s.world}
	s.world.told = map[string]uint64{}
	s.audit = newAudit(s.store, s.market(), s.MaxQueued, s.world.repairs)
	s.audit.wentBack, s.audit.holds = s.onWentBack, s.holds
	s.audit.freight, s.audit.bells = s.world.freight, s.world.bells
	s.audit.slot = func(id events.SlotID) *slot { return s.world.tip().state.slots[id] }
	s.tokens, s.offered, s.compared = tokens, false, 0
	s.owed = map[period]bool{}
	if s.NewView != nil {
		s.view = s.NewView()
	}
}

func (s *simulator) note(format string, args ...any) {
	fmt.Fprintf(s.trace, format+"\n", args...)
	if s.Log != nil {
		fmt.Fprintf(s.Log, "%d: "+format+"\n", append([]any{s.steps}, args...)...)
	}
}

// trouble notes a fault, and counts it.
func (s *simulator) trouble(kind, where string, format string, args ...any) {
	s.faults[Fault{kind, where}]++
	s.note(format, args...)
}

func (s *simulator) chance(perMille int) bool { return s.rng.IntN(1000) < perMille }

func (s *simulator) config() actors.Config {
	cfg := actors.Config{
		Node: "sim", Version: "sim", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
		FinalBlocks: s.finality(), Margin: duty.Margin{Blocks: hostMargin, BlockTime: time.Second},
		MinFill: minFill, RetryAfter: time.Second, RetryMost: 4 * time.Second, Overhead: overhead,
		MaxQueued: s.MaxQueued, SnapshotEvery: s.SnapshotEvery, FailEveryNProofs: s.FailEveryNProofs,
		Cores: s.panics.poisoned(s.rules.cores()), Yield: s.bus.yield,
	}
	if s.Panic > 0 || s.Poison > 0 || s.Plant.Brittle || s.aim != nil { // Its lock changes the interleaving, so only if needed.
		cfg.BeforeMessage = s.panics.meets
	}
	if s.BitRot > 0 {
		cfg.ScrubEvery, cfg.ScrubBytesPerSecond = time.Minute, 16*events.BlockSize
	}
	if s.Sectors.Begin > 0 {
		cfg.Sectors, cfg.SectorPolicy = sectorSettings(s.Plant), sectorPolicy
	}
	if s.Validator {
		cfg.Validator = validation.Settings{MaxSlots: 1000}
	}
	s.Policy.apply(&cfg)
	if s.Policy.Quotas {
		cfg.Quota = s.drawQuota()
		cfg.Version = fmt.Sprintf(versionWithQuota, cfg.Quota)
	}
	return cfg
}

// start starts the host in the background, because its first append parks on the bus.
func (s *simulator) start(ctx context.Context) {
	log := s.hostLog()
	ports := s.ports(s.world, s.running)
	if s.Sectors.Begin > 0 {
		ports.Sectors = s.world.sectorPorts()
	}
	if s.Validator {
		ports.Validation = fakeValidation{s.world}
	}
	s.panics.forget()
	cfg := s.config()
	ctx, s.endLife = context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil { // Like an init system, it retries until the host starts.
			var host *actors.Host
			own := ports
			err := s.watch(ctx, &own)
			if err == nil {
				host, err = actors.Start(ctx, cfg, own, log)
			}
			switch {
			case err != nil:
				time.Sleep(time.Second)
			case ctx.Err() != nil:
				host.Kill()
			default:
				s.setHost(host)
				return
			}
		}
	}()
}

// hostLog is where hosts write their logs.
func (s *simulator) hostLog() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if s.Log != nil {
		log.SetOutput(s.Log)
	} else {
		log.SetLevel(logrus.PanicLevel)
	}
	return logrus.NewEntry(log)
}

// ports are those of a new process in a world.
func (s *simulator) ports(w *world, running func() *actors.Host) actors.Ports {
	p := actors.Ports{
		Market: fakeMarket{w}, Feed: fakeFeed{w}, Prover: fakeProver{w}, Repo: fakeRepo{w}, Content: fakeContent{w},
		Clock: wallClock{w}, Store: s.storeOf(w),
	}
	if s.Nodes {
		p.Rooms = []actors.Room{s.nodesRoom(w)}
	}
	if s.Alerts {
		p.Rooms = append(p.Rooms, s.alertsRoom(w))
	}
	if s.Aggregation.Cars > 0 {
		p.Rooms = append(p.Rooms, s.aggregationRoom(w, running))
	}
	return p
}

// wallClock is the bubble's fake time plus the error of the machine's clock.
type wallClock struct{ *world }

func (c wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skew)
}

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

// crash ends the host, even one that is still starting.
func (s *simulator) crash() {
	s.endLife()
	synctest.Wait() // So a start that has just succeeded notices.
	if h := s.running(); h != nil {
		h.Kill()
		s.setHost(nil)
	}
	s.forgive()
	clear(s.answered)
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if s.unwatch != nil {
		_ = s.unwatch() // What it did not write is lost.
		s.unwatch = nil
	}
	s.world.forgetHost()
	if s.chances != nil {
		s.chances.interrupt()
	}
}

// settle returns when every goroutine waits for the simulator or for time.
func (s *simulator) settle() {
	synctest.Wait()
	for s.bus.nextTask() {
		synctest.Wait()
	}
}

// run runs steps until every request is over and settled.
func (s *simulator) run(ctx context.Context) error {
	s.start(ctx)
	for s.steps = 0; s.steps < s.MaxSteps; s.steps++ {
		s.settle()
		if !s.offered && s.running() != nil {
			s.offered = true
			s.makeOffer(ctx, offer, s.bus, s.running)
			s.settle()
		}
		s.step(ctx)
		s.settle()
		if err := s.check(ctx); err != nil {
			return fmt.Errorf("step %d: %w", s.steps, err)
		}
		if len(s.posted) == s.Requests && s.steps%16 == 0 {
			done, err := s.over()
			if err != nil || done {
				return errors.Join(err, s.compareView(ctx))
			}
		}
	}
	_, err := s.over()
	return errors.Join(err, fmt.Errorf("the run did not end within %d steps: %s; %s; calls that wait: %v",
		s.MaxSteps, s.waits, s.world, s.bus))
}

// makeOffer puts space on offer, as an operator does.
func (s *simulator) makeOffer(ctx context.Context, offer events.AvailabilityID, b *bus, running func() *actors.Host) {
	h := running()
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
			if now := running(); now != nil {
				h = now
			}
			b.yield(ctx, "operator")
		}
	}()
}
