package demo

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

// MemberOptions say what to demonstrate of a host that several processes run together. Of Options,
// Kill is not used; Crash kills the owner once.
type MemberOptions struct {
	Options
	// Members is how many processes run the host.
	Members int
	// Away is how long first the event store and then etcd are away; 0: they are not.
	Away time.Duration
	// Patient, for tests, lets chain time wait for the members that live, and stand still while nobody is
	// the owner, or a member starts.
	Patient bool
	// Look, for tests, is called when all slots are proven, and again when all sales are settled, with the
	// environment and the data directories of the members.
	Look func(env []string, dirs []string)
}

// memberNames are the names of the members, in the order in which they start.
var memberNames = []events.Member{"north", "south", "west", "east", "middle"}

const (
	leastMembers = 2
	mostAway     = 5 * time.Minute
	// memberPace is the time between two blocks, each a second of chain time, from the first fill on.
	memberPace = 500 * time.Millisecond
	// stepsTime is how long everything takes that is shown beside the outages, on a slow machine.
	stepsTime = 80 * time.Second
	// clusterName is that of the demonstration's cluster.
	clusterName = "demo"
)

// fixedForMembers are further settings that the demonstration of members chooses itself, and why.
var fixedForMembers = map[string]string{
	"eventStore.url":          "it brings its own event store",
	"eventStore.passwordFile": "it brings its own event store",
	"cluster.name":            "it names its members itself",
	"cluster.member":          "it names its members itself",
	"cluster.listen":          "its members are on this machine",
	"cluster.advertise":       "its members are on this machine",
	"cluster.etcd.endpoints":  "it brings its own etcd",
}

// memberDemo is a demonstration of members in progress.
type memberDemo struct {
	*saleDemo
	options MemberOptions
	store   *host // the process of the event store
	storeAt string
	etcd    *localetcd.Server
	etcdAt  string
	filled  atomic.Bool // chain time has its pace
}

// RunMembers runs the demonstration and returns its result. The error is nil only when the payout arrived,
// no proof was missed by a member that was alive, and the audit is clean.
func RunMembers(ctx context.Context, o MemberOptions) (MemberSummary, error) {
	if err := o.check(); err != nil {
		return MemberSummary{}, err
	}
	if err := o.begin(madeBytes, o.fits); err != nil {
		return MemberSummary{}, err
	}
	// There are as many periods as all that is shown needs.
	o.Periods = max(o.Periods, int((stepsTime+2*o.Away)*2/3/inClockTime(o.Config.Devchain.Period)))
	s := &memberDemo{saleDemo: newSale(o.Options), options: o}
	return run(ctx, s.engine, s.summarize, s.prepare, s.start, s.offer, s.post, s.prove, s.look,
		s.loseOwner, s.loseStore, s.loseEtcd, s.comeBack, s.settle, s.look, s.stop)
}

func (o MemberOptions) check() error {
	return cmp.Or(inRange("members", o.Members, leastMembers, len(memberNames)), o.limits(),
		inRange("away", o.Away, 0, mostAway), o.refuseSettings(fixed, fixedForMembers))
}

// start starts event store and etcd, and then the members.
func (s *memberDemo) start(ctx context.Context) (err error) {
	if s.storeAt, err = freeAddress(); err != nil {
		return err
	}
	s.store, err = s.child("eventstore", []string{"HOSTNODE_LOG_FORMAT=json"},
		"eventstore", "--insecure", "--data-dir", filepath.Join(s.dir.Root, "eventstore"), "--listen", s.storeAt)
	if err != nil {
		return err
	}
	if err := s.startStore(ctx); err != nil {
		return err
	}
	s.Config.EventStore.URL = "esdb://" + s.storeAt + "?tls=false"
	if err := s.startEtcd("127.0.0.1:0"); err != nil {
		return err
	}
	s.closers = append(s.closers, func() { s.etcd.Close() })
	s.etcdAt = s.etcd.Addr()
	s.display.say("Event store: process %d at %s. etcd: in this process, at %s", s.store.pid(), s.storeAt, s.etcdAt)
	for _, name := range memberNames[:s.options.Members] {
		listen, err := freeAddress()
		if err != nil {
			return err
		}
		c := s.hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.client.url)
		c.Account.KeyFile = node.KeyFile(s.Config)
		c.DataDir = filepath.Join(s.dir.Root, string(name))
		c.Cluster.Name, c.Cluster.Member, c.Cluster.Listen = clusterName, string(name), listen
		c.Cluster.Etcd.Endpoints = []string{"http://" + s.etcdAt}
		if err := s.addHost(name, c); err != nil {
			return err
		}
	}
	return s.engine.start(ctx, s.pace())
}

