package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// Errors about the other end.
var (
	// ErrUnavailable: the node does not answer now. Temporary.
	ErrUnavailable = errors.New("ethereum node is not available")
	// ErrWrongChain: the node belongs to another chain than before, or than demanded.
	ErrWrongChain = errors.New("ethereum node follows another chain")
	// ErrNoContract: there is no code at the marketplace's address.
	ErrNoContract = errors.New("no contract at the marketplace address")
)

// IdentityError says that the node at the endpoint is not the one that was meant.
type IdentityError struct {
	Reason    error // ErrWrongChain or ErrNoContract
	Want, Got string
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("%v: want %s, got %s", e.Reason, e.Want, e.Got)
}

// Unwrap makes errors.Is work with the reason.
func (e *IdentityError) Unwrap() error { return e.Reason }

// Hint says what an operator should look at.
func (e *IdentityError) Hint() string {
	if errors.Is(e.Reason, ErrNoContract) {
		return "check the marketplace address and that the node has caught up"
	}
	return "check the endpoint; the data directory belongs to the chain that it was made with"
}

// Identity is what must never change under a host.
type Identity struct {
	ChainID uint64
	Genesis events.Hash
}

// Waiting between attempts to connect, doubled each time.
const (
	firstRedialWait = 250 * time.Millisecond
	// recheckIdentity is how long a connection is believed. The library reconnects
	// silently, and then another chain may be at the same address.
	recheckIdentity = 10 * time.Second
	// maxBatch is the most calls in one request; providers allow 100 and more.
	maxBatch = 50
)

// conn is a connection that goes away and comes back. All methods are safe for
// concurrent use.
type conn struct {
	endpoint string
	contract common.Address
	timeout  time.Duration // of one call
	maxWait  time.Duration // between attempts to connect

	lock     chan struct{} // guards what follows; a channel, so that waiting ends with ctx
	client   *rpc.Client
	checked  time.Time
	nextDial time.Time
	wait     time.Duration
	identity *Identity // once known
	closed   bool
}

func newConn(endpoint string, contract common.Address, timeout, maxWait time.Duration) *conn {
	return &conn{
		endpoint: endpoint, contract: contract, timeout: timeout, maxWait: maxWait,
		lock: make(chan struct{}, 1), wait: firstRedialWait,
	}
}

func (c *conn) acquire(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) release() { <-c.lock }

// get returns a connection to the right chain, or ErrUnavailable, an *IdentityError or
// ctx's error.
func (c *conn) get(ctx context.Context) (*rpc.Client, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if c.closed {
		return nil, fmt.Errorf("%w: closed", ErrUnavailable)
	}
	if c.client != nil && time.Since(c.checked) < recheckIdentity {
		return c.client, nil
	}
	if c.client == nil && time.Now().Before(c.nextDial) {
		return nil, fmt.Errorf("%w: %s, next attempt in %v", ErrUnavailable, c.endpoint,
			time.Until(c.nextDial).Round(time.Millisecond))
	}
	if err := c.connect(ctx); err != nil {
		if c.client != nil {
			c.client.Close()
			c.client = nil
		}
		c.nextDial = time.Now().Add(c.wait)
		c.wait = min(2*c.wait, c.maxWait)
		return nil, err
	}
	c.wait = firstRedialWait
	return c.client, nil
}

// connect needs the lock.
func (c *conn) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if c.client == nil {
		client, err := rpc.DialContext(ctx, c.endpoint)
		if err != nil {
			return fmt.Errorf("%w: connect to %s: %w", ErrUnavailable, c.endpoint, err)
		}
		c.client = client
	}
	found, err := readIdentity(ctx, c.client, c.contract)
	if err != nil {
		return err
	}
	if c.identity != nil && *c.identity != found {
		return &IdentityError{
			Reason: ErrWrongChain,
			Want:   fmt.Sprintf("chain %d with genesis %s", c.identity.ChainID, c.identity.Genesis),
			Got:    fmt.Sprintf("chain %d with genesis %s", found.ChainID, found.Genesis),
		}
	}
	c.identity, c.checked = &found, time.Now()
	return nil
}

func readIdentity(ctx context.Context, client *rpc.Client, contract common.Address) (Identity, error) {
	var id hexutil.Uint64
	var genesis *header
	var code hexutil.Bytes
	batch := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &id},
		{Method: "eth_getBlockByNumber", Args: []any{"0x0", false}, Result: &genesis},
		{Method: "eth_getCode", Args: []any{contract, "latest"}, Result: &code},
	}
	if err := client.BatchCallContext(ctx, batch); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, e := range batch {
		if e.Error != nil {
			return Identity{}, fmt.Errorf("%w: %s: %w", ErrUnavailable, e.Method, e.Error)
		}
	}
	if genesis == nil {
		return Identity{}, fmt.Errorf("%w: it does not know its genesis block", ErrUnavailable)
	}
	if len(code) == 0 {
		return Identity{}, &IdentityError{
			Reason: ErrNoContract, Want: "code at " + contract.Hex(), Got: "none",
		}
	}
	return Identity{ChainID: uint64(id), Genesis: events.Hash(genesis.Hash)}, nil
}

// known is the identity that the first connection found; call it after a success.
func (c *conn) known(ctx context.Context) (Identity, error) {
	if _, err := c.get(ctx); err != nil {
		return Identity{}, err
	}
	if err := c.acquire(ctx); err != nil {
		return Identity{}, err
	}
	defer c.release()
	return *c.identity, nil
}

// drop closes a connection that failed, unless another one has taken its place.
func (c *conn) drop(broken *rpc.Client) {
	c.lock <- struct{}{}
	defer c.release()
	if c.client == broken && broken != nil {
		c.client.Close()
		c.client = nil
		c.nextDial = time.Now().Add(c.wait)
	}
}

func (c *conn) close() {
	c.lock <- struct{}{}
	defer c.release()
	c.closed = true
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

// call is one request. What the node answers, also its errors, comes back as it is; a
// failed connection is ErrUnavailable.
func (c *conn) call(ctx context.Context, result any, method string, args ...any) error {
	client, err := c.get(ctx)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.judge(ctx, client, method, client.CallContext(timed, result, method, args...))
}

// batch sends many requests; the error of each stands in its element.
func (c *conn) batch(ctx context.Context, elements []rpc.BatchElem) error {
	client, err := c.get(ctx)
	if err != nil {
		return err
	}
	for len(elements) > 0 {
		some := elements[:min(len(elements), maxBatch)]
		elements = elements[len(some):]
		timed, cancel := context.WithTimeout(ctx, c.timeout)
		err := c.judge(ctx, client, "batch", client.BatchCallContext(timed, some))
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) judge(ctx context.Context, client *rpc.Client, method string, err error) error {
	if err == nil || errors.Is(err, ethereum.NotFound) {
		return err
	}
	if _, answered := errors.AsType[rpc.Error](err); answered {
		return fmt.Errorf("%s: %w", method, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.drop(client)
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, method, err)
}
