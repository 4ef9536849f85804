package rpc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/sirupsen/logrus"
)

const (
	// firstRedialWait is between two attempts to connect, doubled each time.
	firstRedialWait = 250 * time.Millisecond
	// recheckIdentity is how long a connection is believed. The library reconnects
	// silently, and then another chain may be at the same address.
	recheckIdentity = 10 * time.Second
)

// Config says how a chain is reached. All durations are set.
type Config struct {
	Endpoints   []string      // one at least, in the order in which they are tried
	CallTimeout time.Duration // of one call
	LongestWait time.Duration // between attempts to connect
	// ReturnAfter is after how long on another endpoint an earlier one is tried again.
	ReturnAfter time.Duration
	Want        Identity // what is demanded; zero parts are not
	Log         logrus.FieldLogger
	// NotBelieved, if it is set, is told of answers that cannot be true.
	NotBelieved func(AnswerError)
	// Doubted, if it is set, runs in the background after that.
	Doubted func(context.Context)
}

// Conn is a connection that goes away and comes back, at the first of its endpoints that
// works. All methods are safe for concurrent use.
type Conn struct {
	cfg       Config
	endpoints []*endpoint
	contract  common.Address
	count     *requestCount
	// top is the newest block that any endpoint has named; nil before the first.
	top      atomic.Pointer[Header]
	span     span
	standing *standing

	// What goes on in the background, until close.
	background context.Context
	stop       context.CancelFunc
	tasks      sync.WaitGroup

	lock      chan struct{} // guards what follows; a channel, so that waiting ends with ctx
	session   *Session
	checked   time.Time
	returning time.Time // when an earlier endpoint is tried again; zero while it is
	identity  *Identity // once known
	lastIndex int       // the endpoint that was used last
	closed    bool
}

// New connects with the first call. A chain counts as the right one when it has the contract.
func New(cfg Config, contract common.Address) *Conn {
	c := &Conn{cfg: cfg, contract: contract, count: &requestCount{}, lock: make(chan struct{}, 1)}
	for _, at := range cfg.Endpoints {
		c.endpoints = append(c.endpoints, newEndpoint(at))
	}
	c.standing = newStanding(c.endpoints)
	c.background, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *Conn) acquire(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conn) release() { <-c.lock }

