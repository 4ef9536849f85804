package tx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// outcomes finds out what became of the transactions that were sent. Only spent is safe for concurrent use.
type outcomes struct {
	*node
	rec      *record
	heads    *heads
	gas      *gas
	others   *foreignWatch
	spent    sync.Map // of kinds: the gas used by the newest successful call
	rechecks []recheck
}

// recheck is a question whether a receipt that counted as final still holds.
type recheck struct {
	in   *intent
	wait chan result
}

// try is an attempt of an intent.
type try struct {
	in *intent
	attempt
}

// followUsed looks for the receipts of attempts whose nonces are used. Where the node does not tell what became of
// one, unclear says why.
func (o *outcomes) followUsed(ctx context.Context, now observation) (unclear, err error) {
	var tries []try
	var hashes []common.Hash
	for _, in := range o.rec.book.open {
		isUsed := func(a attempt) bool { return a.nonce < now.count }
		if now.behind || !slices.ContainsFunc(in.attempts, isUsed) || !in.toFollow(now) {
			continue
		}
		for _, a := range in.attempts {
			if isUsed(a) {
				tries, hashes = append(tries, try{in, a}), append(hashes, a.hash)
			}
		}
	}
	var receipts []*types.Receipt
	var refused []error
	var blocks map[uint64]*rpc.Header
	o.asking(func() {
		if receipts, refused, err = o.conn.ReceiptsEach(ctx, hashes); err == nil {
			blocks, err = o.blocksOf(ctx, receipts)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for receipts: %w", err)
	}
	var lost []*intent
	found, hidden := map[*intent]bool{}, map[*intent]error{}
	for i, t := range tries {
		switch r := receipts[i]; {
		case r != nil:
			found[t.in] = true
			err = errors.Join(err, o.confirm(ctx, t, r, blocks[r.BlockNumber.Uint64()], now))
		case refused[i] != nil:
			hidden[t.in] = refused[i]
		}
		isLast := i+1 == len(tries) || tries[i+1].in != t.in
		if isLast && !found[t.in] && t.in.last().nonce < now.count {
			lost = append(lost, t.in)
		}
	}
	unclear, losing := o.followLost(ctx, lost, hidden, now)
	return unclear, errors.Join(err, losing)
}

func (o *outcomes) blocksOf(ctx context.Context, receipts []*types.Receipt) (map[uint64]*rpc.Header, error) {
	var numbers []uint64
	for _, r := range receipts {
		if r != nil {
			numbers = append(numbers, r.BlockNumber.Uint64())
		}
	}
	return o.conn.BlocksByNumber(ctx, numbers)
}

// confirm ends an intent with a receipt, when its block is on the chain and deep enough.
func (o *outcomes) confirm(ctx context.Context, t try, r *types.Receipt, block *rpc.Header, now observation) error {
	t.in.usedElsewhere = 0
	depth := r.BlockNumber.Uint64() + o.confirmationsOf(t.in, r)
	if t.in.done || block == nil || block.Hash != r.BlockHash || uint64(now.head.Number)+1 < depth {
		return nil // Not decided yet; the next block may tell.
	}
	if why := t.cannotHave(r); why != nil {
		o.asking(func() { why = o.conn.Disbelieve(ctx, "for the receipt of "+r.TxHash.Hex(), why) })
		return why
	}
	return o.settle(ctx, t.in, t.attempt, r, block)
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
func (o *outcomes) confirmationsOf(in *intent, r *types.Receipt) uint64 {
	if r.Status == types.ReceiptStatusSuccessful && in.kind.AtOnce {
		return 1
	}
	return o.rec.cfg.Confirmations
}

// followLost handles intents whose nonce is used and that have no receipt, or one that the node refuses to tell
// (hidden). Who used it is in the blocks themselves: that a receipt is missing is no verdict, for another
// node than the one that counted may have been asked. Until the blocks were read, a duty is sent with
// another nonce, which costs gas at the worst, and everything else waits.
func (o *outcomes) followLost(
	ctx context.Context, lost []*intent, hidden map[*intent]error, now observation,
) (unclear, err error) {
	var asked []*intent
	lowest := now.count
	for _, in := range lost {
		if hidden[in] == nil && in.missedAt != now.head.Hash {
			in.missedAt = now.head.Hash
			in.usedElsewhere++
		}
		switch {
		case hidden[in] == nil && in.usedElsewhere < usedElsewhereBlocks:
		case in.gap:
			o.rec.abandon(in, "the nonce is used", events.ErrReverted)
		default:
			asked, lowest = append(asked, in), min(lowest, in.attempts[0].nonce)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	mined, reading := o.others.minedSince(ctx, now.head, lowest)
	if reading != nil {
		o.rec.log.WithError(reading).Debug("transactions: read blocks to find out what used a nonce")
	}
	var others []uint64 // nonces that another process used
	var again []*intent
	for _, in := range asked {
		ours, other := in.usedBy(mined)
		switch {
		case ours != nil:
			err = errors.Join(err, o.confirmInBlock(ctx, in, *ours, now))
		case other == nil && !o.rec.usedByUs(in) && in.usedElsewhere < foreignBlocks:
			unclear = fmt.Errorf("find out what used nonce %d, of %s: %w", in.last().nonce, in.key,
				cmp.Or(hidden[in], errNoReceipt))
			if in.kind.Duty && !in.last().isNoop && !o.late(in, now.head) {
				again = append(again, in)
			}
		case !in.lost:
			if in.lost = true; !o.rec.usedByUs(in) && (other == nil || !o.rec.book.has(other.Hash)) {
				others = append(others, in.last().nonce)
			}
			fallthrough
		default:
			if !o.giveUpLost(in, other, now) {
				again = append(again, in)
			}
		}
	}
	o.others.reportLost(mined, others, now)
	return unclear, errors.Join(err, o.sendAgain(ctx, again, now))
}

// errNoReceipt: neither a receipt nor a block tells.
var errNoReceipt = errors.New("it has neither a receipt nor a block with it")

// usedBy says which of an account's mined transactions is an attempt of the intent, or else has the nonce of its
// last one; nil: none.
func (in *intent) usedBy(mined []rpc.Transaction) (ours, other *rpc.Transaction) {
	for i := range mined {
		t := &mined[i]
		if slices.Contains(in.hashes(), t.Hash) {
			return t, nil
		}
		if uint64(t.Nonce) == in.last().nonce {
			other = t
		}
	}
	return nil, other
}

// confirmInBlock is confirm for an attempt that was seen in a block, while its receipt is hidden.
func (o *outcomes) confirmInBlock(ctx context.Context, in *intent, seen rpc.Transaction, now observation) error {
	var r *types.Receipt
	var block *rpc.Header
	var err error
	o.asking(func() {
		if r, err = o.conn.ReceiptInBlock(ctx, seen.BlockHash, seen.Hash); r != nil {
			block, err = o.conn.ByHash(ctx, seen.BlockHash)
		}
	})
	in.usedElsewhere = 0
	if err != nil || r == nil { // It is asked for again with the next block.
		return err
	}
	i := slices.IndexFunc(in.attempts, func(a attempt) bool { return a.hash == seen.Hash })
	return o.confirm(ctx, try{in, in.attempts[i]}, r, block, now)
}

// giveUpLost ends an intent whose nonce was used by another transaction, if it is not to be sent again.
func (o *outcomes) giveUpLost(in *intent, other *rpc.Transaction, now observation) bool {
	switch {
	case o.late(in, now.head) || in.last().isNoop:
		o.rec.abandon(in, "the nonce was used by another transaction", events.ErrDeadlinePassed)
	case !in.kind.Duty && (o.rec.usedByUs(in) || other != nil && o.rec.book.has(other.Hash)):
		// A caller that still wants it asks again.
		o.rec.abandon(in, "another owner of the account used the nonce", events.ErrReverted)
	default:
		return false
	}
	return true
}

// sendAgain has intents sent with another nonce, if the contract would still take them. Those that it would not
// end, if it is known that another process used their nonce; otherwise it may have them already.
func (o *outcomes) sendAgain(ctx context.Context, again []*intent, now observation) error {
	if err := o.revalidate(ctx, again, now.head); err != nil {
		return err
	}
	for _, in := range again {
		switch {
		case in.permanent == nil:
			in.again = true // launch does it.
		case in.lost:
			o.rec.abandon(in, "the nonce was used by another transaction, and meanwhile "+in.permanent.Error(),
				events.ErrDeadlinePassed)
		default:
			in.permanent = nil
		}
	}
	return nil
}

// settle records the end of an intent and answers its waiters.
func (o *outcomes) settle(ctx context.Context, in *intent, a attempt, r *types.Receipt, block *rpc.Header) error {
	if a.isNoop {
		reason, outcome := "replaced by an empty transaction", events.ErrDeadlinePassed
		if in.permanent != nil {
			reason += ": " + in.permanent.Error()
		}
		if errors.Is(in.permanent, events.ErrAway) {
			outcome = events.ErrAway
		}
		o.rec.abandon(in, reason, outcome)
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
		o.spent.Store(kindOf(in.base), r.GasUsed)
	} else {
		outcome = o.whyFailed(ctx, in, a, r, block)
		mined.Error = outcome.Error()
		outcome = fmt.Errorf("transaction %s: %w", r.TxHash, outcome)
	}
	if err := o.rec.write(mined, in.correlation); err != nil {
		return err
	}
	o.rec.answer(in, result{receipt: r, err: outcome})
	return nil
}

// raced are refusals that another transaction of the same block can have brought about. Others may come from the
// trial itself: a challenge that depends on a block's hash is another one there.
var raced = AnyOf(events.ErrSlotNotFree, events.ErrReservationNotAllowed)

// whyFailed replays a failed transaction on the state of the block before its own, as if in its
// block: a receipt contains no reason. If it would have succeeded there, what stood before it in its block is the
// reason, and is in the state of that block. Nodes keep the state of only 128 blocks.
func (o *outcomes) whyFailed(ctx context.Context, in *intent, a attempt, r *types.Receipt, block *rpc.Header) error {
	if r.GasUsed >= a.gas {
		o.gas.needsMore(in)
		return fmt.Errorf("%w: out of gas, the limit was %d", events.ErrReverted, a.gas)
	}
	again := in.trial(a.gas)
	again.Number, again.Time = uint64(block.Number), uint64(block.Time)
	for _, state := range []common.Hash{block.Parent, block.Hash} {
		var outcomes []rpc.Outcome
		var err error
		again.On = state
		o.asking(func() {
			outcomes, err = o.conn.Try(ctx, o.account, []rpc.Trial{again}, o.rec.cfg.contract.Refusals)
		})
		switch {
		case err != nil: // Not wrapped: the transaction was mined, whatever the node is now.
			return fmt.Errorf("%w: no reason was found: %s", events.ErrReverted, err.Error())
		case outcomes[0].Refusal == nil:
		case state == block.Parent:
			return outcomes[0].Refusal
		case raced(outcomes[0].Refusal):
			return fmt.Errorf("%w: another transaction in the same block was first", outcomes[0].Refusal)
		}
	}
	return fmt.Errorf("%w: no reason was found: a trial does not tell", events.ErrReverted)
}

// revalidate asks the contract whether calls are still right before they are sent again: after a
// reorganisation, with another nonce, or for a higher fee. Those that can no longer succeed are
// marked with the reason. A call stays as it is when the node does not answer, or while it waits for another
// transaction about the same subject.
func (o *outcomes) revalidate(ctx context.Context, asked []*intent, head *rpc.Header) error {
	var some []*intent
	var trials []rpc.Trial
	for _, in := range asked {
		if in.kind.Permanent == nil || o.rec.book.waitsForOther(in) {
			in.unchecked = false
			continue
		}
		some = append(some, in)
		trials = append(trials, o.blocks.NextBlock(head, in.trial(in.last().gas)))
	}
	if len(trials) == 0 {
		return nil
	}
	var outcomes []rpc.Outcome
	var err error
	o.asking(func() { outcomes, err = o.conn.Try(ctx, o.account, trials, o.rec.cfg.contract.Refusals) })
	if err != nil {
		return err
	}
	for i, in := range some {
		in.unchecked = false
		if in.kind.Permanent(outcomes[i].Refusal) {
			in.permanent = outcomes[i].Refusal
		}
	}
	return nil
}

// waitsForOther says that another transaction about the same subject is under way, without which
// this one may not succeed.
func (b *book) waitsForOther(in *intent) bool {
	subject := subjectOf(in.base)
	return slices.ContainsFunc(b.open, func(o *intent) bool {
		return o != in && subjectOf(o.base) == subject && !o.kind.Duty
	})
}

// reopen takes up again those intents whose success a reorganisation has undone: another block has the number of
// theirs. A block that is not there may only be so on this node.
func (o *outcomes) reopen(ctx context.Context, now observation) error {
	if !o.heads.suspect || now.behind {
		return nil
	}
	watched := o.rec.book.watched(uint64(now.head.Number))
	var numbers []uint64
	for _, in := range watched {
		numbers = append(numbers, in.receipt.GetBlock())
	}
	var blocks map[uint64]*rpc.Header
	var err error
	o.asking(func() { blocks, err = o.conn.BlocksByNumber(ctx, numbers) })
	if err != nil {
		return fmt.Errorf("look for dropped transactions: %w", err)
	}
	o.heads.suspect = false
	for _, in := range watched {
		switch block := blocks[in.receipt.GetBlock()]; {
		case block == nil:
			o.heads.suspect = true
		case events.Hash(block.Hash).String() == in.receipt.GetBlockHash() || !in.done:
		default:
			o.rec.log.WithField("tx", in.key).Warnf("transactions: a reorganisation of the chain dropped block %d, in "+
				"which it was mined; it is followed again", in.receipt.GetBlock())
			o.takeUp(in)
		}
	}
	return nil
}

// takeUp opens an intent again. The contract must be asked before it is sent, because a call that
// cannot succeed any more would only cost gas.
func (o *outcomes) takeUp(in *intent) {
	o.rec.book.reopen(in)
	in.sentAt, in.unchecked = 0, true
}

// recheck checks whether earlier receipts still hold. If a reorganisation undid one, or it is of a failure now, its
// intent is open again and continues as usual. A receipt that is missing although its block is on
// the chain is asked for again.
func (o *outcomes) recheck(ctx context.Context) error {
	if len(o.rechecks) == 0 {
		return nil
	}
	asked := o.rechecks
	o.rechecks = nil
	var hashes []common.Hash
	var numbers []uint64
	for _, r := range asked {
		hashes = append(hashes, common.HexToHash(r.in.receipt.GetTxHash()))
		numbers = append(numbers, r.in.receipt.GetBlock())
	}
	var receipts []*types.Receipt
	var blocks map[uint64]*rpc.Header
	var err error
	o.asking(func() {
		if receipts, _, err = o.conn.ReceiptsEach(ctx, hashes); err == nil {
			blocks, err = o.conn.BlocksByNumber(ctx, numbers)
		}
	})
	if err != nil {
		o.rechecks = append(o.rechecks, asked...)
		return fmt.Errorf("look for earlier receipts: %w", err)
	}
	for i, r := range asked {
		block := blocks[r.in.receipt.GetBlock()]
		switch {
		case rpc.Succeeded(receipts[i]):
			r.wait <- result{receipt: receipts[i]}
		case r.in.done && receipts[i] == nil &&
			(block == nil || events.Hash(block.Hash).String() == r.in.receipt.GetBlockHash()):
			o.rechecks = append(o.rechecks, r)
		default:
			if r.in.done {
				o.takeUp(r.in)
			}
			r.in.waiters = append(r.in.waiters, r.wait)
		}
	}
	return nil
}
