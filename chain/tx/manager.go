package tx

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Limits of the transaction manager.
const (
	// maxOpenIntents is the most intents that may wait; beyond it, callers get an error.
	maxOpenIntents = 1024
	// maxDoneIntents is the number of finished intents that are remembered.
	maxDoneIntents = 4096
	// usedElsewhereBlocks is in how many blocks a nonce must be used without a receipt of ours before
	// we conclude that somebody else used it: of several nodes behind one address, some lag.
	usedElsewhereBlocks = 3
	// gapKind is the kind of empty transactions that fill a nonce gap.
	gapKind   = "gap"
	gapPrefix = gapKind + ":"
)

// ErrStopped: the transaction manager is stopped.
var ErrStopped = errors.New("transaction manager is stopped")

// Call is a transaction that somebody wants.
type Call struct {
	Key string // without the try
	// Alone is a prefix of keys. The call is refused while another one with such a key is under
	// way, or when one succeeded after revision Looked of the account's record.
	Alone       string
	Looked      uint64
	To          common.Address
	Data        []byte
	Value       events.Amount // in wei, paid to the contract
	Gas         uint64
	Deadline    time.Time // last chain time at which it may be mined; zero: none
	LastBlock   uint64    // the last block in which it may be mined; zero: any
	Correlation string
}

// result is the end of an intent: a receipt or an error.
type result struct {
	receipt *types.Receipt
	err     error
}

// Manager owns an account: it alone has it signed for. Its state belongs to one goroutine, run;
// everybody else talks to it through channels. For each intent the order is: write the intent,
// write the attempt, send it, and only then wait. So after a crash everything that may be in a
// mempool is known, and an intent without an attempt was never sent.
type Manager struct {
	cfg     Config
	conn    *rpc.Conn
	account common.Address
	signer  types.Signer
	outbox  *outbox
	copier  *copier
	log     logrus.FieldLogger

	requests chan func(context.Context)
	stop     context.CancelFunc
	stopped  chan struct{}

	book      *book
	rechecks  []recheck
	seen      common.Hash // the newest block at the last step
	lastHead  *rpc.Header // the newest block of all steps
	lastCount uint64      // mined transactions, at that block
	lookedAt  time.Time   // the last look at the chain, by the machine's clock
	suspect   bool        // blocks may have been dropped since receipts were returned
	answers   bool        // the chain answered at the last look
	others    foreignWatch
	feeLimit  atomic.Pointer[FeeLimit] // nil: it holds nothing up
	tipWei    *big.Int                 // per gas; nil: not asked yet
	tipAt     common.Hash              // the block at which it was asked
	enough    map[string]uint64        // by kind, the newest block at which its measured gas was enough
	floorWei  *big.Int                 // per gas, the least tip that the node takes, as of the last price
	spent     sync.Map                 // of kinds: the gas used by the newest successful call
	blocks    *rpc.BlockTime
	due       dueTimes
	unknown   unknownNonces

	asked       *question // nil: no signature is asked for
	askAfter    time.Time // when the next one may be
	replies     chan reply
	lastRefusal atomic.Pointer[error] // why the last one did not come; nil: it came
}

// recheck is a question whether a receipt that counted as final still holds.
type recheck struct {
	in   *intent
	wait chan result
}

