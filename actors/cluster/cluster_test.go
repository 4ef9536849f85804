package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

var (
	_ port.Cluster = (*cluster.Cluster)(nil)
	_ port.Cluster = (*process)(nil)
)

const shortLease = 3 * time.Second

func TestClusterObeysItsPort(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	worlds := byte(0)
	porttest.Cluster(t, func(t *testing.T, test func(*testing.T, porttest.ClusterWorld)) {
		worlds++ // All of one etcd; each is a host of its own.
		w := newWorld(t, etcd.Addr(), events.Address{19: worlds})
		test(t, porttest.ClusterWorld{
			Members: w.names, Lease: shortLease, Largest: cluster.Largest,
			Of:    func(m events.Member) port.Cluster { return w.of(m) },
			Kill:  func(m events.Member) { w.of(m).kill() },
			Start: func(m events.Member) { w.start(m) },
			Cut:   func(m events.Member) { w.links[m].cut() },
			Heal:  func(m events.Member) { w.links[m].heal() },
		})
	})
}

// While etcd is away the members that were seen last still count as alive, so only this tells that it is.
func TestAMemberTellsThatEtcdDoesNotKnowIt(t *testing.T) {
	t.Parallel()
	way := newLink(t, startEtcd(t).Addr())
	p := startProcess(t, config("m1", events.Address{1}, way.addr())).mustOpen()
	away := func() (why string) {
		if err := p.call("LeaseAway", 0, &why); err != nil {
			t.Error(err)
		}
		return why
	}
	p.comesTo("be known to etcd", func() bool { return away() == "" })
	way.cut()
	p.comesTo("miss etcd", func() bool { return away() != "" })
	p.sees("m1")
	way.heal()
	p.comesTo("be known to etcd again", func() bool { return away() == "" })
}

// world is a host of three members.
type world struct {
	t       *testing.T
	names   []events.Member
	configs map[events.Member]cluster.Config
	links   map[events.Member]*link // to etcd
	mu      sync.Mutex
	running map[events.Member]*process
}

func newWorld(t *testing.T, etcd string, host events.Address) *world {
	w := &world{
		t: t, names: []events.Member{"m1", "m2", "m3"}, configs: map[events.Member]cluster.Config{},
		links: map[events.Member]*link{}, running: map[events.Member]*process{},
	}
	for _, m := range w.names {
		w.links[m] = newLink(t, etcd)
		w.configs[m] = config(m, host, w.links[m].addr())
		w.start(m)
	}
	for _, m := range w.names {
		w.of(m).sees(w.names...)
	}
	return w
}

func (w *world) start(m events.Member) {
	p := startProcess(w.t, w.configs[m]).mustOpen()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[m] = p
}

func (w *world) of(m events.Member) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[m]
}

func config(m events.Member, host events.Address, etcd string) cluster.Config {
	return cluster.Config{
		Name: "test", Host: host, Member: m, Version: "v1", Facts: map[string]string{"chain": "1"},
		Listen: freeAddress(), Etcd: []string{etcd}, Lease: shortLease,
	}
}

// freeAddress is a loopback address with a port that was free just now: a member must know its port before it listens. No
// connection of this machine gets a port from this range by itself.
func freeAddress() string {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
}

func startEtcd(t *testing.T) *localetcd.Server {
	t.Helper()
	etcd, err := localetcd.Start(t.TempDir(), "127.0.0.1:0", localetcd.TLS{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd
}

// link is a way to a server that can be cut: nothing gets through, and nobody is told.
type link struct {
	listener net.Listener
	mu       sync.Mutex
	open     chan struct{} // closed while what comes gets through
}

func newLink(t *testing.T, to string) *link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{listener: l, open: make(chan struct{})}
	close(k.open)
	t.Cleanup(func() { l.Close(); k.heal() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go k.join(from, to)
		}
	}()
	return k
}

func (k *link) addr() string { return k.listener.Addr().String() }

func (k *link) join(from net.Conn, address string) {
	<-k.gate()
	to, err := net.Dial("tcp", address)
	if err != nil {
		from.Close()
		return
	}
	go k.pass(from, to)
	k.pass(to, from)
}

// pass passes on what comes from one side while the link is open.
func (k *link) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		<-k.gate()
		if _, werr := to.Write(b[:n]); werr != nil || err != nil {
			return
		}
	}
}

func (k *link) gate() chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open
}

func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = make(chan struct{})
}

func (k *link) heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.open:
	default:
		close(k.open)
	}
}
