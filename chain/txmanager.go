package chain

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Limits of the transaction manager.
const (
	// maxOpenIntents is the most intents that wait; a caller beyond gets an error.
	maxOpenIntents = 1024
	// maxDoneIntents is how many finished intents are remembered.
	maxDoneIntents = 4096
	// displacedBlocks is in how many blocks a used nonce must be without a receipt of
	// ours before it counts as used by somebody else: nodes behind one address may lag.
	displacedBlocks = 3
	gapPrefix       = "gap:"
)

// ErrStopped: the transaction manager does not run any more.
var ErrStopped = errors.New("transaction manager is stopped")

// txCall is a transaction that somebody wants.
type txCall struct {
	key string // without the try
	// alone is the beginning of keys of which no other one may be under way, or have
	// succeeded since the caller looked, at this revision of the account's record.
	alone       string
	looked      uint64
	to          common.Address
	data        []byte
	gas         uint64
	deadline    time.Time // last chain time at which it may be mined; zero: none
	lastBlock   uint64    // number of the last block in which it may be mined; zero: any
	correlation string
}

// result is the end of an intent: a receipt, or an outcome of the port.
type result struct {
	receipt *types.Receipt
	err     error
}

// txManager owns an account: it alone signs for it. Its state belongs to one goroutine,
// run; everybody else talks to it through channels. For each intent the order is: write
// the intent, write the attempt, send it, and only then wait; so after a crash
// everything that may be in a pool is known, and an intent without an attempt was never
// sent.
type txManager struct {
	cfg     txConfig
	conn    *rpc.Conn
	account common.Address
	signer  types.Signer
	outbox  *outbox
	copier  *copier
	log     logrus.FieldLogger

	requests chan func(context.Context)
	stop     context.CancelFunc
	stopped  chan struct{}

	book      *txBook
	rechecks  []recheck
	seen      common.Hash // the newest block at the last step
	lastHead  *rpc.Header // the newest block of all steps
	lastCount uint64      // of transactions mined, at that block
	lookedAt  time.Time   // when the chain was last looked at, by the machine's clock
	suspect   bool        // blocks may have been dropped since receipts were told
	answers   bool        // the chain did when it was last looked at
	others    foreignWatch
	fees      feeWatch
	tipPrice  tipPrice
	spent     gasSpent
	blocks    *rpc.BlockTime
	due       atomic.Int64 // by when the next proof must be mined, in chain seconds
}

// txConfig is of an account. All of it is set but what says otherwise.
type txConfig struct {
	key   *ecdsa.PrivateKey
	chain rpc.Identity
	// kinds are those of which the manager must know something, by the word with which their
	// keys begin; any other kind has no needs of its own.
	kinds map[string]txKind
	// refusals says what it means that a contract reverts a call.
	refusals rpc.Refusals
	// isHostCall says that only a host makes a call.
	isHostCall func(to common.Address, input []byte) bool
	// inUse says what the contracts have of this account, of which a new record knows
	// nothing; empty: nothing.
	inUse func(context.Context) (string, error)

	confirmations uint64 // blocks, the transaction's own included
	stuckBlocks   uint64 // without being mined, before a higher fee is offered
	maxFeeCapWei  uint64
	minTipWei     uint64
	maxTipWei     uint64 // of a first offer
	maxInFlight   int
	fillHold      uint64         // blocks
	feeLimited    func(FeeLimit) // perhaps nil

	began         time.Time        // since when this host runs
	takeOver      bool             // it begins, and stays, whoever else uses the account
	usedElsewhere func(ForeignUse) // perhaps nil

	epoch uint64
	node  string
	log   logrus.FieldLogger
}

func (cfg *txConfig) account() common.Address { return crypto.PubkeyToAddress(cfg.key.PublicKey) }

// recheck asks whether a receipt that was final for us still stands.
type recheck struct {
	in   *intent
	wait chan result
}

func startTxManager(
	cfg txConfig, c *rpc.Conn, blocks *rpc.BlockTime, others foreignWatch, box *outbox, entries []entry, cp *copier,
) *txManager {
	m := &txManager{
		cfg: cfg, conn: c, blocks: blocks, account: cfg.account(), outbox: box, copier: cp, log: cfg.log,
		signer:   types.LatestSignerForChainID(newBig(cfg.chain.ChainID)),
		requests: make(chan func(context.Context)),
		stopped:  make(chan struct{}),
		book:     newTxBook(cfg.kinds),
		others:   others,
	}
	for _, r := range entries {
		m.book.apply(r)
	}
	for _, in := range m.book.doneLog {
		if in.succeeded {
			m.spent.note(kindOf(in.base), in.receipt.GetGasUsed())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go m.run(ctx)
	return m
}

// close stops the manager, and closes the outbox after what waits was copied, if that does not
// take long. Transactions that are under way go on at the next start.
func (m *txManager) close() error {
	m.stop()
	<-m.stopped
	m.copier.close()
	return m.outbox.close()
}

// failed is closed when no transaction is sent any more, for the reason that failure gives.
func (m *txManager) failed() <-chan struct{} { return m.copier.down.done }

// failure is why no transaction is sent any more; nil: all is well.
func (m *txManager) failure() error { return m.copier.failure() }

// recordAway is since when the event store has not taken the events of transactions, and
// why; no error: it does.
func (m *txManager) recordAway() (since time.Time, reason error) { return m.copier.away() }

// dutiesDue says by when the earliest duty that is not handed in must be mined, in chain time;
// zero: none is. It does not block; the last word counts, until its time has passed.
func (m *txManager) dutiesDue(next time.Time) { m.due.Store(next.Unix()) }

func (m *txManager) run(ctx context.Context) {
	defer close(m.stopped)
	defer m.leave()
	m.dropUnsent()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			m.lastLook()
			return
		case f := <-m.requests:
			f(ctx)
		case <-timer.C:
		}
		if m.busy() {
			if err := m.step(ctx); err != nil && ctx.Err() == nil {
				m.log.WithError(err).Debug("transactions: step")
			}
		}
		timer.Reset(m.blocks.Poll())
	}
}

