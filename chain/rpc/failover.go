package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/internal/retry"
)

// connect makes a connection to the first endpoint that works. It needs the lock.
func (c *Conn) connect(ctx context.Context) error {
	var failed []error
	for _, index := range c.order() {
		e := c.endpoints[index]
		if wait := time.Until(e.notBefore); wait > 0 {
			failed = append(failed, e.later(wait))
			continue
		}
		l, err := c.dial(ctx, index)
		if err == nil {
			if err = c.verify(ctx, l); err == nil {
				c.use(l)
				return nil
			}
			l.client.Close()
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		failed = append(failed, c.blame(e, err))
	}
	c.reachable.noneLeft(time.Now())
	for _, e := range c.endpoints {
		if e.refused == nil { // One is left that may be the right one.
			return errors.Join(failed...)
		}
	}
	return c.endpoints[0].refused
}

// later says why an endpoint is not tried now.
func (e *endpoint) later(wait time.Duration) error {
	if e.refused != nil {
		return fmt.Errorf("%s: %w", e.name, e.refused)
	}
	if e.limited != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, e.name, e.limited)
	}
	return fmt.Errorf("%w: %s, next attempt in %v", ErrUnavailable, e.name, wait.Round(time.Millisecond))
}

// order is the order in which endpoints are tried: as configured, but those with a lastUntil ahead
// come last, the latest of them at the end.
func (c *Conn) order() []int {
	now := time.Now()
	var order, last []int
	for i, e := range c.endpoints {
		if now.Before(e.lastUntil) {
			last = append(last, i)
		} else {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(last, func(i, j int) int {
		return c.endpoints[i].lastUntil.Compare(c.endpoints[j].lastUntil)
	})
	return append(order, last...)
}

// dial connects to an endpoint.
func (c *Conn) dial(ctx context.Context, index int) (*Session, error) {
	e := c.endpoints[index]
	timed, cancel := context.WithTimeout(ctx, e.patience.limit())
	defer cancel()
	client, err := rpc.DialOptions(timed, e.url, rpc.WithWebsocketMessageSizeLimit(maxAnswerBytes),
		rpc.WithHTTPClient(&http.Client{Transport: e}))
	if err != nil {
		e.failed.Add(1)
		return nil, fmt.Errorf("%w: connect to %s: %w", ErrUnavailable, e.name, err)
	}
	return &Session{
		client: client, at: e, index: index, opened: time.Now(), count: c.count,
		maxWait: c.cfg.LongestWait, log: c.cfg.Log,
	}, nil
}

// use makes a session the current one. It needs the lock.
func (c *Conn) use(l *Session) {
	if l.index != c.lastIndex {
		c.cfg.Log.WithField("endpoint", l.at.name).Warn("the chain is now read from another endpoint")
	}
	c.session, c.lastIndex = l, l.index
	c.checked, c.returning = time.Now(), time.Now().Add(c.cfg.ReturnAfter)
	l.at.wait, l.at.notBefore, l.at.refused, l.at.limited = firstRedialWait, time.Time{}, nil, nil
	c.reachable.uses(l.index, time.Now())
}

// blame notes what is wrong with an endpoint and when it is tried again. It needs the lock.
func (c *Conn) blame(e *endpoint, err error) error {
	e.notBefore, e.limited = time.Now().Add(e.wait), limitIn(err)
	e.wait = min(2*e.wait, c.cfg.LongestWait)
	c.reachable.fails(e, err)
	if wrong, ok := errors.AsType[*IdentityError](err); ok {
		if e.refused == nil && len(c.endpoints) > 1 { // Logged once.
			c.cfg.Log.WithField("endpoint", e.name).Errorf("the endpoint is not used: %v; %s", wrong, wrong.Hint())
		}
		e.refused = wrong
		return err
	}
	e.refused = nil
	return e.hide(err)
}

// comeBack starts an attempt to return to an earlier endpoint when it is time. It needs the lock,
// and does not wait.
func (c *Conn) comeBack() {
	if c.session.index == 0 || c.returning.IsZero() || time.Now().Before(c.returning) {
		return
	}
	c.returning = time.Time{}
	from := c.session
	c.tasks.Go(func() { c.tryEarlier(from) })
}

// tryEarlier looks for a working endpoint before the one in use, and changes to it.
func (c *Conn) tryEarlier(from *Session) {
	for index := range from.index {
		if c.tryOne(from, index) {
			return
		}
	}
	c.lock <- struct{}{}
	defer c.release()
	if c.session == from {
		c.returning = time.Now().Add(c.cfg.ReturnAfter)
	}
}

// inDoubt says that an endpoint is tried last now. It takes the lock.
func (c *Conn) inDoubt(index int) bool {
	c.lock <- struct{}{}
	defer c.release()
	return time.Now().Before(c.endpoints[index].lastUntil)
}

// tryOne changes to an endpoint if it works and is as far as the others. Calls on the old
// connection may finish.
func (c *Conn) tryOne(from *Session, index int) bool {
	if c.inDoubt(index) {
		return false
	}
	l, err := c.dial(c.background, index)
	if err != nil {
		c.reachable.fails(c.endpoints[index], err)
		return false
	}
	if err := c.keepsUp(l); err != nil {
		l.client.Close()
		c.reachable.fails(l.at, err)
		return false
	}
	found, deployed, err := readIdentity(c.background, l, c.contract)
	c.lock <- struct{}{}
	defer c.release()
	if c.session != from || c.closed {
		l.client.Close()
		return true
	}
	if err == nil {
		err = c.compare(found, deployed)
	}
	if err != nil {
		l.client.Close()
		_ = c.blame(l.at, err) // blame notes it, and logs it if it is another chain.
		return false
	}
	c.use(l)
	c.tasks.Go(func() {
		_ = retry.Sleep(c.background, from.at.patience.limit())
		from.client.Close()
	})
	return true
}

// keepsUp returns an error when a node lags behind the others.
func (c *Conn) keepsUp(l *Session) error {
	var newest blockAnswer
	err := l.call(c.background, &newest, "eth_getBlockByNumber", "latest", false)
	if err == nil {
		err = newest.impossible()
	}
	top, head := c.top.Load(), newest.Header
	switch {
	case err != nil:
		return err
	case head == nil:
		return errors.New("it has no block")
	case top != nil && head.Number+1 < top.Number && !head.Head().Displaces(top.Head()):
		return fmt.Errorf("it is at block %d, and block %d is known", uint64(head.Number), uint64(top.Number))
	}
	return nil
}

// LeaveSilent closes the connection to a node that answers and has no new blocks, so that the next
// call connects again, to another endpoint if there is one.
func (c *Conn) LeaveSilent(l *Session) {
	c.lock <- struct{}{}
	defer c.release()
	if c.session != l {
		return
	}
	l.client.Close()
	c.session = nil
	l.at.lastUntil = time.Now().Add(c.cfg.ReturnAfter)
	c.reachable.fails(l.at, errors.New("it answers, but has no new block"))
}
