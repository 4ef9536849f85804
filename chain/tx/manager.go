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
	// maxOpenIntents is the most intents that may wait; beyond it, callers get an error. Others may never keep a
	// duty out, so twice as many may wait if they are duties.
	maxOpenIntents = 1024
	// maxDoneIntents is the number of finished intents that are remembered.
	maxDoneIntents = 4096
	// usedElsewhereBlocks is in how many blocks a nonce must be used without a receipt of ours before the blocks
	// themselves are asked who used it: of several nodes behind one address, some lag.
	usedElsewhereBlocks = 3
	// gapKind is the kind of empty transactions that fill a nonce gap.
	gapKind   = "gap"
	gapPrefix = gapKind + ":"
)

// ErrStopped: the transaction manager is stopped.
var ErrStopped = errors.New("transaction manager is stopped")

// Call is a transaction that a caller wants.
type Call struct {
	Key string // without the try
	// ExclusivePrefix is a prefix of keys. The call is refused while another one with such a key is under
	// way, or when one succeeded after SinceRevision of the account's record.
	ExclusivePrefix string
	SinceRevision   uint64
	To              common.Address
	Data            []byte
	Value           events.Amount // in wei, paid to the contract
	Gas             uint64
	Deadline        time.Time // last chain time at which it may be mined; zero: none
	LastBlock       uint64    // the last block in which it may be mined; zero: any
	Correlation     string
}

// result is the end of an intent: a receipt or an error.
type result struct {
	receipt *types.Receipt
	err     error
}

// Manager owns an account: it alone has it signed for. One goroutine, run, looks at the chain, once per block
// for all intents, and sends. It lets go of the state while it asks the node, so that questions are
// answered, and calls taken, from what is known. Others only add to the state: calls, and who waits for
// them.
//
// For each intent the order is: write the intent, write the attempt, send it, and only then wait. So after
// a crash everything that may be in a mempool is known, and an intent without an attempt was never sent.
type Manager struct {
	*node
	cfg Config
	log logrus.FieldLogger

	stop    context.CancelFunc
	stopped chan struct{}
	wake    chan struct{} // buffered, one; filled when there is something to do

	mu       sync.Mutex // guards what follows; see asking
	ended    bool
	rec      *record
	heads    *heads
	fees     *fees
	gas      *gas
	signing  *signing
	nonces   *nonces
	duties   *duties
	others   *foreignWatch
	outcomes *outcomes

	looked   chan struct{} // closed after each look
	wanted   bool          // a caller waits for a look
	answers  bool          // the chain answered at the last look
	troubled bool          // see tellTrouble
}

// record is the account's record: the outbox, its copy in the stream, and the fold of both.
type record struct {
	cfg    *Config
	outbox *outbox
	copier *copier
	book   *book
	log    logrus.FieldLogger
}

func start(
	cfg Config, c *rpc.Conn, blocks *rpc.BlockTime, others *foreignWatch, box *outbox, entries []entry, cp *copier,
) *Manager {
	m := &Manager{
		cfg: cfg, log: cfg.Log,
		stopped: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		looked:  make(chan struct{}),
	}
	n := &node{mu: &m.mu, conn: c, blocks: blocks, account: cfg.Account}
	rec := &record{cfg: &m.cfg, outbox: box, copier: cp, book: newBook(cfg.contract.Kinds), log: cfg.Log}
	others.node, others.rec = n, rec
	m.node, m.rec, m.others = n, rec, others
	m.heads = &heads{node: n, rec: rec}
	m.fees = &fees{node: n, cfg: &m.cfg, log: cfg.Log, floorWei: new(big.Int)}
	m.gas = &gas{node: n, rec: rec, enough: map[string]uint64{}}
	m.signing = &signing{
		cfg: &m.cfg, log: cfg.Log, account: n.account, wake: m.wake, replies: make(chan reply, 1),
		signer: types.LatestSignerForChainID(newBig(cfg.Chain.ChainID)),
	}
	m.nonces = &nonces{node: n, rec: rec}
	m.duties = &duties{node: n, rec: rec}
	m.outcomes = &outcomes{node: n, rec: rec, heads: m.heads, gas: m.gas, others: others}
	for _, r := range entries {
		m.rec.book.apply(r)
	}
	for _, in := range m.rec.book.doneLog {
		if in.succeeded {
			m.outcomes.spent.Store(kindOf(in.base), in.receipt.GetGasUsed())
		}
	}
	rec.dropUnsent() // Before a call can come, which would be taken for one of the last run.
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
	m.rec.copier.close()
	return m.rec.outbox.close()
}

