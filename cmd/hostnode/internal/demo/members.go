package demo

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
	"github.com/hostnode/hostnode/internal/retry"
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
	// actsTime is how long everything takes that is shown beside the outages, on a slow machine.
	actsTime = 80 * time.Second
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

// member is one process of the host.
type member struct {
	*host
	name     events.Member
	dir      datadir.Layout
	operator operator
	log      *os.File
	// down says that it was killed and is not started again yet.
	down atomic.Bool
}

// memberShow is a demonstration of members in progress.
type memberShow struct {
	*show
	options MemberOptions
	members []*member
	store   *host // the process of the event store
	storeAt string
	etcd    *localetcd.Server
	etcdAt  string

	filled atomic.Bool // chain time has its pace
	held   atomic.Bool // it stands still; only if Patient

	heard sync.Mutex // for what the logs told:
	slots map[uint64]*slotSeen
	kills []killed
}

// slotSeen is what the logs told of a slot.
type slotSeen struct {
	by     *member
	filled bool
	proofs int
}

// killed is when a member was killed and when it proved again, by the machine's clock and in chain time.
type killed struct {
	member   events.Member
	at       time.Time
	from, to time.Time // chain time; to is zero: it did not come back
}

// RunMembers runs the demonstration and returns its result. The error is nil only when the payout arrived,
// no proof was missed by a member that was alive, and the audit is clean.
func RunMembers(ctx context.Context, o MemberOptions) (MemberSummary, error) {
	if err := o.check(); err != nil {
		return MemberSummary{}, err
	}
	if err := o.begin(); err != nil {
		return MemberSummary{}, err
	}
	s := &memberShow{show: newShow(o.Options), options: o, slots: map[uint64]*slotSeen{}}
	return played(ctx, s.show, s.close, s.summarize, s.prepare, s.serve, s.play)
}

func (o MemberOptions) check() error {
	return cmp.Or(within("members", o.Members, leastMembers, len(memberNames)), o.limits(),
		within("away", o.Away, 0, mostAway), o.refuseSettings(withMore(fixed, fixedForMembers)))
}

func (s *memberShow) close() {
	for _, m := range s.members {
		_ = m.kill() // Only when something failed before it was stopped.
		_ = m.log.Close()
	}
	if s.store != nil {
		_ = s.store.kill()
	}
	if s.etcd != nil {
		s.etcd.Close()
	}
	s.show.close()
}

// prepare sets up data, keys, chain and accounts. There are as many periods as all that is shown needs.
func (s *memberShow) prepare(ctx context.Context) error {
	period := inClockTime(s.Config.Devchain.Period)
	s.Periods = max(s.Periods, int((actsTime+2*s.options.Away)*2/3/period))
	return s.show.prepare(ctx)
}

// serve starts event store and etcd, and makes the members, which are not started yet.
func (s *memberShow) serve(ctx context.Context) (err error) {
	if s.storeAt, err = freeAddress(); err != nil {
		return err
	}
	dir := filepath.Join(s.dir.Root, "eventstore")
	s.store = &host{
		binary: s.Binary, env: append(config.Foreign(os.Environ()), "HOSTNODE_LOG_FORMAT=json"),
		args:  []string{"eventstore", "--insecure", "--data-dir", dir, "--listen", s.storeAt},
		lines: make(chan line, 256),
	}
	if s.store.logTo, err = s.logOf("eventstore"); err != nil {
		return err
	}
	go func() {
		for range s.store.lines { // They are in the file.
		}
	}()
	if err := s.startStore(ctx); err != nil {
		return err
	}
	s.Config.EventStore.URL = "esdb://" + s.storeAt + "?tls=false"
	if s.etcd, err = localetcd.Start(filepath.Join(s.dir.Root, "etcd"), "127.0.0.1:0", localetcd.TLS{}); err != nil {
		return err
	}
	s.etcdAt = s.etcd.Addr()
	s.display.say("Event store: process %d at %s. etcd: in this process, at %s", s.store.pid(), s.storeAt, s.etcdAt)
	for _, name := range memberNames[:s.options.Members] {
		if err := s.addMember(ctx, name); err != nil {
			return err
		}
	}
	return nil
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

func (s *memberShow) logOf(name string) (*os.File, error) {
	path := filepath.Join(s.dir.Root, name+".log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	return f, nil
}

// startStore returns when the event store can be reached.
func (s *memberShow) startStore(ctx context.Context) error {
	if err := s.store.start(); err != nil {
		return fmt.Errorf("event store: %w", err)
	}
	for {
		if c, err := net.Dial("tcp", s.storeAt); err == nil {
			return c.Close()
		}
		if alive, died := s.store.alive(); !alive {
			return fmt.Errorf("%w: the event store: %w; see eventstore.log in %s",
				api.ErrDemoHostEnded, died, s.dir.Root)
		}
		if err := retry.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (s *memberShow) addMember(ctx context.Context, name events.Member) error {
	listen, err := freeAddress()
	if err != nil {
		return err
	}
	m := &member{name: name, dir: datadir.At(filepath.Join(s.dir.Root, string(name)))}
	if m.log, err = s.logOf(string(name)); err != nil {
		return err
	}
	c := s.memberConfig(name, listen)
	m.host = &host{
		binary: s.Binary, args: []string{"run"}, env: append(config.Foreign(os.Environ()), c.Environ()...),
		logTo: m.log, lines: make(chan line, 256),
	}
	m.operator = operator{api.NewClient(m.dir.Socket()), m.name}
	m.down.Store(true)
	s.members = append(s.members, m)
	go func() {
		for l := range m.lines { // Also after an interruption: it does not die while nobody reads its log.
			if ctx.Err() == nil {
				s.hear(m, l)
			}
		}
	}()
	return nil
}

// memberConfig is a member's configuration: the given settings, and those that the demonstration chooses.
func (s *memberShow) memberConfig(name events.Member, listen string) config.Config {
	c := s.hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.client.url)
	c.Account.KeyFile = node.KeyFile(s.Config)
	c.DataDir = filepath.Join(s.dir.Root, string(name))
	c.Cluster.Name, c.Cluster.Member, c.Cluster.Listen = clusterName, string(name), listen
	c.Cluster.Etcd.Endpoints = []string{"http://" + s.etcdAt}
	return c
}

// inClockTime is how long some chain time lasts by the machine's clock.
func inClockTime(chainTime time.Duration) time.Duration {
	return time.Duration(chainTime.Seconds() * float64(memberPace))
}
