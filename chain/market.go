package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
)

// ErrConfig: the configuration cannot work.
var ErrConfig = errors.New("invalid chain configuration")

// Gas are the gas limits of our transactions. They are fixed, not estimated: an
// estimate is made on the newest block and fails for a proof that is right for the next
// one, and too little gas looks like a wrong proof (chain.md §3).
type Gas struct {
	Reserve uint64 // default 150,000
	Fill    uint64 // default 750,000
	Proof   uint64 // default 420,000
	Free    uint64 // default 180,000
	Approve uint64 // default 80,000
}

// Config says how to reach the contract. Endpoint, Marketplace and Key are required;
// zero values of the rest mean the defaults that are named.
type Config struct {
	// Endpoint is a ws, http or https URL, or the path of a unix socket.
	Endpoint    string
	Marketplace events.Address
	// Key signs for the host's account, which is used by nobody else.
	Key *ecdsa.PrivateKey
	// ChainID and Genesis are what the node must have, when they are not zero.
	ChainID uint64
	Genesis events.Hash
	// Confirmations is how many blocks, the transaction's own included, make a
	// transaction count: 1 to 100, default 1.
	Confirmations uint64
	Gas           Gas
	// Allowance is what the marketplace may take from our tokens, renewed when it is
	// used up. Default 2^96-1 base units.
	Allowance events.Amount
	// CallTimeout is for one request to the node: default 10 s.
	CallTimeout time.Duration
	// LongestRedialWait is between attempts to connect: default 15 s.
	LongestRedialWait time.Duration
	// PollInterval is how often a new block is looked for: default 1 s.
	PollInterval time.Duration
	// StuckBlocks is after how many blocks a higher fee is offered: default 5.
	StuckBlocks uint64
	// MaxFeeCapWei is the most wei for one gas: default 500 gwei. MinTipWei is the
	// least tip for one gas: default 0.01 gwei.
	MaxFeeCapWei, MinTipWei uint64
	// LogRange is the most blocks in one search for logs: default 1000.
	LogRange uint64
	// DeployedAt is the contract's block, if it is known; no log is older.
	DeployedAt uint64
	// Epoch and Node go into the metadata of the account's events.
	Epoch uint64
	Node  string
	Log   logrus.FieldLogger // default: silent
}

const maxConfirmations = 100 // nodes keep the state of 128 blocks

func (cfg *Config) complete() error {
	switch {
	case cfg.Endpoint == "":
		return fmt.Errorf("%w: no endpoint", ErrConfig)
	case cfg.Marketplace.Zero():
		return fmt.Errorf("%w: no marketplace address", ErrConfig)
	case cfg.Confirmations > maxConfirmations:
		return fmt.Errorf("%w: %d confirmations, the limit is %d",
			ErrConfig, cfg.Confirmations, maxConfirmations)
	}
	orDefault(&cfg.Confirmations, 1)
	orDefault(&cfg.Gas.Reserve, 150_000)
	orDefault(&cfg.Gas.Fill, 750_000)
	orDefault(&cfg.Gas.Proof, 420_000)
	orDefault(&cfg.Gas.Free, 180_000)
	orDefault(&cfg.Gas.Approve, 80_000)
	orDefault(&cfg.CallTimeout, 10*time.Second)
	orDefault(&cfg.LongestRedialWait, 15*time.Second)
	orDefault(&cfg.PollInterval, time.Second)
	orDefault(&cfg.StuckBlocks, 5)
	orDefault(&cfg.MaxFeeCapWei, 500_000_000_000)
	orDefault(&cfg.MinTipWei, 10_000_000)
	orDefault(&cfg.LogRange, 1000)
	if cfg.Allowance.IsZero() {
		cfg.Allowance = largeAllowance()
	}
	if cfg.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		cfg.Log = silent
	}
	return nil
}

func orDefault[T comparable](v *T, byDefault T) {
	var zero T
	if *v == zero {
		*v = byDefault
	}
}

// Market is the marketplace contract for one host. All methods are safe for concurrent
// use and may be repeated. Errors besides the outcomes named in package events are
// temporary, except *IdentityError, ErrTakenOver and ErrOutboxFailed.
type Market struct {
	cfg      Config
	conn     *conn
	abis     abis
	contract common.Address
	token    common.Address
	account  common.Address
	identity Identity
	tx       *txManager
	copier   *copier
	outbox   *outbox
	approve  chan struct{} // one approval at a time

	mu     sync.Mutex
	config *events.MarketConfig // once read
}

