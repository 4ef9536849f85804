package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// What a member tells etcd, and learns from it: who the members are, and who holds the term (package comment).

// Peer is what a member says of itself.
type Peer struct {
	Member   events.Member     `json:"-"`
	Address  string            `json:"address"` // where it listens
	Version  string            `json:"version,omitempty"`
	Since    time.Time         `json:"since"`
	Instance string            `json:"instance"` // tells processes with one name apart
	MayOwn   bool              `json:"mayOwn"`
	Facts    map[string]string `json:"facts"`
	// Authorities are those whose certificates it believes (Files.authorities); none: an older version does not say.
	Authorities []string `json:"authorities,omitempty"`
}

func (p Peer) String() string {
	return fmt.Sprintf("%s at %s, since %s", p.Member, p.Address, p.Since.Format(time.RFC3339))
}

// self is what this member says of itself.
func (c *Cluster) self() Peer {
	return Peer{
		Member: c.cfg.Member, Address: c.cfg.Advertise, Version: c.cfg.Version, Since: c.since,
		Instance: c.instance, MayOwn: c.cfg.MayOwn, Facts: c.cfg.facts,
		Authorities: c.cfg.authorities,
	}
}

// prefix begins all keys of the host.
func (c *Cluster) prefix() string { return fmt.Sprintf("/hostnode/%s/%s/", c.cfg.Name, c.cfg.Host) }

func (c *Cluster) members() string { return c.prefix() + "members/" }

// parse reads what a member says of itself.
func (c *Cluster) parse(kv *mvccpb.KeyValue) (Peer, error) {
	m, err := events.ParseMember(strings.TrimPrefix(string(kv.Key), c.members()))
	if err != nil {
		return Peer{}, err
	}
	p := Peer{Member: m}
	err = json.Unmarshal(kv.Value, &p)
	return p, err
}

// register keeps this member registered in etcd and follows which others are, until Close or until it is refused.
func (c *Cluster) register() {
	joined := sync.OnceFunc(func() { close(c.joined) })
	for c.ctx.Err() == nil {
		s, found, err := c.join()
		if errors.Is(err, ErrRefused) {
			_ = c.Resign(c.ctx)
			c.failed <- err
			return
		}
		if err != nil {
			if c.ctx.Err() == nil && c.setAway(err) {
				c.log.WithError(err).Warn("cannot tell etcd that this member is here; trying again until it answers")
			}
			_ = retry.Sleep(c.ctx, again)
			continue
		}
		if c.setAway(nil) {
			c.log.Info("etcd knows again that this member is here")
		}
		joined()
		c.follow(s, found)
	}
}

// join puts what this member says of itself under a new lease. It returns the members at that moment.
func (c *Cluster) join() (*concurrency.Session, *clientv3.GetResponse, error) {
	key := c.members() + string(c.cfg.Member)
	before, err := c.get(key)
	if err != nil {
		return nil, nil, err
	}
	c.heard.Store(true)
	unchanged := clientv3.Compare(clientv3.ModRevision(key), "=", 0)
	for _, kv := range before.Kvs {
		p, err := c.parse(kv)
		if err != nil || p.Instance != c.instance {
			return nil, nil, c.awaitName(kv, p)
		}
		unchanged = clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)
	}
	value, _ := json.Marshal(c.self()) // Texts, a flag and the time of this start.
	s, err := c.session(c.ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Lease)
	defer cancel()
	done, err := c.etcd.Txn(ctx).If(unchanged).
		Then(clientv3.OpPut(key, string(value), clientv3.WithLease(s.Lease())),
			clientv3.OpGet(c.members(), clientv3.WithPrefix())).
		Commit()
	if err == nil && !done.Succeeded {
		err = fmt.Errorf("the name %s was taken at the same moment", c.cfg.Member)
	}
	var found *clientv3.GetResponse
	if err == nil {
		found = (*clientv3.GetResponse)(done.Responses[1].GetResponseRange())
		found.Header = done.Header
		err = c.refusedBy(found)
	}
	if err != nil {
		_ = c.giveUp(c.ctx, s)
		return nil, nil, err
	}
	c.mu.Lock()
	c.presence = s
	c.mu.Unlock()
	return s, found, nil
}

