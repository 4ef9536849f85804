package chain

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// follow looks after an intent that was sent: mined, displaced, late, stuck, or merely
// to be offered again.
func (m *txManager) follow(ctx context.Context, in *intent, head *header, count uint64) error {
	if in.sentAt == 0 {
		in.sentAt = uint64(head.Number)
	}
	if count > in.last().nonce {
		return m.followMined(ctx, in, head, count)
	}
	in.displaced = 0
	switch stuck := uint64(head.Number) >= in.sentAt+m.cfg.stuckBlocks; {
	case m.late(in.deadline, head) && !in.last().isNoop:
		return m.replace(ctx, in, head, true)
	case stuck || in.outpriced:
		return m.replace(ctx, in, head, in.last().isNoop)
	default:
		return m.publish(ctx, in, in.last())
	}
}

// followMined looks for the receipt of an intent whose nonce is used.
func (m *txManager) followMined(
	ctx context.Context, in *intent, head *header, count uint64,
) error {
	receipts, err := m.conn.receipts(ctx, in.hashes())
	if err != nil {
		return err
	}
	for i, r := range receipts {
		if r == nil {
			continue
		}
		in.displaced = 0
		block, err := m.conn.byNumber(ctx, r.BlockNumber.Uint64())
		if err != nil {
			return err
		}
		depth := r.BlockNumber.Uint64() + m.cfg.confirmations
		if block.Hash != r.BlockHash || uint64(head.Number)+1 < depth {
			return nil // Not settled yet; the next block may tell.
		}
		return m.settle(ctx, in, in.attempts[i], r)
	}
	if in.displaced++; in.displaced < displacedBlocks {
		return nil
	}
	in.displaced = 0
	switch {
	case in.gap:
		m.abandon(in, "the nonce is used", events.ErrReverted)
		return nil
	case m.late(in.deadline, head) || in.last().isNoop:
		m.abandon(in, "the nonce was used by another transaction", events.ErrDeadlinePassed)
		return nil
	}
	return m.attempt(ctx, in, head, attempt{nonce: m.nextNonce(count), gas: in.last().gas})
}

// settle records the end of an intent and tells who waits.
func (m *txManager) settle(ctx context.Context, in *intent, a attempt, r *types.Receipt) error {
	if a.isNoop {
		m.abandon(in, "replaced by an empty transaction", events.ErrDeadlinePassed)
		return nil
	}
	ours, err := m.conn.ourReceipt(ctx, r)
	if err != nil {
		return err
	}
	var outcome error
	mined := &messages.TxMined{
		At: timestamppb.Now(), Key: in.key, Receipt: events.ReceiptToMessage(ours),
		Succeeded: r.Status == types.ReceiptStatusSuccessful,
	}
	if !mined.GetSucceeded() {
		outcome = m.whyFailed(ctx, in, a, r)
		mined.Error = outcome.Error()
		outcome = fmt.Errorf("transaction %s: %w", r.TxHash, outcome)
	}
	if err := m.record(mined, in.correlation); err != nil {
		return err
	}
	m.answer(in, result{receipt: r, err: outcome})
	return nil
}

// whyFailed replays a failed transaction on the block before it: a receipt has no
// reason, and nodes keep the state of 128 blocks only.
func (m *txManager) whyFailed(ctx context.Context, in *intent, a attempt, r *types.Receipt) error {
	gas := hexutil.Uint64(a.gas)
	before := new(big.Int).Sub(r.BlockNumber, common.Big1)
	err := m.conn.call(ctx, nil, "eth_call",
		callArgs{From: m.account, To: in.to, Data: in.data, Gas: &gas}, hexutil.EncodeBig(before))
	data, reverted := revertData(err)
	name, known := contracts.DecodeRevert(data)
	switch {
	case r.GasUsed >= a.gas:
		return fmt.Errorf("%w: out of gas, the limit was %d", events.ErrReverted, a.gas)
	case reverted && known && !strings.HasPrefix(name, contracts.PanicPrefix):
		return revertError(data)
	default:
		return fmt.Errorf("%w: no reason was found", events.ErrReverted)
	}
}

