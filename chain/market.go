package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// Market is the marketplace contract as one host sees it. All methods are safe for concurrent use
// and may be repeated. Errors other than the outcomes named in package events are temporary, except
// *IdentityError, ErrTakenOver, ErrUsedElsewhere and ErrOutboxFailed.
//
// It reads from DialReader to Close. It sends, and knows what was sent, from Own to Disown; Dial is both.
type Market struct {
	cfg      Config
	conn     *rpc.Conn
	abis     abis
	contract common.Address
	token    common.Address
	account  common.Address
	identity rpc.Identity
	txs      *Transactions
	finality *feed.Finality
	blocks   *rpc.BlockTime
	// allowance is what the marketplace may take of our tokens.
	allowance *account.Allowance

	mu        sync.Mutex
	config    *events.MarketConfig // nil until it is read
	disagreed time.Time            // when a disagreement of two endpoints was last reported
}

// Dial is DialReader and Own, for a host of one process.
func Dial(ctx context.Context, cfg Config, store events.Store, outboxDir string) (*Market, error) {
	if !cfg.sends() {
		return nil, fmt.Errorf("%w: no key, and no signer", ErrConfig)
	}
	m, err := DialReader(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := m.Own(ctx, store, outboxDir); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// DialReader connects to the contract. The market reads, and sends nothing until Own; without a key or a
// signer it never does. Until then, calls that send transactions, or ask what became of them, end with the
// temporary error ErrNotOwner.
//
// Errors: ErrConfig, ErrUnavailable (but see Config.Waits), *IdentityError.
func DialReader(ctx context.Context, cfg Config) (*Market, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if cfg.Account.Zero() {
		return nil, fmt.Errorf("%w: neither a key nor an account", ErrConfig)
	}
	m := &Market{
		cfg: cfg, abis: newABIs(),
		contract: common.Address(cfg.Marketplace),
		account:  common.Address(cfg.Account),
		txs:      newTransactions(),
		blocks:   rpc.NewBlockTime(cfg.BlockTime, cfg.PollInterval, cfg.Log),
	}
	m.conn = rpc.New(cfg.connection(m.rereadConstants), m.contract)
	m.finality = feed.NewFinality(m.conn, cfg.Confirmations, cfg.Finalized, cfg.Log)
	m.allowance = account.New(account.Config{
		Conn: m.conn, Account: m.account, Contract: m.contract, Token: m.tokenAddress,
		Renew: cfg.Allowance, Gas: cfg.Gas.Approve,
	})
	err := m.untilAvailable(ctx, func(ctx context.Context) error {
		return errors.Join(m.readConstants(ctx), m.checkRecipient())
	})
	if err != nil {
		m.conn.Close()
		return nil, err
	}
	m.blocks.Begin(ctx, m.conn)
	return m, nil
}

// untilAvailable repeats a call that fails because an endpoint does not answer: once for each endpoint,
// and without end if Config.Waits is set.
func (m *Market) untilAvailable(ctx context.Context, call func(context.Context) error) error {
	err := call(ctx)
	for tried := 1; errors.Is(err, rpc.ErrUnavailable) && ctx.Err() == nil; tried++ {
		if tried%m.conn.NumberOfEndpoints() == 0 { // No endpoint answers.
			if m.cfg.Waits == nil {
				break
			}
			m.cfg.Waits(err)
			_ = retry.Sleep(ctx, min(dialPause, m.cfg.LongestRedialWait))
		}
		err = call(ctx)
	}
	return err
}

// dialPause is the pause between two rounds when no endpoint answers.
const dialPause = 2 * time.Second

// Own makes this process the one that sends the account's transactions: it opens the account's outbox in
// a directory, and takes up the transactions of the last owner. The caller makes sure that no other
// process owns them. Owning twice changes nothing; what has failed must be disowned first, and until
// then Own returns its Failure. A Disown ends an Own under way, with ErrNotOwner.
//
// The store may be away if the outbox was used before; then the account's stream is completed later. An
// outbox that was never used does not say where the stream ends, so then the store is needed.
//
// Without a store, as in a host whose start waits for it, nothing is compared with the stream or
// copied to it; the next Own does both. The outbox must have been used, and the ownership fails with
// ErrUsedElsewhere as soon as the chain has a transaction of the account that the outbox does not
// know.
//
// Errors: ErrConfig without a key or a signer, ErrUnavailable (but see Config.Waits), ErrForeignOutbox,
// ErrOutboxDamaged, ErrTakenOver, ErrUsedElsewhere, and those of the store and the file system.
func (m *Market) Own(ctx context.Context, store events.Store, outboxDir string) error {
	if !m.cfg.sends() {
		return fmt.Errorf("%w: without the account's key or a signer, no transactions can be sent", ErrConfig)
	}
	return m.txs.own(ctx, func(ctx context.Context) (manager *tx.Manager, err error) {
		err = m.untilAvailable(ctx, func(ctx context.Context) error {
			manager, err = tx.Open(ctx, m.transactions(), m.conn, m.blocks, store, outboxDir)
			return err
		})
		return manager, err
	})
}

// Disown ends what Own began, and closes the outbox. Calls under way that need the transactions end at
// once with ErrNotOwner; what they have sent may still be mined. It waits a short time for events to be
// copied to the store. Disowning twice changes nothing.
func (m *Market) Disown() error { return m.txs.disown() }

// transactions is the configuration of the account's transactions.
func (m *Market) transactions() tx.Config {
	cfg := &m.cfg
	// A fill counts at once: from its block on the slot owes proofs, and with twelve confirmations of twelve
	// seconds its first period would be over before the host knew.
	kinds := map[string]tx.Kind{
		kindProof: {Duty: true, Permanent: permanentRefusal}, kindFill: {AtOnce: true, Permanent: permanentRefusal},
	}
	return tx.Config{
		Key: cfg.Key, Signer: cfg.Signer, Account: m.account, LongestPause: cfg.LongestRedialWait,
		Chain: m.identity,
		Contracts: append([]tx.Contract{
			{Kinds: kinds, Refusals: m.refusals, IsHostCall: m.isHostCall(), InUse: m.slotsOfOthers},
		}, cfg.OtherContracts...),
		Confirmations: cfg.Confirmations, StuckBlocks: cfg.StuckBlocks,
		MaxFeeCapWei: cfg.MaxFeeCapWei, MinTipWei: cfg.MinTipWei, MaxTipWei: cfg.MaxTipWei, MaxGas: cfg.MaxGas,
		MaxInFlight: int(cfg.MaxInFlight), DutyHold: cfg.FillHold, FeeLimited: cfg.FeeLimited,
		Began: cfg.Began, TakeOver: cfg.TakeOver, UsedElsewhere: cfg.UsedElsewhere,
		RecordFirst: cfg.RecordFirst, UnknownNonceBlocks: cfg.UnknownNonceBlocks,
		Epoch: cfg.Epoch, Node: cfg.Node, Log: cfg.Log,
	}
}

// Close disowns the transactions for good, and closes the connection. Transactions that are under way
// continue at the next start.
func (m *Market) Close() error {
	err := m.txs.close()
	m.conn.Close()
	return err
}

// Failed is closed when the transactions that this process owns are not sent any more, in this ownership
// or, if there is none, in the next one that fails; Failure says why. The end of an ownership by Disown is
// no failure. Only Disown, and another Own, changes a failure: Failed is a new channel after Disown. A
// host of one process should end.
func (m *Market) Failed() <-chan struct{} {
	m.txs.mu.Lock()
	defer m.txs.mu.Unlock()
	return m.txs.failed
}

// Failure is the reason why the transactions that this process owns are not sent any more: ErrTakenOver,
// ErrUsedElsewhere or ErrOutboxFailed; nil: they are sent, or this process does not own them.
func (m *Market) Failure() error {
	if manager := m.txs.manager(); manager != nil {
		return manager.Failure()
	}
	return nil
}

// DutiesDue tells the market by when, in chain time, the earliest unsubmitted proof must be mined;
// zero: there is none. When that is near, only proofs are sent, and what is due before them. It
// does not block. The last call counts, until its time has passed.
func (m *Market) DutiesDue(next time.Time) { m.txs.DutiesDue(kindProof, next) }

// RecordAway is since when the event store has not taken the events of transactions, and why; no
// error: it takes them, or this process does not own the transactions. Meanwhile they wait in the outbox.
func (m *Market) RecordAway() (since time.Time, reason error) {
	if manager := m.txs.manager(); manager != nil {
		return manager.RecordAway()
	}
	return time.Time{}, nil
}

// Shared is what another contract of the same account shares with the market. It ends with the market.
func (m *Market) Shared() account.Account {
	return account.Account{Address: m.Account(), Conn: m.conn, Blocks: m.blocks, Tx: m.txs, Finality: m.finality}
}

// Identity is the identity of the market's chain.
func (m *Market) Identity() rpc.Identity { return m.identity }

// Token is the address of the token that the market pays in.
func (m *Market) Token() events.Address { return events.Address(m.tokenAddress()) }