func start(
	cfg Config, c *rpc.Conn, blocks *rpc.BlockTime, others foreignWatch, box *outbox, entries []entry, cp *copier,
) *Manager {
	m := &Manager{
		cfg: cfg, conn: c, blocks: blocks, account: cfg.account(), outbox: box, copier: cp, log: cfg.Log,
		signer:   types.LatestSignerForChainID(newBig(cfg.Chain.ChainID)),
		requests: make(chan func(context.Context)),
		stopped:  make(chan struct{}),
		replies:  make(chan reply, 1),
		book:     newBook(cfg.contract.Kinds),
		others:   others,
		floorWei: new(big.Int),
		enough:   map[string]uint64{},
	}
	for _, r := range entries {
		m.book.apply(r)
	}
	for _, in := range m.book.doneLog {
		if in.succeeded {
			m.spent.Store(kindOf(in.base), in.receipt.GetGasUsed())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go m.run(ctx)
	return m
}

// Close stops the manager. It waits a short time for pending entries to be copied, and closes the
// outbox. Transactions that are under way continue at the next start.
func (m *Manager) Close() error {
	m.stop()
	<-m.stopped
	m.copier.close()
	return m.outbox.close()
}

// Failed is closed when no transaction is sent any more; Failure says why.
func (m *Manager) Failed() <-chan struct{} { return m.copier.down.Done() }

// Failure is the reason why no transaction is sent any more; nil: they are sent.
func (m *Manager) Failure() error { return m.copier.failure() }

// RecordAway is since when the event store has not taken the events of transactions, and why; no
// error: it takes them.
func (m *Manager) RecordAway() (since time.Time, reason error) { return m.copier.away() }

// DutiesDue tells the manager by when, in chain time, the earliest unsubmitted duty of a kind must
// be mined; zero: there is none. The last call counts, until its time has passed. It does not
// block.
func (m *Manager) DutiesDue(kind string, next time.Time) { m.due.set(kind, next) }

func (m *Manager) run(ctx context.Context) {
	defer close(m.stopped)
	defer m.failWaiters(ErrStopped)
	m.dropUnsent()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			m.lastLook()
			if m.asked != nil { // Sign returns, because ctx has ended.
				<-m.replies
			}
			return
		case f := <-m.requests:
			f(ctx)
		case <-m.copier.news:
			m.tellRecorded()
		case r := <-m.replies:
			m.take(r)
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

// busy says that it is time to look at the chain.
func (m *Manager) busy() bool {
	if len(m.book.open) > 0 || len(m.rechecks) > 0 {
		return true
	}
	pause := m.idlePause()
	if m.watching() {
		pause = m.watchPause()
	}
	return time.Since(m.lookedAt) >= pause
}

// dropUnsent ends the last run's intents that were never sent: only their callers know whether they
// are still right.
func (m *Manager) dropUnsent() {
	for _, in := range slices.Clone(m.book.open) {
		if !in.sent() {
			m.abandon(in, "the process ended before it was sent", ErrStopped)
		}
		in.unchecked = true
	}
}

// do runs f in the manager's goroutine.
func (m *Manager) do(ctx context.Context, f func(context.Context)) error {
	select {
	case m.requests <- f:
		return nil
	case <-m.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await waits for the result of an intent.
func (m *Manager) await(ctx context.Context, wait chan result) (*types.Receipt, error) {
	select {
	case r := <-wait:
		return r.receipt, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Submit sends a call and returns its receipt when it has the configured confirmations. If the same
// call succeeded before, it returns that receipt; if it is under way, it waits for it. When ctx
// ends the transaction goes on, and a repeated Submit finds it. Errors: outcomes of the port,
// ErrStopped, ErrOutboxFailed.
func (m *Manager) Submit(ctx context.Context, c Call) (*types.Receipt, error) {
	return m.submit(ctx, c, m.accept)
}

// Again is Submit, except that an earlier success does not count.
func (m *Manager) Again(ctx context.Context, c Call) (*types.Receipt, error) {
	return m.submit(ctx, c, func(c Call, wait chan result) {
		if in := m.book.latest[c.Key]; in != nil && in.done {
			m.begin(c, in.try+1, wait)
			return
		}
		m.accept(c, wait)
	})
}

func (m *Manager) submit(ctx context.Context, c Call, accept func(Call, chan result)) (*types.Receipt, error) {
	wait := make(chan result, 1)
	if err := m.do(ctx, func(context.Context) { accept(c, wait) }); err != nil {
		return nil, err
	}
	return m.awaitCall(ctx, c, wait)
}

// errOther is temporary.
var errOther = errors.New("another transaction for the same purpose is under way")

// another reports whether a transaction with another key rules this call out, as Call.Alone
// describes.
func (m *Manager) another(c Call) bool {
	rival := func(in *intent) bool { return in.base != c.Key && strings.HasPrefix(in.base, c.Alone) }
	late := func(in *intent) bool {
		return in.succeeded && in.entries[len(in.entries)-1].Revision >= c.Looked && rival(in)
	}
	return c.Alone != "" && (slices.ContainsFunc(m.book.open, rival) || slices.ContainsFunc(m.book.doneLog, late))
}

func (m *Manager) accept(c Call, wait chan result) {
	in := m.book.latest[c.Key]
	switch {
	case m.another(c):
		wait <- result{err: errOther}
	case m.Failure() != nil:
		wait <- result{err: m.Failure()}
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

func (m *Manager) begin(c Call, try int, wait chan result) {
	if err := m.Failure(); err != nil {
		wait <- result{err: err}
		return
	}
	if len(m.book.open) >= maxOpenIntents {
		wait <- result{err: fmt.Errorf("%d transactions are waiting, which is the limit", maxOpenIntents)}
		return
	}
	if err := m.copier.room(); err != nil {
		wait <- result{err: err}
		return
	}
	key := joinKey(c.Key, try)
	intended := &messages.TxIntended{
		At:       timestamppb.Now(),
		Key:      key,
		To:       events.Address(c.To).String(),
		Data:     "0x" + hex.EncodeToString(c.Data),
		Deadline: events.TimeToMessage(c.Deadline),
	}
	if !c.Value.IsZero() {
		intended.ValueWei = proto.String(c.Value.String())
	}
	err := m.write(intended, c.Correlation)
	if err != nil {
		wait <- result{err: err}
		return
	}
	in := m.book.intents[key]
	in.gas, in.lastBlock = c.Gas, c.LastBlock
	in.waiters = append(in.waiters, wait)
}

// write writes an event to the outbox, folds it, and hands it to the copier.
func (m *Manager) write(e messages.TxEvent, correlation string) error {
	r, err := m.outbox.add(e, correlation)
	if err != nil {
		if errors.Is(err, ErrOutboxFailed) {
			m.copier.fail(err)
		}
		return err
	}
	m.book.apply(r)
	m.copier.put(r)
	return nil
}

func (m *Manager) answer(in *intent, r result) {
	for _, wait := range in.waiters {
		wait <- r
	}
	in.waiters = nil
}

// abandon ends an intent that will never be mined.
func (m *Manager) abandon(in *intent, reason string, outcome error) {
	m.end(in, reason, fmt.Errorf("%w: %s", outcome, reason))
}

// end is abandon with the answer as it is.
func (m *Manager) end(in *intent, reason string, answer error) {
	err := m.write(&messages.TxAbandoned{At: timestamppb.Now(), Key: in.key, Reason: reason}, in.correlation)
	if err != nil {
		m.log.WithError(err).WithField("tx", in.key).Error("transactions: abandon")
	}
	m.answer(in, result{err: answer})
}
