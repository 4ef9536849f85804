package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Market is the marketplace contract as one host sees it. All methods are safe for concurrent use
// and may be repeated. Errors other than the outcomes named in package events are temporary, except
// *IdentityError, ErrTakenOver, ErrUsedElsewhere and ErrOutboxFailed.
type Market struct {
	cfg      Config
	conn     *rpc.Conn
	abis     abis
	contract common.Address
	token    common.Address
	account  common.Address
	identity rpc.Identity
	tx       *tx.Manager
	approve  chan struct{} // one approval at a time
	finality *feed.Finality
	blocks   *rpc.BlockTime

	mu        sync.Mutex
	config    *events.MarketConfig // nil until it is read
	earmarked events.Amount        // collateral of the fills under way
	disagreed time.Time            // when a disagreement of two endpoints was last reported
}

// Dial connects to the contract, opens the account's outbox in a directory, and takes up the
// transactions of the last run. The store may be away if the outbox was used before; then the
// account's stream is completed later. An outbox that was never used does not say where the stream
// ends, so then the store is needed.
//
// Without a store, as in a host whose start waits for it, nothing is compared with the stream or
// copied to it; the next Dial does both. The outbox must have been used, and the market ends with
// ErrUsedElsewhere as soon as the chain has a transaction of the account that the outbox does not
// know.
//
// Errors: ErrConfig, ErrUnavailable (but see Config.Waits), *IdentityError, ErrForeignOutbox,
// ErrOutboxDamaged, ErrTakenOver, ErrUsedElsewhere, and those of the store and the file system.
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
		blocks:   rpc.NewBlockTime(cfg.BlockTime, cfg.PollInterval, cfg.Log),
	}
	m.conn = rpc.New(cfg.connection(m.rereadConstants), m.contract)
	m.finality = feed.NewFinality(m.conn, cfg.Confirmations, cfg.Finalized, cfg.Log)
	err := m.begin(ctx, store, outboxDir)
	for tried := 1; errors.Is(err, rpc.ErrUnavailable) && ctx.Err() == nil; tried++ {
		if tried%m.conn.NumberOfEndpoints() == 0 { // No endpoint answers.
			if cfg.Waits == nil {
				break
			}
			cfg.Waits(err)
			rpc.Sleep(ctx, min(dialPause, cfg.LongestRedialWait))
		}
		err = m.begin(ctx, store, outboxDir)
	}
	if err != nil {
		m.conn.Close()
		return nil, err
	}
	return m, nil
}

// dialPause is the pause between two rounds when no endpoint answers.
const dialPause = 2 * time.Second

func (m *Market) begin(ctx context.Context, store events.Store, outboxDir string) error {
	if err := errors.Join(m.readConstants(ctx), m.checkRecipient()); err != nil {
		return err
	}
	m.blocks.Begin(ctx, m.conn)
	manager, err := tx.Open(ctx, m.transactions(), m.conn, m.blocks, store, outboxDir)
	m.tx = manager
	return err
}

// transactions is the configuration of the account's transactions.
func (m *Market) transactions() tx.Config {
	cfg := &m.cfg
	return tx.Config{
		Key: cfg.Key, Chain: m.identity,
		Contracts: append([]tx.Contract{
			{Kinds: kinds(), Refusals: m.refusals, IsHostCall: m.isHostCall(), InUse: m.slotsOfOthers},
		}, cfg.OtherContracts...),
		Confirmations: cfg.Confirmations, StuckBlocks: cfg.StuckBlocks,
		MaxFeeCapWei: cfg.MaxFeeCapWei, MinTipWei: cfg.MinTipWei, MaxTipWei: cfg.MaxTipWei,
		MaxInFlight: int(cfg.MaxInFlight), DutyHold: cfg.FillHold, FeeLimited: cfg.FeeLimited,
		Began: cfg.Began, TakeOver: cfg.TakeOver, UsedElsewhere: cfg.UsedElsewhere,
		Epoch: cfg.Epoch, Node: cfg.Node, Log: cfg.Log,
	}
}

// Close stops the transaction manager and closes connection and outbox. Transactions that are under
// way continue at the next start.
func (m *Market) Close() error {
	err := m.tx.Close()
	m.conn.Close()
	return err
}

// Failed is closed when no transaction is sent any more; Failure says why. Only another start
// changes that, so the host should end.
func (m *Market) Failed() <-chan struct{} { return m.tx.Failed() }

// Failure is the reason why no transaction is sent any more: ErrTakenOver, ErrUsedElsewhere or
// ErrOutboxFailed; nil: they are sent.
func (m *Market) Failure() error { return m.tx.Failure() }

// DutiesDue tells the market by when, in chain time, the earliest unsubmitted proof must be mined;
// zero: there is none. When that is near, only proofs are sent, and what is due before them. It
// does not block. The last call counts, until its time has passed.
func (m *Market) DutiesDue(next time.Time) { m.tx.DutiesDue(kindProof, next) }

// RecordAway is since when the event store has not taken the events of transactions, and why; no
// error: it takes them. Meanwhile they wait in the outbox.
func (m *Market) RecordAway() (since time.Time, reason error) { return m.tx.RecordAway() }

// Connection is, as Blocks and Transactions are, what another contract of the same account
// shares with the market. They end with the market.
func (m *Market) Connection() *rpc.Conn { return m.conn }

// Blocks is the block time; see Connection.
func (m *Market) Blocks() *rpc.BlockTime { return m.blocks }

// Transactions is the transaction manager; see Connection.
func (m *Market) Transactions() *tx.Manager { return m.tx }

// Identity is the identity of the market's chain.
func (m *Market) Identity() rpc.Identity { return m.identity }

// Token is the address of the token that the market pays in.
func (m *Market) Token() events.Address { return events.Address(m.tokenAddress()) }
