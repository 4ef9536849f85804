package tx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// watchedBlocks is the depth from which on a receipt's block is no longer checked. Nodes keep the
// state of as many blocks, and a deeper reorganisation needs people.
const watchedBlocks = 128

// followUsed looks for the receipts of intents whose nonces are used.
func (m *Manager) followUsed(ctx context.Context, used []*intent, now observation) error {
	var hashes []common.Hash
	for _, in := range used {
		hashes = append(hashes, in.hashes()...)
	}
	if len(hashes) == 0 {
		return nil
	}
	receipts, err := m.conn.Receipts(ctx, hashes)
	if err != nil {
		return err
	}
	var numbers []uint64
	for _, r := range receipts {
		if r != nil {
			numbers = append(numbers, r.BlockNumber.Uint64())
		}
	}
	blocks, err := m.conn.BlocksByNumber(ctx, numbers)
	if err != nil {
		return err
	}
	var lost []*intent
	for _, in := range used {
		own := receipts[:len(in.attempts)]
		receipts = receipts[len(in.attempts):]
		i := slices.IndexFunc(own, func(r *types.Receipt) bool { return r != nil })
		if i < 0 {
			lost = append(lost, in)
			continue
		}
		in.usedElsewhere = 0
		r := own[i]
		block := blocks[r.BlockNumber.Uint64()]
		depth := r.BlockNumber.Uint64() + m.confirmationsOf(in, r)
		if block == nil || block.Hash != r.BlockHash || uint64(now.head.Number)+1 < depth {
			continue // Not decided yet; the next block may tell.
		}
		if why := in.attempts[i].cannotHave(r); why != nil {
			return m.conn.Disbelieve(ctx, "for the receipt of "+r.TxHash.Hex(), why)
		}
		if err := m.settle(ctx, in, in.attempts[i], r, block); err != nil {
			return err
		}
	}
	return m.followLost(ctx, lost, now)
}

// cannotHave says why a receipt cannot be that of an attempt: it has more gas than the limit, or a
// higher price than was offered.
func (a attempt) cannotHave(r *types.Receipt) error {
	switch price := r.EffectiveGasPrice; {
	case r.GasUsed > a.gas:
		return fmt.Errorf("it used %d gas, and the limit was %d", r.GasUsed, a.gas)
	case price != nil && price.Cmp(a.feeCap) > 0:
		return fmt.Errorf("it paid %s wei per gas, and offered at most %s", price, a.feeCap)
	}
	return nil
}

// confirmationsOf is the number of blocks after which a transaction counts. If a reorganisation
// drops it after that, the feed reports the reorganisation as it does any other, and the intent is
// open again.
func (m *Manager) confirmationsOf(in *intent, r *types.Receipt) uint64 {
	if r.Status == types.ReceiptStatusSuccessful && in.kind.AtOnce {
		return 1
	}
	return m.cfg.Confirmations
}

// followLost handles intents whose nonce is used and that have no receipt: after some blocks we
// conclude that somebody else used it, and send what is still right with another nonce.
func (m *Manager) followLost(ctx context.Context, lost []*intent, now observation) error {
	var again []*intent
	var used []uint64 // nonces
	for _, in := range lost {
		if in.usedElsewhere++; in.usedElsewhere < usedElsewhereBlocks {
			continue
		}
		told := in.usedElsewhere > usedElsewhereBlocks // It waits for the signature of another nonce.
		ours := m.usedByUs(in)
		if !ours && !told {
			used = append(used, in.last().nonce)
		}
		switch {
		case in.gap:
			m.abandon(in, "the nonce is used", events.ErrReverted)
		case m.late(in, now.head) || in.last().isNoop:
			m.abandon(in, "the nonce was used by another transaction", events.ErrDeadlinePassed)
		case ours && !in.kind.Duty: // Whoever still wants it asks again.
			m.abandon(in, "another owner of the account used the nonce", events.ErrReverted)
		case ours, told:
			again = append(again, in)
		default:
			m.log.WithField("tx", in.key).Warnf("transactions: nonce %d was used by a transaction that is not ours; "+
				"the account's key must be used by this host alone", in.last().nonce)
			again = append(again, in)
		}
	}
	m.lostNonces(ctx, used, now)
	if err := m.revalidate(ctx, again, now.head); err != nil {
		return err
	}
	for _, in := range again {
		if in.hopeless != nil {
			m.abandon(in, "the nonce was used by another transaction, and meanwhile "+in.hopeless.Error(),
				events.ErrDeadlinePassed)
			continue
		}
		if err := m.attempt(ctx, in, now.head, attempt{nonce: m.nextNonce(now.count), gas: in.last().gas}); err != nil {
			return err
		}
	}
	return nil
}

