package cluster

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/hostnode/hostnode/internal/retry"
)

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