// Failed is closed when no transaction is sent any more; Failure says why.
func (m *Manager) Failed() <-chan struct{} { return m.rec.copier.down.Done() }

// Failure is the reason why no transaction is sent any more; nil: they are sent.
func (m *Manager) Failure() error { return m.rec.copier.failure() }

// RecordAway is since when the event store has not taken the events of transactions, and why; no
// error: it takes them.
func (m *Manager) RecordAway() (since time.Time, reason error) { return m.rec.copier.away() }

// DutiesDue tells the manager by when, in chain time, the earliest unsubmitted duty of a kind must
// be mined; zero: there is none. The last call counts, until its time has passed. It does not
// block.
func (m *Manager) DutiesDue(kind string, next time.Time) { m.duties.set(kind, next) }

func (m *Manager) run(ctx context.Context) {
	defer close(m.stopped)
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil {
		m.turn(ctx)
		m.asking(func() { m.pause(ctx) })
		m.others.tellRecorded()
		if m.signing.asked != nil {
			select {
			case r := <-m.signing.replies:
				m.take(r)
			default:
			}
		}
	}
	m.lastLook()
	if m.signing.asked != nil { // Sign returns, because ctx has ended.
		<-m.signing.replies
	}
	m.ended = true
	m.failWaiters(ErrStopped)
}

// pause waits until there is something to do.
func (m *Manager) pause(ctx context.Context) {
	timer := time.NewTimer(m.blocks.Poll())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-m.wake:
	case <-m.rec.copier.news:
	case <-timer.C:
	}
}

// turn looks at the chain if it is time for that, or else only sends what is new.
func (m *Manager) turn(ctx context.Context) {
	err := m.Failure()
	switch {
	case err != nil:
		m.failWaiters(err)
		m.tellLooked()
		return
	case m.wanted || m.busy() && time.Since(m.heads.lookedAt) >= m.blocks.Poll():
		err = m.step(ctx)
	case m.answers && m.hasOutgoing():
		err = m.send(ctx, observation{head: m.heads.lastHead, count: m.heads.lastCount})
	}
	if ctx.Err() == nil {
		m.tellTrouble(err)
	}
}

// tellLooked tells those who wait for a look at the chain that there was one, or that none is to be had.
func (m *Manager) tellLooked() {
	m.wanted = false
	close(m.looked)
	m.looked = make(chan struct{})
}

// tellTrouble logs why something could not be asked or sent, when that begins. That the node does not answer is
// told elsewhere.
func (m *Manager) tellTrouble(err error) {
	level := logrus.DebugLevel
	serious := err != nil && !errors.Is(err, rpc.ErrUnavailable)
	if serious && !m.troubled {
		level = logrus.WarnLevel
	}
	if m.troubled = serious || m.troubled && err != nil; err != nil {
		m.log.WithError(err).Log(level, "transactions: not all was asked and sent; it is tried again with each look")
	}
}

// busy says that there is something to look for on the chain.
func (m *Manager) busy() bool {
	if len(m.rec.book.open) > 0 || len(m.outcomes.rechecks) > 0 {
		return true
	}
	pause := m.heads.idlePause()
	if m.heads.watching() {
		pause = m.heads.watchPause()
	}
	return time.Since(m.heads.lookedAt) >= pause
}

// hasOutgoing says that something may be sent that was not.
func (m *Manager) hasOutgoing() bool {
	return slices.ContainsFunc(m.rec.book.open, func(in *intent) bool { return !in.sent() || in.outgoing })
}

