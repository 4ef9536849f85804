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
	// firstRedialWait is the first pause between two attempts to connect; each further one is twice
	// as long.
	firstRedialWait = 250 * time.Millisecond
	// recheckIdentity is how long a connection is trusted to lead to the same chain. The library
	// reconnects silently, and another node may have taken over the address.
	recheckIdentity = 10 * time.Second
)

// Config says how the chain is reached. All durations are set.
type Config struct {
	Endpoints   []string      // at least one, in the order in which they are tried
	CallTimeout time.Duration // for one call; up to mostPatience times as much at a node that is slow
	LongestWait time.Duration // between attempts to connect
	// ReturnAfter is how long another endpoint is used before an earlier one is tried again.
	ReturnAfter time.Duration
	Want        Identity // what the chain must be; zero parts are not checked
	Log         logrus.FieldLogger
	// NotBelieved, if set, is told of answers that cannot be true.
	NotBelieved func(AnswerError)
	// Doubted, if set, then runs in the background.
	Doubted func(context.Context)
}

// Conn is a connection to the first of its endpoints that works; it reconnects by itself. All
// methods are safe for concurrent use.
type Conn struct {
	cfg       Config
	endpoints []*endpoint
	contract  common.Address
	count     *requestCount
	// top is the newest block that any endpoint has named; nil before the first.
	top       atomic.Pointer[Header]
	seen      seenBlocks
	span      span
	reachable *reachability

	// Background work, until Close.
	background context.Context
	stop       context.CancelFunc
	tasks      sync.WaitGroup

	lock      chan struct{} // guards what follows; a channel, so that waiting ends with the context
	session   *Session
	checked   time.Time
	returning time.Time // when an earlier endpoint is tried again; zero while that goes on
	identity  *Identity // nil until the first connection
	lastIndex int       // the endpoint that was used last
	closed    bool
}

