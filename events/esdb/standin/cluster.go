package standin

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// Cluster is some nodes over one store, which holds what is committed. Its
// methods are safe for concurrent use.
type Cluster struct {
	// Store is what is committed.
	Store events.Store

	t       testing.TB
	backend backend // of Store
	nodes   []*node

	mu     sync.Mutex
	leader int // -1: an election is under way
	deaf   bool
	// fate decides what becomes of each append to the leader; nil: it is done.
	fate func(stream string) Fate
	// tail is what a leader that is cut off has not committed, in order.
	cut  bool
	tail []proposal
	// heals is the number of further appends after which the cut ends by itself; 0: never.
	heals  int
	commit bool
}

// Fate is what becomes of an append.
type Fate int

const (
	// Done is written and answered.
	Done Fate = iota
	// NotReady is refused as by a node that takes nothing now.
	NotReady
	// Lost is neither written nor answered.
	Lost
	// Unanswered is written and not answered.
	Unanswered
	// OddError: answered with an error that says nothing, and not written.
	OddError
	// NoResult: answered with neither error nor success, and not written.
	NoResult
	// OddSuccess: answered with success at an impossible revision, and not written.
	OddSuccess

	// At a leader that is cut off, a kept append is in its log and not committed, and a
	// refused one was judged by that log. What is in the log already is Lost.
	kept
	refused
)

// proposal is an append that a leader has in its log and has not committed.
type proposal struct {
	stream   string
	expected events.Expected
	batch    []events.NewEvent
}

// backend are the clients of a server that holds a store.
type backend struct {
	streams  streams.StreamsClient
	features serverfeatures.ServerFeaturesClient
}

// New starts a cluster of n nodes over a store; the first node leads. The cluster
// ends with the test, which closes the store.
func New(t testing.TB, store events.Store, n int) *Cluster {
	t.Helper()
	c := &Cluster{Store: store, t: t, backend: serve(t, store)}
	for i := range n {
		c.nodes = append(c.nodes, &node{c: c, index: i})
		c.nodes[i].listen("127.0.0.1:0")
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.Kill(i)
		}
	})
	return c
}