// get reads a key, or all that begin with it.
func (c *Cluster) get(key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Lease)
	defer cancel()
	return c.etcd.Get(ctx, key, opts...)
}

// awaitName waits until the lease of another process with our name has expired. ErrRefused: it is kept alive.
func (c *Cluster) awaitName(kv *mvccpb.KeyValue, other Peer) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Lease)
	defer cancel()
	lease, err := c.etcd.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
	if err != nil {
		return err
	}
	// etcd looks for expired leases twice a second.
	left := time.Duration(max(lease.TTL, 0))*time.Second + 2*time.Second
	ctx, cancel = context.WithTimeout(c.ctx, left)
	defer cancel()
	for r := range c.etcd.Watch(ctx, string(kv.Key), clientv3.WithRev(kv.ModRevision+1)) {
		if r.Err() != nil || len(r.Events) > 0 {
			return errors.New("the name became free") // Or not: look again.
		}
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	now, err := c.get(string(kv.Key))
	if err != nil || len(now.Kvs) == 0 || now.Kvs[0].ModRevision != kv.ModRevision {
		return errors.Join(err, errors.New("the name became free"))
	}
	return fmt.Errorf("%w: another process runs as member %s; stop it, or give this one another name",
		ErrRefused, other)
}

// refusedBy tells whether a member that was here before us has other facts.
func (c *Cluster) refusedBy(found *clientv3.GetResponse) error {
	before := found.Header.Revision
	for _, kv := range found.Kvs {
		if p, err := c.parse(kv); err == nil && p.Instance == c.instance {
			before = kv.CreateRevision
		}
	}
	for _, kv := range found.Kvs {
		if kv.CreateRevision >= before {
			continue
		}
		p, err := c.parse(kv)
		if err != nil {
			return fmt.Errorf("%w: what member %s says of itself is not readable: %w; if no member of this host wrote "+
				"it, delete this key (etcdctl del), or use an etcd of this host alone", ErrRefused, kv.Key, err)
		}
		if text := c.differs(p); text != "" {
			return fmt.Errorf("%w: member %s is not of the same host: %s", ErrRefused, p, text)
		}
	}
	return nil
}

// differs says why a member is not of the same host, or could not speak with this one; empty: it is.
func (c *Cluster) differs(p Peer) string {
	if text := differ(c.cfg.facts, p.Facts); text != "" {
		return text
	}
	return strangers(c.cfg.authorities, p.Authorities)
}

// follow learns who comes and goes, until the session ends.
func (c *Cluster) follow(s *concurrency.Session, found *clientv3.GetResponse) {
	for s.Ctx().Err() == nil {
		c.mu.Lock()
		gone := maps.Clone(c.peers)
		c.mu.Unlock()
		here := false
		for _, kv := range found.Kvs {
			p, err := c.parse(kv)
			here = here || err == nil && p.Instance == c.instance
			delete(gone, p.Member)
			c.peerJoined(p, err)
		}
		for m := range gone {
			c.peerLeft(m)
		}
		if !here {
			break // The key was deleted.
		}
		c.watch(s.Ctx(), found.Header.Revision+1)
		var err error
		for err = errors.New("not asked"); err != nil && s.Ctx().Err() == nil; {
			if found, err = c.get(c.members(), clientv3.WithPrefix()); err != nil {
				_ = retry.Sleep(s.Ctx(), again)
			}
		}
	}
	s.Orphan()
}

// watch follows changes until it must begin with a list again.
func (c *Cluster) watch(ctx context.Context, from int64) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for r := range c.etcd.Watch(ctx, c.members(), clientv3.WithPrefix(), clientv3.WithRev(from)) {
		if r.Err() != nil {
			return
		}
		for _, e := range r.Events {
			p, err := c.parse(e.Kv)
			switch {
			case p.Member == c.cfg.Member:
				return // It should be ours; look.
			case e.Type == clientv3.EventTypeDelete:
				c.peerLeft(p.Member)
			default:
				c.peerJoined(p, err)
			}
		}
	}
}