// settle records the end of an intent and answers its waiters.
func (m *Manager) settle(ctx context.Context, in *intent, a attempt, r *types.Receipt, block *rpc.Header) error {
	if a.isNoop {
		reason, outcome := "replaced by an empty transaction", events.ErrDeadlinePassed
		if in.hopeless != nil {
			reason += ": " + in.hopeless.Error()
		}
		if errors.Is(in.hopeless, events.ErrAway) {
			outcome = events.ErrAway
		}
		m.abandon(in, reason, outcome)
		return nil
	}
	ours, err := rpc.ReceiptIn(r, block)
	if err != nil {
		return err
	}
	var outcome error
	mined := &messages.TxMined{
		At: timestamppb.Now(), Key: in.key, Receipt: events.ReceiptToMessage(ours),
		Succeeded: r.Status == types.ReceiptStatusSuccessful,
	}
	if mined.GetSucceeded() {
		m.spent.Store(kindOf(in.base), r.GasUsed)
	} else {
		outcome = m.whyFailed(ctx, in, a, r, block)
		mined.Error = outcome.Error()
		outcome = fmt.Errorf("transaction %s: %w", r.TxHash, outcome)
	}
	if err := m.write(mined, in.correlation); err != nil {
		return err
	}
	m.answer(in, result{receipt: r, err: outcome})
	return nil
}

// whyFailed replays a failed transaction on the state of the block before its own, as if in its
// block: a receipt contains no reason. Nodes keep the state of only 128 blocks.
func (m *Manager) whyFailed(ctx context.Context, in *intent, a attempt, r *types.Receipt, block *rpc.Header) error {
	if r.GasUsed >= a.gas {
		m.needsMore(in)
		return fmt.Errorf("%w: out of gas, the limit was %d", events.ErrReverted, a.gas)
	}
	again := in.trial(a.gas)
	again.On, again.Number, again.Time = block.Parent, uint64(block.Number), uint64(block.Time)
	outcomes, err := m.conn.Try(ctx, m.account, []rpc.Trial{again}, m.cfg.contract.Refusals)
	if err != nil || outcomes[0].Refusal == nil {
		return fmt.Errorf("%w: no reason was found", events.ErrReverted)
	}
	return outcomes[0].Refusal
}

// revalidate asks the contract whether calls are still right before they are sent again: after a
// reorganisation, with another nonce, or for a higher fee. Those that can no longer succeed are
// hopeless. A call stays as it is when the node does not answer, or while it waits for another
// transaction about the same subject.
func (m *Manager) revalidate(ctx context.Context, asked []*intent, head *rpc.Header) error {
	var some []*intent
	var trials []rpc.Trial
	for _, in := range asked {
		if in.kind.Hopeless == nil || m.waitsForOther(in) {
			in.unchecked = false
			continue
		}
		some = append(some, in)
		trials = append(trials, m.blocks.NextBlock(head, in.trial(in.last().gas)))
	}
	if len(trials) == 0 {
		return nil
	}
	outcomes, err := m.conn.Try(ctx, m.account, trials, m.cfg.contract.Refusals)
	if err != nil {
		return err
	}
	for i, in := range some {
		in.unchecked = false
		if in.kind.Hopeless(outcomes[i].Refusal) {
			in.hopeless = outcomes[i].Refusal
		}
	}
	return nil
}

// waitsForOther says that another transaction about the same subject is under way, without which
// this one may not succeed.
func (m *Manager) waitsForOther(in *intent) bool {
	subject := subjectOf(in.base)
	return slices.ContainsFunc(m.book.open, func(o *intent) bool {
		return o != in && subjectOf(o.base) == subject && !o.kind.Duty
	})
}

// reopen takes up again those intents whose success a reorganisation has undone.
func (m *Manager) reopen(ctx context.Context, now observation) error {
	watched := m.book.watched(uint64(now.head.Number))
	var numbers []uint64
	for _, in := range watched {
		numbers = append(numbers, in.receipt.GetBlock())
	}
	blocks, err := m.conn.BlocksByNumber(ctx, numbers)
	if err != nil {
		return err
	}
	for _, in := range watched {
		block := blocks[in.receipt.GetBlock()]
		if block != nil && events.Hash(block.Hash).String() == in.receipt.GetBlockHash() {
			continue
		}
		m.log.WithField("tx", in.key).Warnf("transactions: a reorganisation of the chain dropped block %d, in which "+
			"it was mined; it is followed again", in.receipt.GetBlock())
		m.takeUp(in)
	}
	return nil
}

// takeUp opens an intent again. The contract must be asked before it is sent, because a call that
// cannot succeed any more would only cost gas.
func (m *Manager) takeUp(in *intent) {
	m.book.reopen(in)
	in.sentAt, in.unchecked = 0, true
}

// recheck checks whether earlier receipts still hold. If a reorganisation undid one, its intent is
// open again and continues as usual.
func (m *Manager) recheck(ctx context.Context) error {
	if len(m.rechecks) == 0 {
		return nil
	}
	var hashes []common.Hash
	for _, r := range m.rechecks {
		hashes = append(hashes, common.HexToHash(r.in.receipt.GetTxHash()))
	}
	receipts, err := m.conn.Receipts(ctx, hashes)
	if err != nil {
		return err
	}
	asked := m.rechecks
	m.rechecks = nil
	for i, r := range asked {
		if rpc.Succeeded(receipts[i]) {
			r.wait <- result{receipt: receipts[i]}
			continue
		}
		if r.in.done {
			m.takeUp(r.in)
		}
		r.in.waiters = append(r.in.waiters, r.wait)
	}
	return nil
}
