package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
)

// group simulates a host of several members: processes beside each other on one chain, with one
// event store and one account. The calls of each member park on a bus of its own, and all are
// released one at a time.
type group struct {
	*simulator
	fates   *rand.Rand // of members and their questions, so that other draws stay the same
	joined  *clusterfake.Host
	members []*process
	cut     map[[2]*process]int // steps at which a link works again
	// What the record says of them.
	hosts  membership.State
	terms  map[uint64]uint64        // the newest term of each epoch
	names  map[uint64]events.Member // of each epoch
	wrote  map[string]uint64        // the newest term in which each stream of the owner was written
	handed map[attempts]int         // how often a slot was handed out to a member
	began  map[attempts]int         // how often the member began to sell it
	// takenBack: a deposed owner released a slot of the member. The new one may have read the queue before.
	takenBack map[attempts]bool
	due       map[duePast]bool // what was due at some time: a question may be late
	asked     map[duePast]bool // what was asked for before it could be recorded; guarded by the world's lock
	made      map[made]bool
	termsAt   uint64                   // the block at which the owner changed last
	filled    map[events.SlotID]uint64 // the block at which it was recorded that a slot is ours
	refills   map[events.SlotID]uint32 // the attempt of each slot that was sent to fill it again
}

// attempts are those of a member at a slot.
type attempts struct {
	slot   events.SlotID
	member events.Member
}

// made is something that was done once at an attempt.
type made struct {
	attempts
	attempt uint32
	kind    string
}

// duePast is a proof that was due at some time.
type duePast struct {
	slot   events.SlotID
	period uint64
	proof  events.Proof
}

// process is one member of a group, through all its processes.
type process struct {
	name       events.Member
	withoutKey bool
	world      *world
	bus        *bus
	endLife    context.CancelFunc
	life       context.Context //nolint:containedctx // That of its process, which questions to it outlive.
	host       *actors.Host    // guarded by the world's lock
	account    *Account
	offered    bool
	booted     bool         // when it was looked at last
	stopped    *actors.Host // in good order, and perhaps not yet
	// Steps: it is started again; it is no longer cut off; it reads the record again. 0: it is well.
	down, apart, behind int
	// Blocks: since which nothing was wrong with it, and since which it reaches the others.
	well, linked uint64
}

// lease is how long a member that does not answer counts as alive.
const lease = 5 * time.Second

// memberNames are of the members, at most so many.
var memberNames = []events.Member{"east", "south", "west"}

func newGroup(s *simulator, seed uint64) *group {
	g := &group{
		simulator: s, fates: rand.New(rand.NewPCG(seed, 11)), joined: clusterfake.New(lease), cut: map[[2]*process]int{},
		terms: map[uint64]uint64{}, names: map[uint64]events.Member{}, wrote: map[string]uint64{},
		handed: map[attempts]int{}, began: map[attempts]int{}, due: map[duePast]bool{}, asked: map[duePast]bool{},
		filled: map[events.SlotID]uint64{}, refills: map[events.SlotID]uint32{},
		takenBack: map[attempts]bool{}, made: map[made]bool{},
	}
	own := s.world.owning
	own.shared, own.repeats, own.gullible = s.Plant.Deaf, s.Plant.Nameless, s.Plant.Gullible
	for i, name := range memberNames[:s.Members.Count] {
		m := &process{name: name, world: s.world, bus: s.bus}
		if i > 0 {
			m.bus = &bus{}
			m.world = s.world.beside(m.bus)
		}
		g.members = append(g.members, m)
	}
	g.members[len(g.members)-1].withoutKey = s.Members.WithoutKey
	s.audit.judge, s.audit.holds, s.lastly = g.judge, g.holds, g.membersAtTheEnd
	return g
}

// start starts a member in the background, as simulator.start does.
func (g *group) start(ctx context.Context, m *process) {
	m.down = 0
	m.life, m.endLife = context.WithCancel(ctx)
	ctx = m.life
	log := g.hostLog().WithField("member", m.name)
	log.Logger.AddHook(panicHook{m.world})
	log.Logger.SetLevel(max(log.Logger.Level, logrus.ErrorLevel))
	m.account = m.world.newAccount()
	ports := g.ports(m.world, m.running)
	ports.Store = memberStore{g.storeOf(m.world), m, g.Plant}
	if !m.withoutKey {
		ports.Account = m.account
	}
	ports.Cluster = wire{g.joined.Start(m.name), g, m}
	cfg := g.config()
	cfg.Node, cfg.Yield = "sim-"+string(m.name), m.bus.yield
	go func() {
		for ctx.Err() == nil {
			host, err := actors.Start(ctx, cfg, ports, log)
			switch {
			case err != nil:
				time.Sleep(time.Second)
			case ctx.Err() != nil:
				host.Kill()
			default:
				m.setHost(host)
				return
			}
		}
	}()
}

// panicHook notes a panic, which nothing in these worlds excuses.
type panicHook struct{ world *world }

func (panicHook) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

func (h panicHook) Fire(e *logrus.Entry) error {
	if strings.HasPrefix(e.Message, "panic: ") {
		h.world.promise(broken(HostLives, "%s", e.Message), "", 0)
	}
	return nil
}

func (m *process) setHost(h *actors.Host) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	m.host = h
}

func (m *process) running() *actors.Host {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.host
}

// kill ends a member like a power cut, even one that is still starting.
func (g *group) kill(m *process) {
	g.crashes++
	g.joined.Kill(m.name)
	synctest.Wait()
	m.endLife()
	synctest.Wait()
	if h := cmp.Or(m.running(), m.stopped); h != nil {
		h.Kill()
		m.setHost(nil)
	}
	synctest.Wait()
	m.apart, m.behind, m.booted, m.stopped = 0, 0, false, nil
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	m.world.forgetHost()
	m.world.account = nil
	m.account = nil
}

func (g *group) crashAll() {
	for _, m := range g.members {
		if m.down == 0 || m.stopped != nil {
			g.kill(m)
		}
	}
}

// settle returns when every goroutine waits for the simulator or for time.
func (g *group) settle() {
	synctest.Wait()
	for g.nextTask() {
		synctest.Wait()
	}
}

func (g *group) nextTask() bool {
	for _, m := range g.members {
		if m.bus.nextTask() {
			return true
		}
	}
	return false
}

// run runs steps until every request is over and settled.
func (g *group) run(ctx context.Context) error {
	for _, m := range g.members { // One after the other, so that the first one has the first term.
		g.start(ctx, m)
		g.settle()
	}
	for g.steps = 0; g.steps < g.MaxSteps; g.steps++ {
		g.settle()
		for i, m := range g.members {
			if !m.offered && m.running() != nil {
				m.offered = true
				g.makeOffer(ctx, events.AvailabilityID{0x0f, byte(i + 1)}, m.bus, m.running)
				g.settle()
			}
		}
		g.step(ctx)
		g.settle()
		if err := g.check(ctx); err != nil {
			return fmt.Errorf("step %d: %w", g.steps, err)
		}
		if len(g.posted) == g.Requests && g.steps%16 == 0 {
			done, err := g.over()
			if err != nil || done {
				return errors.Join(err, g.compareView(ctx))
			}
		}
	}
	_, err := g.over()
	return errors.Join(err, fmt.Errorf("the run did not end within %d steps: %s; calls that wait: %v",
		g.MaxSteps, g.waits, g.ready(true)))
}