// launch sends an intent for the first time.
func (m *txManager) launch(ctx context.Context, in *intent, head *header, count uint64) error {
	if m.late(in.deadline, head) {
		m.abandon(in, fmt.Sprintf("block %d of %s is too late for %s", head.Number,
			head.head().Time.Format("15:04:05"), in.deadline.Format("15:04:05")), events.ErrDeadlinePassed)
		return nil
	}
	flying := 0
	for _, o := range m.book.open {
		if o.sent() && o.last().nonce >= count {
			flying++
		}
	}
	if flying >= maxInFlight {
		return nil
	}
	return m.attempt(ctx, in, head, attempt{nonce: m.nextNonce(count), gas: in.gas})
}

// nextNonce is the first nonce from the mined count on that no open intent uses last.
func (m *txManager) nextNonce(count uint64) uint64 {
	next := count
	for _, o := range m.book.open {
		if o.sent() {
			next = max(next, o.last().nonce+1)
		}
	}
	return next
}

// fillGaps sends empty transactions for nonces that nobody uses; without them
// everything behind would wait for ever.
func (m *txManager) fillGaps(ctx context.Context, head *header, count uint64) {
	used := map[uint64]bool{}
	for _, o := range m.book.open {
		if o.sent() {
			used[o.last().nonce] = true
		}
	}
	for nonce := count; nonce < m.nextNonce(count); nonce++ {
		if used[nonce] {
			continue
		}
		base := fmt.Sprintf("%s%d", gapPrefix, nonce)
		try := 1
		if in := m.book.latest[base]; in != nil {
			try = in.try + 1
		}
		wait := make(chan result, 1) // Nobody waits for it.
		m.begin(txCall{key: base, to: m.account, gas: noopGas}, try, wait)
		in := m.book.intents[joinKey(base, try)]
		if in == nil {
			return
		}
		err := m.attempt(ctx, in, head, attempt{nonce: nonce, gas: noopGas, isNoop: true})
		if err != nil {
			m.log.WithError(err).Warn("transactions: fill a gap in the nonces")
			return
		}
	}
}

// attempt signs, records and sends; fees are today's unless they are set.
func (m *txManager) attempt(ctx context.Context, in *intent, head *header, a attempt) error {
	if err := m.failure(); err != nil {
		return err
	}
	if a.feeCap == nil {
		if err := m.price(ctx, head, &a); err != nil {
			return err
		}
	}
	tx, err := m.rebuild(in, a)
	if err != nil {
		return err
	}
	a.hash = tx.Hash()
	err = m.record(&messages.TxSent{
		At: timestamppb.Now(), Key: in.key, Nonce: a.nonce, TxHash: events.Hash(a.hash).String(),
		GasLimit: a.gas, FeeCapWei: a.feeCap.String(), TipCapWei: a.tipCap.String(),
	}, in.correlation)
	if err != nil {
		return err
	}
	in.sentAt, in.published, in.outpriced = uint64(head.Number), false, false
	return m.publish(ctx, in, a)
}

// price sets fees for a first attempt: the node's tip, and room for the base fee to
// double.
func (m *txManager) price(ctx context.Context, head *header, a *attempt) error {
	var tip hexutil.Big
	if err := m.conn.call(ctx, &tip, "eth_maxPriorityFeePerGas"); err != nil {
		return err
	}
	base := new(big.Int)
	if head.BaseFee != nil {
		base = head.BaseFee.ToInt()
	}
	a.tipCap = maxBig(tip.ToInt(), newBig(m.cfg.minTipWei))
	a.feeCap = new(big.Int).Add(new(big.Int).Lsh(base, 1), a.tipCap)
	m.capFees(a)
	return nil
}

// capFees obeys the configured limit and the one ether that nodes accept as the most a
// transaction may cost.
func (m *txManager) capFees(a *attempt) {
	most := new(big.Int).Div(big.NewInt(params.Ether), newBig(max(a.gas, 1)))
	most = minBig(most, newBig(m.cfg.maxFeeCapWei))
	a.feeCap = minBig(a.feeCap, most)
	a.tipCap = minBig(a.tipCap, a.feeCap)
}