// startStore returns when the event store can be reached.
func (s *memberDemo) startStore(ctx context.Context) error {
	if err := s.store.start(); err != nil {
		return fmt.Errorf("event store: %w", err)
	}
	return s.until(ctx, "the event store answers", func(context.Context) (bool, error) {
		if c, err := net.Dial("tcp", s.storeAt); err == nil {
			return true, c.Close()
		}
		if alive, died := s.store.alive(); !alive {
			return false, fmt.Errorf("%w: the event store: %w; see %s", problem.ErrDemoHostEnded, died, s.store.log)
		}
		return false, nil
	})
}

func (s *memberDemo) startEtcd(address string) error {
	etcd, err := localetcd.Start(filepath.Join(s.dir.Root, "etcd"), address, localetcd.TLS{})
	if err == nil {
		s.etcd = etcd
	}
	return err
}

// freeAddress is an address on this machine at which nobody listens now. Its port is below those that systems give to
// connections of their own, one of which might take it before it is used.
func freeAddress() (string, error) {
	var failed error
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		failed = err
	}
	return "", fmt.Errorf("look for a free port: %w", failed)
}

// inClockTime is how long some chain time lasts by the machine's clock.
func inClockTime(chainTime time.Duration) time.Duration {
	return time.Duration(chainTime.Seconds() * float64(memberPace))
}

// pace is that of chain time: until the first slot is filled it waits for the members; from then on a block comes
// at each interval of the machine's clock, whatever the members do.
func (s *memberDemo) pace() devchain.Pacer {
	waiting, fixed := s.engine.pace(), devchain.FixedPace(memberPace)
	return func(ctx context.Context) error {
		if s.options.Patient || !s.filled.Load() {
			return waiting(ctx)
		}
		return fixed(ctx)
	}
}

// wait waits until something is so, which must be before the request is over.
func (s *memberDemo) wait(ctx context.Context, what string, is func(context.Context) bool) error {
	return s.until(ctx, what, func(ctx context.Context) (bool, error) {
		if is(ctx) {
			return true, nil
		}
		over, err := s.over(ctx)
		if err == nil && over && !is(ctx) {
			err = fmt.Errorf("%w: the request was over before %s; the machine has much else to do, perhaps a longer "+
				"--devchain-period helps", problem.ErrDemoIncomplete, what)
		}
		return false, err
	})
}

// prove returns when each slot was proven.
func (s *memberDemo) prove(ctx context.Context) error {
	err := s.wait(ctx, "the first slot is filled", func(context.Context) bool {
		return slices.ContainsFunc(s.slots, func(slot slotLog) bool { return slot.filled })
	})
	if err != nil {
		return err
	}
	s.filled.Store(true)
	if !s.options.Patient {
		period := s.Config.Devchain.Period
		s.display.say("Chain: from now on a block each %s, which is a second of chain time, whatever happens; a "+
			"period is %s of chain time, %s by the clock; the probability of a proof is 1 in %d, outside of downtime",
			memberPace, period, inClockTime(period), proofProbability)
	}
	return s.wait(ctx, "each slot is proven", func(context.Context) bool { return s.eachProven() })
}

// look lets tests look.
func (s *memberDemo) look(context.Context) error {
	if s.options.Look != nil {
		var dirs []string
		for _, h := range s.living() {
			dirs = append(dirs, h.dir.Root)
		}
		s.options.Look(s.hosts[0].env, dirs)
	}
	return nil
}

// owner asks the living members who has the term, and since when; they read it in the record.
func (s *memberDemo) owner(ctx context.Context) (*host, time.Time) {
	for _, h := range s.living() {
		all, err := within(ctx, h.operator, api.ListMembers, api.Then{})
		if err != nil || all.Term == nil || !all.Term.Ended.IsZero() {
			continue
		}
		i := slices.IndexFunc(s.hosts, func(h *host) bool { return string(h.name) == all.Term.Member })
		if i >= 0 {
			return s.hosts[i], all.Term.Since
		}
	}
	return nil, time.Time{}
}