// peerJoined takes note of a member.
func (c *Cluster) peerJoined(p Peer, err error) {
	if p.Member == c.cfg.Member || p.Member == "" {
		return
	}
	c.mu.Lock()
	before, known := c.peers[p.Member]
	text := c.differs(p)
	if err != nil {
		text = "what it says of itself is not readable: " + err.Error()
	}
	delete(c.peers, p.Member)
	if text == "" {
		c.peers[p.Member] = p
	}
	c.mu.Unlock()
	log := c.log.WithField("member", p.Member)
	switch {
	case text != "":
		log.Warnf("a member is refused, it is not of the same host: %s; %s", p, text)
	case !known:
		log.WithField("at", p.Address).Info("a member is here")
	case before.Instance != p.Instance:
		log.WithField("at", p.Address).Info("a member was started again")
	}
}

// peerLeft takes note that a member's lease has ended.
func (c *Cluster) peerLeft(m events.Member) {
	c.mu.Lock()
	_, known := c.peers[m]
	delete(c.peers, m)
	c.mu.Unlock()
	if known {
		c.log.WithField("member", m).Info("a member is not seen any more")
	}
}

// peer is a member that is seen, other than this one.
func (c *Cluster) peer(m events.Member) (Peer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.peers[m]
	return p, ok
}

// Each campaign is a key under a lease of its own, and the oldest one holds. The client's Election
// does the same, but a campaign whose session ends while it waits takes itself to be elected later,
// and one that is given up does not return while etcd is away.

// Campaign implements port.Cluster.
func (c *Cluster) Campaign(ctx context.Context) (context.Context, error) {
	select {
	case <-c.joined:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	for {
		if err := errors.Join(ctx.Err(), c.ctx.Err()); err != nil {
			return nil, err
		}
		s, err := c.session(ctx)
		if err == nil {
			if err = c.win(ctx, s); err == nil {
				return s.Ctx(), nil
			}
			c.tasks.Go(func() { _ = c.giveUp(c.ctx, s) })
		}
		if ctx.Err() == nil {
			c.log.WithError(err).Debug("a campaign is begun again")
			_ = retry.Sleep(ctx, again)
		}
	}
}

// win waits until the session's candidate is the oldest one.
func (c *Cluster) win(ctx context.Context, s *concurrency.Session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.Ctx(), cancel)()
	candidates := c.prefix() + "term/"
	put, err := c.etcd.Put(ctx, fmt.Sprintf("%s%x", candidates, s.Lease()), string(c.cfg.Member),
		clientv3.WithLease(s.Lease()))
	if err != nil {
		return err
	}
	for {
		older, err := c.etcd.Get(ctx, candidates,
			append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(put.Header.Revision-1))...)
		if err != nil {
			return err
		}
		if len(older.Kvs) == 0 {
			break
		}
		c.awaitDeleted(ctx, string(older.Kvs[0].Key), older.Header.Revision+1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = s
	return s.Ctx().Err()
}

// awaitDeleted returns when a key was deleted, or when that must be looked at again.
func (c *Cluster) awaitDeleted(ctx context.Context, key string, from int64) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for r := range c.etcd.Watch(ctx, key, clientv3.WithRev(from), clientv3.WithFilterPut()) {
		if r.Err() != nil || len(r.Events) > 0 {
			return
		}
	}
}

// Resign implements port.Cluster. An error says that etcd was not told; the lease has ended for
// this member all the same, and expires.
func (c *Cluster) Resign(ctx context.Context) error {
	c.mu.Lock()
	s := c.term
	c.term = nil
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := c.giveUp(ctx, s); err != nil {
		return fmt.Errorf("tell etcd that the lease is given back, which expires otherwise: %w", err)
	}
	return nil
}

// session returns a new lease that is kept alive until it is given up, lost, or the member is
// closed.
func (c *Cluster) session(ctx context.Context) (*concurrency.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Lease)
	defer cancel()
	lease, err := c.etcd.Grant(ctx, int64(c.cfg.Lease/time.Second))
	if err != nil {
		return nil, err
	}
	return concurrency.NewSession(c.etcd, concurrency.WithLease(lease.ID), concurrency.WithContext(c.ctx))
}

// giveUp lets a lease expire, and tells etcd that it may do so at once.
func (c *Cluster) giveUp(ctx context.Context, s *concurrency.Session) error {
	s.Orphan()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Lease) // Then it has expired.
	defer cancel()
	_, err := c.etcd.Revoke(ctx, s.Lease())
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// again is how long the pause is after etcd did not do what it was asked.
const again = 300 * time.Millisecond
