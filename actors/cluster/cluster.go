package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/sirupsen/logrus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/hostnode/hostnode/events"
)

// ErrRefused: this process may not be a member; the text says why. Trying again cannot help.
var ErrRefused = errors.New("refused as a member of the host")

// Cluster is one member of a host. It implements port.Cluster. All methods may be called at once.
type Cluster struct {
	cfg      checked
	instance string // tells processes with one name apart
	since    time.Time
	log      *logrus.Entry
	etcd     *clientv3.Client
	wire     *wire

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	joined chan struct{} // closed once it was taken as a member
	failed chan error    // has room for one
	heard  atomic.Bool   // etcd has answered

	handler atomic.Pointer[Handler] // nil until Serve

	mu        sync.Mutex
	peers     map[events.Member]Peer // without this member
	presence  *concurrency.Session   // the last one
	term      *concurrency.Session   // of the last campaign that was won
	away      error                  // why etcd does not know, since awaySince, that this member is here
	awaySince time.Time
}

// Open joins the members of a host. It starts to listen, and returns when the others were told. When
// etcd does not answer within a lease, it returns all the same, and goes on trying; Failed tells if it is refused then.
//
// ErrConfig: a setting is wrong. ErrRefused: another process has this name and is alive, or other members have other
// facts. After a member was killed, its name is free when its lease has expired; Open waits for that.
//
// Call it before anything else in the process that uses grpc, and once (package comment).
func Open(ctx context.Context, cfg Config, log *logrus.Entry) (*Cluster, error) {
	ok, err := cfg.check(log)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: ok, instance: uuid.NewString(), since: time.Now().UTC().Truncate(time.Second), log: log,
		joined: make(chan struct{}), failed: make(chan error, 1), peers: map[events.Member]Peer{},
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if c.wire, err = listen(c); err != nil {
		c.cancel()
		return nil, err
	}
	c.etcd, err = clientv3.New(etcdConfig(context.WithoutCancel(ctx), ok, log))
	if err != nil {
		c.cancel()
		c.wire.close()
		return nil, fmt.Errorf("%w: etcd: %w", ErrConfig, err)
	}
	c.tasks.Go(c.register)
	if len(ok.pairs) > 0 {
		c.tasks.Go(c.watchCertificates)
	}
	for waited := 1; ; waited++ {
		select {
		case <-c.joined:
			return c, nil
		case err := <-c.failed:
			c.Close()
			return nil, err
		case <-ctx.Done():
			c.Close()
			return nil, ctx.Err()
		case <-time.After(ok.Lease):
			if !c.heard.Load() || waited == mostLeases {
				log.WithField("etcd", ok.Etcd).Warn("etcd does not answer; the member joins the others once it does")
				return c, nil
			}
		}
	}
}

// etcdConfig is how etcd is asked.
func etcdConfig(ctx context.Context, c checked, log *logrus.Entry) clientv3.Config {
	options := []grpc.DialOption{
		// By default an etcd that was away for long is tried again every two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: again, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: mostConnecting,
		}),
	}
	if c.etcdTLS != nil {
		options = append(options, grpc.WithTransportCredentials(newConnErrors(c.etcdTLS, etcdHint, log)))
	}
	return clientv3.Config{
		Endpoints: c.Etcd, TLS: c.etcdTLS, Logger: zap.NewNop(), Context: ctx, DialOptions: options,
		DialKeepAliveTime: silent, DialKeepAliveTimeout: c.Lease,
	}
}

// mostLeases is how many leases Open waits for an etcd that answers, and for the lease of a process that had this name.
const mostLeases = 3

// Close leaves the others: they are told, if etcd answers within a second. Handlers of questions
// end with their contexts; Close waits for them.
func (c *Cluster) Close() {
	c.cancel()
	c.tasks.Wait()
	c.wire.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.mu.Lock()
	leases := []*concurrency.Session{c.term, c.presence}
	c.term, c.presence = nil, nil
	c.mu.Unlock()
	for _, s := range leases {
		if s != nil {
			_, _ = c.etcd.Revoke(ctx, s.Lease()) // It expires anyway.
		}
	}
	_ = c.etcd.Close()
}

// Failed tells once why the process can't be a member any more. It should then end.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Member implements port.Cluster.
func (c *Cluster) Member() events.Member { return c.cfg.Member }

// Seen implements port.Cluster. While etcd is away it is who was seen last.
func (c *Cluster) Seen() []events.Member { return c.those(func(Peer) bool { return true }) }

// MayOwn are the members that Seen tells and that may take the term.
func (c *Cluster) MayOwn() []events.Member { return c.those(func(p Peer) bool { return p.MayOwn }) }

func (c *Cluster) those(which func(Peer) bool) (all []events.Member) {
	for _, p := range c.Peers() {
		if which(p) {
			all = append(all, p.Member)
		}
	}
	return all
}

// LeaseAway says why etcd does not know that this member is alive, and since when; nil: it does. Until its lease has
// expired nobody notices.
func (c *Cluster) LeaseAway() (since time.Time, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awaySince, c.away
}

// setAway notes that etcd does not know this member, or that it does; it reports whether that is news.
func (c *Cluster) setAway(why error) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if news = (why == nil) != (c.away == nil); news {
		c.away, c.awaySince = why, time.Now()
	}
	return news
}

// Peers are the members that Seen tells, with what they say of themselves.
func (c *Cluster) Peers() []Peer {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.peers))
	c.mu.Unlock()
	all = append(all, c.self())
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(string(a.Member), string(b.Member)) })
	return all
}
