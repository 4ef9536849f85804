package requester

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Client is a client of the market that the settings name, with a directory of its own. It is safe for concurrent use.
// Two processes with one directory may disturb each other only when both post a request at the same time.
type Client struct {
	// Shelf has its datasets.
	Shelf *Shelf

	cfg config.Config
	dir string

	buying sync.Mutex // one request at a time: an allowance is for one

	mu        sync.Mutex
	account   *chain.Requester // nil: not dialled yet
	local     *localchain.Remote
	posting   map[events.RequestID]bool
	collected map[events.RequestID]bool
}

// NewClient is the client in a directory; empty: client in the data directory.
func NewClient(cfg config.Config, dir string) *Client {
	if dir == "" {
		dir = filepath.Join(cfg.DataDir, "client")
	}
	return &Client{
		Shelf: Open(filepath.Join(dir, "datasets")), cfg: cfg, dir: dir,
		posting: map[events.RequestID]bool{}, collected: map[events.RequestID]bool{},
	}
}

// Close closes the datasets and the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != nil {
		c.account.Close()
		c.account = nil
	}
	return c.Shelf.Close()
}

// Account is the client's account on the market. It is dialled the first time, with a key that is made if there is
// none. localchain.ErrStopped: it is on a development chain that does not run.
func (c *Client) Account(ctx context.Context) (*chain.Requester, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != nil {
		return c.account, nil
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	c.account, c.local, err = dial(ctx, c.cfg, key)
	return c.account, err
}

func (c *Client) key() (*ecdsa.PrivateKey, error) {
	file := filepath.Join(c.dir, "account.key")
	key, err := keys.Load(file, "")
	if !errors.Is(err, keys.ErrMissing) {
		return key, err
	}
	if _, err := keys.Create(file, ""); err != nil {
		return nil, err
	}
	return keys.Load(file, "")
}

// dial connects to the market. local is the chain if it is a development chain.
func dial(ctx context.Context, cfg config.Config, key *ecdsa.PrivateKey) (
	r *chain.Requester, local *localchain.Remote, err error,
) {
	if !cfg.Embedded() {
		contract := cfg.ContractAddress()
		r, err = chain.DialRequester(ctx, chain.Config{
			Endpoint: cfg.Chain.Endpoint, Fallbacks: cfg.Chain.Fallbacks, Marketplace: contract, Key: key,
		})
		if err != nil {
			return nil, nil, err
		}
		if r.ChainID() != devchain.ChainID || strings.Contains(cfg.Chain.Endpoint, "://") {
			return r, nil, nil
		}
		return r, &localchain.Remote{Endpoint: cfg.Chain.Endpoint, Marketplace: contract}, nil
	}
	dir := datadir.At(cfg.DataDir)
	ipc, err := dir.SocketPath("chain/devchain.ipc")
	if err != nil {
		return nil, nil, err
	}
	found, err := localchain.Find(dir.Chain(), ipc)
	if err != nil {
		return nil, nil, err
	}
	r, err = found.Client(ctx, key)
	return r, &found, err
}

// provide gives the account money on a development chain. On any other it refuses one that cannot pay.
func (c *Client) provide(ctx context.Context, r *chain.Requester, tokens events.Amount) error {
	if c.local != nil {
		return c.local.Provide(ctx, r.Account(), events.NewAmount(math.MaxInt64/8), tokens)
	}
	has, err := r.Balance(ctx)
	switch {
	case err != nil:
		return err
	case has.Tokens.Less(tokens):
		return fmt.Errorf("%w: the request costs %s, and the client's account %s has %s",
			events.ErrInsufficientFunds, money.Base(tokens.String()), r.Account(), money.Base(has.Tokens.String()))
	case has.Wei.IsZero():
		return fmt.Errorf("%w: the client's account %s has no coins for gas", events.ErrInsufficientFunds, r.Account())
	}
	return nil
}

// Buy posts a request for a dataset at a point in time by the machine's clock, and returns it with its id. It is noted
// before it is posted, so that Purchase says what became of it if the answer is lost.
func (c *Client) Buy(ctx context.Context, d *dataset.Dataset, t Terms, at time.Time) (r events.Request, err error) {
	account, err := c.Account(ctx)
	if err != nil {
		return r, err
	}
	c.buying.Lock()
	defer c.buying.Unlock()
	r = t.Request(d)
	if err := c.provide(ctx, account, Price(r)); err != nil {
		return r, err
	}
	r.Client, r.ID = account.Account(), account.IDOf(r)
	c.note(c.posting, r.ID, true)
	defer c.note(c.posting, r.ID, false)
	if err := c.Shelf.Note(d, Posted{ID: r.ID, Marketplace: account.Marketplace(), At: at}); err != nil {
		return r, err
	}
	_, err = Post(ctx, account, r)
	return r, err
}

// note remembers of a request whether it is in a set.
func (c *Client) note(set map[events.RequestID]bool, id events.RequestID, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if set[id] = is; !is {
		delete(set, id)
	}
}

// MaxDuration is the longest duration of a request that the market takes.
func (c *Client) MaxDuration(ctx context.Context) (time.Duration, error) {
	account, err := c.Account(ctx)
	if err != nil {
		return 0, err
	}
	cfg, err := account.Config(ctx)
	return cfg.RequestDurationLimit, err
}

// Purchases are the requests that were posted on the market, oldest first for each dataset. Without any, no account is
// made.
func (c *Client) Purchases(ctx context.Context) (ids []events.RequestID, err error) {
	all, err := c.Shelf.All()
	if err != nil {
		return nil, err
	}
	var posted []Posted
	for _, d := range all {
		some, err := c.Shelf.Requests(d)
		if err != nil {
			return nil, err
		}
		posted = append(posted, some...)
	}
	if len(posted) == 0 {
		return nil, nil
	}
	account, err := c.Account(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range posted {
		if p.Marketplace == account.Marketplace() {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// Purchase is what the market has of a request.
type Purchase struct {
	// Known: the market has it. Posting: it is on its way there.
	Known, Posting bool
	State          events.RequestState
	Request        events.Request
}

// Purchase is what became of a request.
func (c *Client) Purchase(ctx context.Context, id events.RequestID) (p Purchase, err error) {
	account, err := c.Account(ctx)
	if err != nil {
		return p, err
	}
	c.mu.Lock()
	p.Posting = c.posting[id]
	c.mu.Unlock()
	p.State, err = account.RequestState(ctx, id)
	if errors.Is(err, events.ErrUnknownRequest) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Known = true
	p.Request, err = account.Request(ctx, id)
	return p, err
}

// CollectAll collects what is left of the payment for each request that is over. It asks once for each.
func (c *Client) CollectAll(ctx context.Context) error {
	ids, err := c.Purchases(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		c.mu.Lock()
		done := c.collected[id]
		c.mu.Unlock()
		if !done {
			failed = errors.Join(failed, c.collect(ctx, id))
		}
	}
	return failed
}

func (c *Client) collect(ctx context.Context, id events.RequestID) error {
	account, err := c.Account(ctx)
	if err != nil {
		return err
	}
	state, err := account.RequestState(ctx, id)
	if errors.Is(err, events.ErrUnknownRequest) {
		return nil
	}
	if err != nil || !state.Over() {
		return err
	}
	if err := account.WithdrawFunds(ctx, id); err != nil && !errors.Is(err, chain.ErrNothingLeft) {
		return err
	}
	c.note(c.collected, id, true)
	return nil
}