// Dial connects to the contract, opens the outbox of the account in a directory, and
// takes up the transactions of the last run. The store may be away; then the account's
// stream follows later. Errors: ErrConfig, ErrUnavailable, *IdentityError,
// ErrForeignOutbox, ErrOutboxDamaged, and those of the file system.
func Dial(ctx context.Context, cfg Config, store events.Store, outboxDir string) (*Market, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		return nil, fmt.Errorf("%w: no key", ErrConfig)
	}
	m := &Market{
		cfg: cfg, abis: newABIs(),
		contract: common.Address(cfg.Marketplace),
		account:  crypto.PubkeyToAddress(cfg.Key.PublicKey),
		approve:  make(chan struct{}, 1),
	}
	m.conn = newConn(cfg.Endpoint, m.contract, cfg.CallTimeout, cfg.LongestRedialWait)
	if err := m.meet(ctx); err != nil {
		m.conn.close()
		return nil, err
	}
	if err := m.openAccount(ctx, store, outboxDir); err != nil {
		m.conn.close()
		return nil, err
	}
	return m, nil
}

// meet checks who is at the other end and reads what never changes.
func (m *Market) meet(ctx context.Context) error {
	found, err := m.conn.known(ctx)
	if err != nil {
		return err
	}
	want := Identity{m.cfg.ChainID, m.cfg.Genesis}
	orDefault(&want.ChainID, found.ChainID)
	orDefault(&want.Genesis, found.Genesis)
	if want != found {
		return &IdentityError{
			Reason: ErrWrongChain,
			Want:   fmt.Sprintf("chain %d with genesis %s", want.ChainID, want.Genesis),
			Got:    fmt.Sprintf("chain %d with genesis %s", found.ChainID, found.Genesis),
		}
	}
	m.identity = found
	head, err := m.conn.latest(ctx)
	if err != nil {
		return err
	}
	token := viewOf(m.contract, m.abis.market.PackToken(), m.abis.market.UnpackToken, &m.token)
	if err := m.conn.views(ctx, m.account, head.Hash, token); err != nil {
		return err
	}
	if token.err != nil {
		return &IdentityError{
			Reason: ErrNoContract,
			Want:   "a marketplace at " + m.contract.Hex(),
			Got:    fmt.Sprintf("a contract that does not name its token (%v)", token.err),
		}
	}
	return nil
}

// catchUpTimeout is how long the start waits for the event store.
const catchUpTimeout = 5 * time.Second

func (m *Market) openAccount(ctx context.Context, store events.Store, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of the outbox: %w", err)
	}
	stream := events.TxStream(m.Account())
	box, records, err := openOutbox(filepath.Join(dir, stream+".outbox"), outboxOwner{
		Stream: stream, ChainID: m.identity.ChainID, Genesis: m.identity.Genesis.String(),
	})
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	missing, copied, err := catchUp(timed, store, stream, box.next)
	if err != nil {
		m.cfg.Log.WithError(err).Warn("transactions: the event store is away, going on without")
	}
	for _, r := range missing {
		if err := box.put(r); err != nil {
			return errors.Join(err, box.close())
		}
		records = append(records, r)
	}
	var pending []record
	for _, r := range records {
		if r.Revision >= copied {
			pending = append(pending, r)
		}
	}
	m.outbox = box
	m.copier = startCopier(m.cfg, store, stream, pending)
	m.tx = startTxManager(txConfig{
		confirmations: m.cfg.Confirmations, stuckBlocks: m.cfg.StuckBlocks,
		poll: m.cfg.PollInterval, maxFeeCapWei: m.cfg.MaxFeeCapWei, minTipWei: m.cfg.MinTipWei,
	}, m.conn, m.cfg.Key, m.account, m.identity.ChainID, box, records, m.copier, m.cfg.Log)
	return nil
}

// Close stops the transaction manager and closes connection and outbox. Transactions
// that are under way go on at the next start.
func (m *Market) Close() error {
	m.tx.close()
	m.copier.close()
	m.conn.close()
	return m.outbox.close()
}

// Identity is the chain that the market is on.
func (m *Market) Identity() Identity { return m.identity }

// Token is the address of the token that the market pays in.
func (m *Market) Token() events.Address { return events.Address(m.token) }