// serve serves a store until the test ends.
func serve(t testing.TB, store events.Store) backend {
	t.Helper()
	server, err := wire.New(wire.Config{
		Store: store, Anonymous: wire.RoleAdmin, Limits: wire.Limits{CloseTime: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()   // Nothing is under way on it.
		_ = server.Close() // That calls were cut is no fault.
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return backend{streams.NewStreamsClient(conn), serverfeatures.NewServerFeaturesClient(conn)}
}

// maxMessage is the largest message, the same as the client's.
const maxMessage = 17 << 20

// URLOf is the connection string of one node.
func (c *Cluster) URLOf(i int) string { return "esdb://" + c.nodes[i].address + "?tls=false" }

// URL is the connection string of all nodes.
func (c *Cluster) URL() string {
	all := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = n.address
	}
	return "esdb://" + strings.Join(all, ",") + "?tls=false"
}

// Decide sets the function that decides the fate of each append to the leader; nil:
// all are done. It is called by many goroutines.
func (c *Cluster) Decide(fate func(stream string) Fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fate = fate
}

// Elect leaves the cluster without a leader until Lead: each node refuses calls
// that demand the leader. Deaf nodes ignore that demand for reads, as if something
// between the client and them removed it.
func (c *Cluster) Elect(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader, c.deaf = -1, deaf
}

// Lead makes a node the leader. What another leader had not committed is truncated.
func (c *Cluster) Lead(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i != c.leader {
		c.cut, c.tail = false, nil
	}
	c.leader, c.deaf = i, false
}

// CutOff separates the leader from the other nodes until Heal; clients still reach it.
func (c *Cluster) CutOff() { c.CutOffFor(0, false) }

// CutOffFor is CutOff that ends by itself after this many appends to the leader.
func (c *Cluster) CutOffFor(appends int, commit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.heals, c.commit = true, appends, commit
}

// Heal joins the leader with the other nodes again. Its tail is committed, or
// truncated because they had elected another leader meanwhile. It returns the number
// of appends in the tail.
func (c *Cluster) Heal(commit bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heal(commit)
}

// heal is Heal with the lock held.
func (c *Cluster) heal(commit bool) int {
	tail := c.tail
	c.cut, c.tail = false, nil
	if !commit {
		return len(tail)
	}
	for _, p := range tail {
		if _, err := c.Store.Append(c.t.Context(), p.stream, p.expected, p.batch); err != nil {
			c.t.Errorf("stand-in: commit an append to %s: %v", p.stream, err)
		}
	}
	return len(tail)
}

// StandStill keeps a node at what is committed now; it serves that to calls that
// do not demand the leader.
func (c *Cluster) StandStill(i int) {
	old := storetest.NewMemory()
	for r, err := range c.Store.ReadAll(c.t.Context(), 0, 0) {
		if err == nil {
			_, err = old.Append(c.t.Context(), r.Stream, events.Any(), []events.NewEvent{{
				ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta, Foreign: r.Foreign, Binary: r.Binary,
			}})
		}
		if err != nil {
			c.t.Fatalf("stand-in: copy what is committed: %v", err)
		}
	}
	still := serve(c.t, old)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i].still, c.nodes[i].old = &still, old
}

// Freeze stops a node: it takes connections and calls and says nothing until Thaw. It stands still
// from then on. It does not change who leads.
func (c *Cluster) Freeze(i int) {
	c.nodes[i].freeze()
	c.StandStill(i)
}

// Thaw lets a frozen node go on. For a while it believes that it leads: it answers calls that
// demand the leader from the log that it had, judges appends by that log and acknowledges
// none. After that it follows.
func (c *Cluster) Thaw(i int, believes time.Duration) {
	c.mu.Lock()
	c.nodes[i].believes = time.Now().Add(believes)
	c.mu.Unlock()
	c.nodes[i].thaw()
}

// Kill ends a node's process. It does not change who leads.
func (c *Cluster) Kill(i int) { c.nodes[i].kill() }

// Start starts a killed node again, at its address.
func (c *Cluster) Start(i int) { c.nodes[i].listen(c.nodes[i].address) }

// now returns the state of a node.
func (c *Cluster) now(n *node) (leads, election, deaf bool, still *backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader == n.index || c.believes(n), c.leader < 0, c.deaf, n.still
}

// believes reports whether a node that was thawed takes itself for the leader. The lock is held.
func (c *Cluster) believes(n *node) bool {
	if n.believes.IsZero() {
		return false
	}
	if time.Now().Before(n.believes) && c.leader != n.index {
		return true
	}
	n.believes, n.still, n.old = time.Time{}, nil, nil
	return false
}

// members returns what a node says of its cluster.
func (c *Cluster) members(asked *node) (all []*gossip.MemberInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	leader := c.leader
	if c.believes(asked) {
		leader = asked.index
	}
	for i, n := range c.nodes {
		state := gossip.MemberInfo_Follower
		switch leader {
		case -1:
			state = gossip.MemberInfo_Unknown
		case i:
			state = gossip.MemberInfo_Leader
		}
		all = append(all, &gossip.MemberInfo{State: state, IsAlive: n.lives(), HttpEndPoint: n.endPoint()})
	}
	return all
}

// rule decides the fate of an append to a node, and why it is refused if it is.
func (c *Cluster) rule(n *node, p proposal) (Fate, *events.WrongRevisionError) {
	c.mu.Lock()
	fate, election := c.fate, c.leader < 0
	if c.believes(n) {
		old := n.old
		c.mu.Unlock()
		if wrong := p.judge(c.t.Context(), old, nil); wrong != nil {
			return refused, wrong
		}
		return kept, nil
	}
	if c.cut {
		defer c.mu.Unlock()
		switch wrong, repeated := c.judge(p); {
		case wrong != nil:
			return refused, wrong
		case repeated:
			return Lost, nil
		}
		return kept, nil
	}
	c.mu.Unlock()
	switch {
	case election:
		return NotReady, nil
	case fate != nil:
		return fate(p.stream), nil
	}
	return Done, nil
}

// judge decides as a leader that is cut off: no error when it keeps the append in its
// log, or has it already.
func (c *Cluster) judge(p proposal) (wrong *events.WrongRevisionError, repeated bool) {
	if c.heals--; c.heals == 0 {
		defer c.heal(c.commit)
	}
	for _, known := range c.tail {
		if known.stream == p.stream && len(p.batch) > 0 &&
			slices.EqualFunc(known.batch, p.batch, func(a, b events.NewEvent) bool { return a.ID == b.ID }) {
			return nil, true
		}
	}
	if wrong := p.judge(c.t.Context(), c.Store, c.tail); wrong != nil {
		return wrong, false
	}
	c.tail = append(c.tail, p)
	return nil, false
}

// judge compares what an append expects with a log and what comes after it.
func (p proposal) judge(ctx context.Context, log events.Store, tail []proposal) *events.WrongRevisionError {
	count := uint64(0)
	for r, err := range log.ReadStream(ctx, p.stream, events.ReadStream{From: events.End, Backward: true, Limit: 1}) {
		if err == nil {
			count = r.Revision + 1
		}
	}
	for _, known := range tail {
		if known.stream == p.stream {
			count += uint64(len(known.batch))
		}
	}
	if want, exact := p.expected.Count(); exact && want != count {
		return &events.WrongRevisionError{
			Stream: p.stream, Expected: p.expected, Actual: max(count, 1) - 1, Exists: count > 0,
		}
	}
	return nil
}

// String says who leads, for a failing test.
func (c *Cluster) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("leader %d, cut off %t, %d appends not committed", c.leader, c.cut, len(c.tail))
}