// replace offers the same nonce for more: as it is, or as an empty transaction. Nodes
// want 10 % more on both fees; we give 12.5 %, rounded up, or today's price.
func (m *txManager) replace(ctx context.Context, in *intent, head *header, noop bool) error {
	old := in.last()
	a := attempt{nonce: old.nonce, gas: old.gas, isNoop: noop}
	if noop {
		a.gas = noopGas
	}
	if err := m.price(ctx, head, &a); err != nil {
		return err
	}
	a.tipCap = maxBig(a.tipCap, bumped(old.tipCap))
	a.feeCap = maxBig(a.feeCap, bumped(old.feeCap))
	m.capFees(&a)
	if a.tipCap.Cmp(bumped(old.tipCap)) < 0 || a.feeCap.Cmp(bumped(old.feeCap)) < 0 {
		m.log.WithField("tx", in.key).Warn("transactions: stuck, and the fee limit is reached")
		in.sentAt = uint64(head.Number)
		return m.publish(ctx, in, old)
	}
	return m.attempt(ctx, in, head, a)
}

func bumped(wei *big.Int) *big.Int {
	b := new(big.Int).Mul(wei, big.NewInt(1125))
	b.Add(b, big.NewInt(999))
	return b.Div(b, big.NewInt(1000))
}

// publish hands an attempt to the node. Most refusals are settled by the next block.
func (m *txManager) publish(ctx context.Context, in *intent, a attempt) error {
	tx, err := m.rebuild(in, a)
	if err != nil {
		return err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode %s: %w", in.key, err)
	}
	err = m.conn.call(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw))
	if err == nil {
		in.published = true
		return nil
	}
	switch refusal := strings.ToLower(err.Error()); {
	case strings.Contains(refusal, "already known"):
		in.published = true
	case strings.Contains(refusal, "nonce too low"): // The next step finds out by whom.
	case strings.Contains(refusal, "underpriced"):
		in.outpriced = true
	case strings.Contains(refusal, "insufficient funds"):
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrInsufficientFunds, err))
	case containsAny(refusal, "exceeds the configured cap", "intrinsic gas too low",
		"exceeds block gas limit", "gas limit too high", "invalid sender", "invalid chain id"):
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrReverted, err))
	default:
		return err
	}
	return nil
}

// refuse gives up an intent that no node ever took, if no other one builds on its nonce.
func (m *txManager) refuse(in *intent, why error) {
	newest := m.nextNonce(0) == in.last().nonce+1
	if in.published || !newest || len(in.attempts) > 1 {
		m.log.WithError(why).WithField("tx", in.key).Warn("transactions: refused, will try again")
		return
	}
	err := m.record(&messages.TxAbandoned{
		At: timestamppb.Now(), Key: in.key, Reason: why.Error(),
	}, in.correlation)
	if err != nil {
		m.log.WithError(err).WithField("tx", in.key).Error("transactions: abandon")
	}
	m.answer(in, result{err: why})
}

// recheck looks whether receipts from before still stand. When a reorganisation took one
// back, its intent is open again and goes the usual way.
func (m *txManager) recheck(ctx context.Context) {
	rest := m.rechecks
	m.rechecks = nil
	for i, r := range rest {
		if r.in.done && r.in.receipt != nil {
			receipt, err := m.conn.receipt(ctx, common.HexToHash(r.in.receipt.GetTxHash()))
			if err != nil {
				m.rechecks = append(m.rechecks, rest[i:]...)
				return
			}
			if receipt != nil && receipt.Status == types.ReceiptStatusSuccessful {
				r.wait <- result{receipt: receipt}
				continue
			}
			m.book.reopen(r.in)
			r.in.sentAt = 0
		}
		r.in.waiters = append(r.in.waiters, r.wait)
	}
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func newBig(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func maxBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func minBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