// loseOwner kills the owner, and returns when another one has the term and a proof was taken since.
func (s *memberDemo) loseOwner(ctx context.Context) error {
	if !s.Crash {
		return nil
	}
	var owner, next *host
	var since time.Time
	err := s.wait(ctx, "a member is the owner", func(ctx context.Context) bool {
		owner, _ = s.owner(ctx)
		return owner != nil
	})
	if err != nil {
		return err
	}
	s.held.Store(s.options.Patient)
	owner.down.Store(true)
	if err := s.kill(ctx, owner); err != nil {
		return err
	}
	s.display.say("SIGKILL to %s, process %d, which runs the queue and the transactions", owner.title(), owner.pid())
	err = s.wait(ctx, "another member takes the term", func(ctx context.Context) bool {
		next, since = s.owner(ctx)
		return next != nil && next != owner
	})
	if err != nil {
		return err
	}
	s.display.say("Owner: %s, %.1f s after %s was killed", next.name, since.Sub(s.kills[0].at).Seconds(), owner.name)
	s.held.Store(false)
	return s.proveAgain(ctx)
}

// proveAgain waits for a proof of the members that live, if they have slots.
func (s *memberDemo) proveAgain(ctx context.Context) error {
	lives := func(h *host) bool { return !h.down.Load() }
	return s.provesAgain(ctx, "a living member", s.proofsOf(lives), lives)
}

// provesAgain waits until some of the members have more proofs than before, if they have slots.
func (s *memberDemo) provesAgain(ctx context.Context, who string, before int, is func(*host) bool) error {
	if !slices.ContainsFunc(s.slots, func(slot slotLog) bool { return is(slot.by) }) {
		return nil
	}
	return s.wait(ctx, who+" proves again", func(context.Context) bool { return s.proofsOf(is) > before })
}

// loseStore kills the event store's process and starts it again later.
func (s *memberDemo) loseStore(ctx context.Context) error {
	pid := s.store.pid()
	return s.lose(ctx, fmt.Sprintf("SIGKILL to the event store, process %d", pid), s.store.kill, func() error {
		if err := s.startStore(ctx); err != nil {
			return err
		}
		s.display.say("Event store: started again as process %d", s.store.pid())
		return s.wait(ctx, "all members have their event store again", func(ctx context.Context) bool {
			for _, h := range s.living() {
				if p, err := h.operator.progress(ctx); err != nil || p.Away {
					return false
				}
			}
			owner, _ := s.owner(ctx)
			return owner != nil
		})
	})
}

// loseEtcd ends etcd and starts it again later.
func (s *memberDemo) loseEtcd(ctx context.Context) error {
	return s.lose(ctx, "etcd has ended", func() error { s.etcd.Close(); return nil }, func() error {
		err := s.startEtcd(s.etcdAt)
		s.display.say("etcd: started again with its data")
		return err
	})
}

// lose lets something be away for a while, and returns when a proof was taken since it is back.
func (s *memberDemo) lose(ctx context.Context, what string, end, start func() error) error {
	if s.options.Away == 0 {
		return nil
	}
	if err := end(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.display.say("%s; it is away for %s", what, s.options.Away)
	if err := s.pause(ctx, s.options.Away); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	return s.proveAgain(ctx)
}

// comeBack starts the killed member again, and returns when it has proven what it hosts.
func (s *memberDemo) comeBack(ctx context.Context) error {
	for i := range s.kills {
		h := s.kills[i].host
		itself := func(other *host) bool { return other == h }
		before := s.proofsOf(itself)
		s.held.Store(s.options.Patient)
		if err := s.startHost(h); err != nil {
			return err
		}
		s.display.say("%sis back and goes on from the record", h.prefix(""))
		err := s.wait(ctx, h.title()+" runs", func(ctx context.Context) bool {
			p, err := h.operator.progress(ctx)
			return err == nil && !p.Away && p.Head > 0
		})
		if err != nil {
			return err
		}
		s.kills[i].to = s.local.Head().Time
		s.held.Store(false)
		if err := s.provesAgain(ctx, h.title(), before, itself); err != nil {
			return err
		}
	}
	s.display.say("All of it was shown; now the request runs out.")
	return nil
}