// busy says that the chain must be looked at.
func (m *txManager) busy() bool {
	if len(m.book.open) > 0 || len(m.rechecks) > 0 {
		return true
	}
	pause := m.idlePause()
	if m.watching() {
		pause = m.watchPause()
	}
	return time.Since(m.lookedAt) >= pause
}

// leave releases everybody who waits.
func (m *txManager) leave() {
	for _, in := range m.book.open {
		m.answer(in, result{err: ErrStopped})
	}
	for _, r := range m.rechecks {
		r.wait <- result{err: ErrStopped}
	}
}

// dropUnsent ends intents of the last run that never were sent: whether they are still
// right, only their caller can say.
func (m *txManager) dropUnsent() {
	for _, in := range slices.Clone(m.book.open) {
		if !in.sent() {
			m.abandon(in, "the process ended before it was sent", ErrStopped)
		}
		in.doubtful = true
	}
}

// do runs f in the owner's goroutine.
func (m *txManager) do(ctx context.Context, f func(context.Context)) error {
	select {
	case m.requests <- f:
		return nil
	case <-m.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await is the caller's side of a waiter.
func (m *txManager) await(ctx context.Context, wait chan result) (*types.Receipt, error) {
	select {
	case r := <-wait:
		return r.receipt, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// submit brings a call onto the chain and returns its receipt when it has the configured
// confirmations. When the same call succeeded before, it returns that receipt; when it
// is under way, it waits for it. When ctx ends, the transaction goes on; a repeated
// submit finds it. Errors: outcomes of the port, ErrStopped, ErrOutboxFailed.
func (m *txManager) submit(ctx context.Context, c txCall) (*types.Receipt, error) {
	wait := make(chan result, 1)
	if err := m.do(ctx, func(context.Context) { m.accept(c, wait) }); err != nil {
		return nil, err
	}
	return m.await(ctx, wait)
}

// again is submit, except that an earlier success does not count.
func (m *txManager) again(ctx context.Context, c txCall) (*types.Receipt, error) {
	wait := make(chan result, 1)
	err := m.do(ctx, func(context.Context) {
		if in := m.book.latest[c.key]; in != nil && in.done {
			m.begin(c, in.try+1, wait)
			return
		}
		m.accept(c, wait)
	})
	if err != nil {
		return nil, err
	}
	return m.await(ctx, wait)
}

// errOther is temporary.
var errOther = errors.New("another transaction for the same purpose is under way")

// another reports whether there is a transaction with another key than this call's that
// must not be beside it.
func (m *txManager) another(c txCall) bool {
	rival := func(in *intent) bool { return in.base != c.key && strings.HasPrefix(in.base, c.alone) }
	late := func(in *intent) bool {
		return in.succeeded && in.entries[len(in.entries)-1].Revision >= c.looked && rival(in)
	}
	return c.alone != "" && (slices.ContainsFunc(m.book.open, rival) || slices.ContainsFunc(m.book.doneLog, late))
}

func (m *txManager) accept(c txCall, wait chan result) {
	in := m.book.latest[c.key]
	switch {
	case m.another(c):
		wait <- result{err: errOther}
	case m.failure() != nil:
		wait <- result{err: m.failure()}
	case in == nil:
		m.begin(c, 1, wait)
	case !in.done:
		in.waiters = append(in.waiters, wait)
	case in.succeeded:
		m.rechecks = append(m.rechecks, recheck{in, wait})
	default:
		m.begin(c, in.try+1, wait)
	}
}

func (m *txManager) begin(c txCall, try int, wait chan result) {
	if err := m.failure(); err != nil {
		wait <- result{err: err}
		return
	}
	if len(m.book.open) >= maxOpenIntents {
		wait <- result{err: fmt.Errorf("%d transactions are waiting, the limit", maxOpenIntents)}
		return
	}
	if err := m.copier.room(); err != nil {
		wait <- result{err: err}
		return
	}
	key := joinKey(c.key, try)
	err := m.write(&messages.TxIntended{
		At:       timestamppb.Now(),
		Key:      key,
		To:       events.Address(c.to).String(),
		Data:     "0x" + hex.EncodeToString(c.data),
		Deadline: events.TimeToMessage(c.deadline),
	}, c.correlation)
	if err != nil {
		wait <- result{err: err}
		return
	}
	in := m.book.intents[key]
	in.gas, in.lastBlock = c.gas, c.lastBlock
	in.waiters = append(in.waiters, wait)
}

// write writes an event to the outbox, folds it, and lets it be copied.
func (m *txManager) write(e messages.TxEvent, correlation string) error {
	r, err := m.outbox.add(e, correlation)
	if err != nil {
		if errors.Is(err, ErrOutboxFailed) {
			m.copier.down.set(err)
		}
		return err
	}
	m.book.apply(r)
	m.copier.put(r)
	return nil
}

func (m *txManager) answer(in *intent, r result) {
	for _, wait := range in.waiters {
		wait <- r
	}
	in.waiters = nil
}

// abandon ends an intent that will never be mined.
func (m *txManager) abandon(in *intent, reason string, outcome error) {
	err := m.write(&messages.TxAbandoned{At: timestamppb.Now(), Key: in.key, Reason: reason}, in.correlation)
	if err != nil {
		m.log.WithError(err).WithField("tx", in.key).Error("transactions: abandon")
	}
	m.answer(in, result{err: fmt.Errorf("%w: %s", outcome, reason)})
}