// Current returns a connection to the right chain, or ErrUnavailable, an *IdentityError or
// ctx's error.
func (c *Conn) Current(ctx context.Context) (*Session, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if c.closed {
		return nil, fmt.Errorf("%w: closed", ErrUnavailable)
	}
	if c.session != nil && time.Since(c.checked) >= recheckIdentity {
		if err := c.recheck(ctx); err != nil {
			return nil, err
		}
	}
	if c.session == nil {
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	c.comeBack()
	return c.session, nil
}

// recheck asks the node again who it is, and gives it up when that is not who it was. It
// needs the lock; its error is ctx's, or that of the only endpoint.
func (c *Conn) recheck(ctx context.Context) error {
	err := c.verify(ctx, c.session)
	switch {
	case err == nil:
		c.checked = time.Now()
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err() // The caller's doing; nothing is known about the node.
	}
	e := c.session.at
	c.session.client.Close()
	c.session = nil
	err = c.blame(e, err)
	if len(c.endpoints) == 1 {
		return err
	}
	c.cfg.Log.WithField("endpoint", e.name).Warnf("the Ethereum node is left: %v", err)
	return nil
}

// drop closes a connection that failed, unless another one has taken its place.
func (c *Conn) drop(broken *Session, why error) {
	c.lock <- struct{}{}
	defer c.release()
	if c.session != broken {
		return
	}
	broken.client.Close()
	c.session = nil
	broken.at.notBefore = time.Now().Add(broken.at.wait)
	c.standing.fails(broken.at, why)
	if len(c.endpoints) > 1 {
		c.cfg.Log.WithField("endpoint", broken.at.name).Warnf("the Ethereum node is left: %v", broken.at.hide(why))
	}
}

// Close closes the connection, and ends what runs in the background.
func (c *Conn) Close() {
	c.lock <- struct{}{}
	c.closed = true
	if c.session != nil {
		c.session.client.Close()
		c.session = nil
	}
	c.release()
	c.stop()
	c.tasks.Wait()
}

// Identity is the identity that the first connection found; call it after a success.
func (c *Conn) Identity(ctx context.Context) (Identity, error) {
	if _, err := c.Current(ctx); err != nil {
		return Identity{}, err
	}
	if err := c.acquire(ctx); err != nil {
		return Identity{}, err
	}
	defer c.release()
	return *c.identity, nil
}

// NumberOfEndpoints is how many there are, reachable or not.
func (c *Conn) NumberOfEndpoints() int { return len(c.endpoints) }

// Standing says which endpoint is in use. It does not ask the chain and does not block:
// what it says is of the last call.
func (c *Conn) Standing() Standing { return c.standing.now() }

// Requests is how many calls were sent since the beginning, by JSON-RPC method, and under
// RequestMessages in how many messages.
func (c *Conn) Requests() map[string]uint64 { return c.count.all() }

// Others are connections of their own to the endpoints that are not in use, of a chain. Each
// is closed when the next one is asked for.
func (c *Conn) Others(chain Identity) iter.Seq[*Conn] {
	inUse := c.Standing().Endpoint
	return func(yield func(*Conn) bool) {
		for _, e := range c.endpoints {
			if e.name == inUse {
				continue
			}
			cfg := c.cfg
			cfg.Endpoints, cfg.Want, cfg.NotBelieved, cfg.Doubted = []string{e.url}, chain, nil, nil
			other := New(cfg, c.contract)
			again := yield(other)
			other.Close()
			if !again {
				return
			}
		}
	}
}

// Name is the first endpoint, for people.
func (c *Conn) Name() string { return c.endpoints[0].name }

// Hide keeps the secrets of the first endpoint out of an error's text.
func (c *Conn) Hide(err error) error { return c.endpoints[0].hide(err) }

// call is one request. What the node answers, also its errors, comes back as it is; a
// failed connection is ErrUnavailable, and what cannot be true an *AnswerError.
func (c *Conn) call(ctx context.Context, result any, method string, args ...any) error {
	l, err := c.Current(ctx)
	if err != nil {
		return err
	}
	err = l.call(ctx, result, method, args...)
	switch {
	case err == nil:
		return c.believe(l, result, method, args)
	case undecodable(err):
		return c.disbelieve(l, question(method, args), err)
	}
	return c.judge(ctx, l, method, err)
}

// batch sends many requests; the error of each stands in its element. An answer that
// cannot be true makes all of it an *AnswerError.
func (c *Conn) batch(ctx context.Context, elements []rpc.BatchElem) error {
	l, err := c.Current(ctx)
	if err != nil {
		return err
	}
	if err := c.judge(ctx, l, "batch", l.batch(ctx, elements)); err != nil {
		return err
	}
	for i := range elements {
		e := &elements[i]
		switch {
		case e.Error == nil:
			err = c.believe(l, e.Result, e.Method, e.Args)
		case undecodable(e.Error):
			err = c.disbelieve(l, question(e.Method, e.Args), e.Error)
		}
		if err != nil {
			return err
		}
		e.Error = l.at.hide(e.Error)
	}
	return nil
}

func (c *Conn) judge(ctx context.Context, l *Session, method string, err error) error {
	if err == nil || errors.Is(err, ethereum.NotFound) {
		return err
	}
	if IsAnswer(err) {
		return fmt.Errorf("%s: %w", method, l.at.hide(err))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// One that is asked too often needs no new connection, but another one may answer.
	if !IsTooOften(err) || len(c.endpoints) > 1 {
		c.drop(l, err)
	}
	return fmt.Errorf("%w: %s at %s: %w", ErrUnavailable, method, l.at.name, l.at.hide(err))
}