// dropUnsent ends the last run's intents that were never sent: only their callers know whether they
// are still right.
func (rec *record) dropUnsent() {
	for _, in := range slices.Clone(rec.book.open) {
		if !in.sent() {
			rec.abandon(in, "the process ended before it was sent", ErrStopped)
		}
		in.unchecked = true
	}
}

// with runs f with the state.
func (m *Manager) with(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return ErrStopped
	}
	f()
	return nil
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
		if in := m.rec.book.latest[c.Key]; in != nil && in.done {
			m.begin(c, in.try+1, wait)
			return
		}
		m.accept(c, wait)
	})
}

func (m *Manager) submit(ctx context.Context, c Call, accept func(Call, chan result)) (*types.Receipt, error) {
	wait := make(chan result, 1)
	if err := m.with(func() { accept(c, wait) }); err != nil {
		return nil, err
	}
	hint(m.wake)
	return m.awaitCall(ctx, c, wait)
}

// errOther is temporary.
var errOther = errors.New("another transaction for the same purpose is under way")

// another reports whether a transaction with another key rules this call out, as
// Call.ExclusivePrefix describes.
func (b *book) another(c Call) bool {
	rival := func(in *intent) bool { return in.base != c.Key && strings.HasPrefix(in.base, c.ExclusivePrefix) }
	late := func(in *intent) bool {
		return in.succeeded && in.entries[len(in.entries)-1].Revision >= c.SinceRevision && rival(in)
	}
	return c.ExclusivePrefix != "" && (slices.ContainsFunc(b.open, rival) || slices.ContainsFunc(b.doneLog, late))
}

func (m *Manager) accept(c Call, wait chan result) {
	in := m.rec.book.latest[c.Key]
	switch {
	case m.rec.book.another(c):
		wait <- result{err: errOther}
	case m.Failure() != nil:
		wait <- result{err: m.Failure()}
	case in == nil:
		m.begin(c, 1, wait)
	case !in.done:
		in.waiters = append(in.waiters, wait)
	case in.succeeded:
		m.outcomes.rechecks = append(m.outcomes.rechecks, recheck{in, wait})
	default:
		m.begin(c, in.try+1, wait)
	}
}

func (m *Manager) begin(c Call, try int, wait chan result) {
	if err := m.Failure(); err != nil {
		wait <- result{err: err}
		return
	}
	most := maxOpenIntents
	if m.rec.book.kinds[kindOf(c.Key)].Duty {
		most *= 2
	}
	if len(m.rec.book.open) >= most {
		wait <- result{err: fmt.Errorf("%d transactions are waiting, which is the limit", most)}
		return
	}
	if err := m.rec.copier.room(); err != nil {
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
	err := m.rec.write(intended, c.Correlation)
	if err != nil {
		wait <- result{err: err}
		return
	}
	in := m.rec.book.intents[key]
	in.gas, in.lastBlock = c.Gas, c.LastBlock
	in.waiters = append(in.waiters, wait)
}

// write writes an event to the outbox, folds it, and hands it to the copier.
func (rec *record) write(e messages.TxEvent, correlation string) error {
	r, err := rec.outbox.add(e, correlation)
	if err != nil {
		if errors.Is(err, ErrOutboxFailed) {
			rec.copier.fail(err)
		}
		return err
	}
	rec.book.apply(r)
	rec.copier.put(r)
	return nil
}

func (rec *record) answer(in *intent, r result) {
	for _, wait := range in.waiters {
		wait <- r
	}
	in.waiters = nil
}

// abandon ends an intent that will never be mined.
func (rec *record) abandon(in *intent, reason string, outcome error) {
	rec.end(in, reason, fmt.Errorf("%w: %s", outcome, reason))
}

// end is abandon with the answer as it is.
func (rec *record) end(in *intent, reason string, answer error) {
	err := rec.write(&messages.TxAbandoned{At: timestamppb.Now(), Key: in.key, Reason: reason}, in.correlation)
	if err != nil {
		rec.log.WithError(err).WithField("tx", in.key).Error("transactions: abandon")
	}
	rec.answer(in, result{err: answer})
}