// New makes a connection that dials at its first call. A chain is the right one only if it has the
// contract.
func New(cfg Config, contract common.Address) *Conn {
	c := &Conn{cfg: cfg, contract: contract, count: &requestCount{}, lock: make(chan struct{}, 1)}
	for _, at := range cfg.Endpoints {
		e := newEndpoint(at)
		e.patience.usual = cfg.CallTimeout
		c.endpoints = append(c.endpoints, e)
	}
	c.reachable = newReachability(c.endpoints)
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

// Current returns a session with the right chain, or ErrUnavailable, an *IdentityError or the
// context's error.
func (c *Conn) Current(ctx context.Context) (*Session, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if c.closed {
		return nil, fmt.Errorf("%w: closed", ErrUnavailable)
	}
	if c.session != nil && (c.session.doubted.Load() || time.Since(c.checked) >= recheckIdentity) {
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

// recheck asks the node for its identity again, and closes the connection if it changed. It needs
// the lock. Its error is that of the context, or that of the only endpoint.
func (c *Conn) recheck(ctx context.Context) error {
	doubted := c.session.doubted.Swap(false)
	err := c.verify(ctx, c.session)
	switch {
	case err == nil:
		c.checked = time.Now()
		return nil
	case ctx.Err() != nil:
		c.session.doubted.Store(true)
		return ctx.Err() // The caller gave up; this says nothing about the node.
	case IsTooOften(err) && len(c.endpoints) == 1: // Nor does this, and it answers again.
		c.session.doubted.Store(doubted)
		return err
	}
	e := c.session.at
	e.patience.forget()
	c.session.client.Close()
	c.session = nil
	err = c.blame(e, err)
	if len(c.endpoints) == 1 {
		return err
	}
	c.cfg.Log.WithField("endpoint", e.name).Warnf("leaving this endpoint: %v", err)
	return nil
}

// drop closes a session that failed, unless another one has already replaced it.
func (c *Conn) drop(broken *Session, why error) {
	c.lock <- struct{}{}
	defer c.release()
	if c.session != broken {
		return
	}
	broken.client.Close()
	c.session = nil
	broken.at.notBefore, broken.at.limited = time.Now().Add(broken.at.wait), limitIn(why)
	c.reachable.fails(broken.at, why)
	if len(c.endpoints) > 1 && broken.at.limited == nil { // Each limit is logged by itself, once in a while.
		c.cfg.Log.WithField("endpoint", broken.at.name).Warnf("leaving this endpoint: %v", broken.at.hide(why))
	}
}

// Close closes the connection and ends the background work.
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

// Identity is the chain's identity as the first connection found it. It connects if need be.
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

// NumberOfEndpoints counts all endpoints, reachable or not.
func (c *Conn) NumberOfEndpoints() int { return len(c.endpoints) }

// Reachability says which endpoint is in use, as of the last call. It does not block and asks no node.
func (c *Conn) Reachability() Reachability { return c.reachable.now() }

// Requests counts the calls that were sent since the beginning, by JSON-RPC method, and under
// RequestMessages the messages that they were sent in.
func (c *Conn) Requests() map[string]uint64 { return c.count.all() }

// Traffic is what became of the messages to an endpoint since the process began.
type Traffic struct {
	Messages uint64
	// Failed are those without an answer, or refused because of a limit, and attempts to connect.
	Failed uint64
}

// Traffic is that of each endpoint, by its URL without secrets; those that are called alike are one.
func (c *Conn) Traffic() map[string]Traffic {
	all := map[string]Traffic{}
	for _, e := range c.endpoints {
		t := all[e.name]
		all[e.name] = Traffic{t.Messages + e.asked.Load(), t.Failed + e.failed.Load()}
	}
	return all
}

// Others are separate connections to each endpoint that is not in use, for a chain with this
// identity. Each is closed when the next one is asked for.
func (c *Conn) Others(chain Identity) iter.Seq[*Conn] {
	inUse := c.Reachability().Endpoint
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

// Name is the first endpoint, without secrets.
func (c *Conn) Name() string { return c.endpoints[0].name }

// Hide removes the secrets of the first endpoint from an error's text.
func (c *Conn) Hide(err error) error { return c.endpoints[0].hide(err) }

// call sends one request. The node's answer, even an error, is returned as it is; a failed
// connection is ErrUnavailable, and an answer that cannot be true an *AnswerError.
func (c *Conn) call(ctx context.Context, result any, method string, args ...any) error {
	l, err := c.Current(ctx)
	if err != nil {
		return err
	}
	err = l.call(ctx, result, method, args...)
	wrong := c.believe(l, rpc.BatchElem{Method: method, Args: args, Result: result, Error: err})
	if err == nil || wrong != nil {
		return wrong
	}
	return c.classify(ctx, l, method, err)
}

// batch sends many requests; each element has the error of its own request. An impossible answer to
// one of them makes the whole batch an *AnswerError.
func (c *Conn) batch(ctx context.Context, elements []rpc.BatchElem) error {
	l, err := c.Current(ctx)
	if err != nil {
		return err
	}
	if err := c.classify(ctx, l, "batch", l.batch(ctx, elements)); err != nil {
		return err
	}
	for i := range elements {
		e := &elements[i]
		if err := c.believe(l, *e); err != nil {
			return err
		}
		e.Error = l.at.hide(e.Error)
	}
	return nil
}

func (c *Conn) classify(ctx context.Context, l *Session, method string, err error) error {
	if err == nil || errors.Is(err, ethereum.NotFound) {
		return err
	}
	if IsAnswer(err) {
		return fmt.Errorf("%s: %w", method, l.at.hide(err))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Being rate limited is no reason to reconnect, but another endpoint may answer. A message without
	// an answer does not take the connection from others: whether it leads anywhere, recheck finds out.
	if !errors.Is(err, errSlow) && (!IsTooOften(err) || len(c.endpoints) > 1) {
		c.drop(l, err)
	}
	return fmt.Errorf("%w: %s at %s: %w", ErrUnavailable, method, l.at.name, l.at.hide(err))
}
