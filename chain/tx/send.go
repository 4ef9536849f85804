package tx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// followWaiting handles what was sent and is not mined: it may be late, be stuck, or merely have to
// be sent again.
func (m *Manager) followWaiting(ctx context.Context, now observation) error {
	flying := m.rec.inFlight(now.count)
	var active []*intent
	for _, in := range flying {
		if in.toFollow(now) {
			active = append(active, in)
		}
	}
	if len(active) == 0 {
		return nil
	}
	if err := m.fees.askTip(ctx, now.head); err != nil {
		return err
	}
	urgent := mostUrgent(flying)
	var more, unchecked []*intent
	for i, in := range flying {
		if !slices.Contains(active, in) {
			continue
		}
		in.outgoing = true
		m.rec.makeWay(in)
		wants := m.fees.wantsMore(in, urgent[i], flying[0], now.head)
		if wants {
			more = append(more, in)
		}
		if in.last().isNoop || m.late(in, now.head) {
			in.unchecked = false // There is nothing to ask.
		} else if wants || in.unchecked {
			unchecked = append(unchecked, in)
		}
	}
	if err := m.outcomes.revalidate(ctx, unchecked, now.head); err != nil {
		return fmt.Errorf("look after what is in flight: %w", err)
	}
	for i, in := range flying {
		noop := in.last().isNoop
		dead := !noop && (in.permanent != nil || m.late(in, now.head)) &&
			!in.leftAlone(now.head, m.cfg.UnknownNonceBlocks)
		if !slices.Contains(active, in) || !dead && !slices.Contains(more, in) {
			continue
		}
		if err := m.replace(ctx, in, urgent[i], now.head, noop || dead); err != nil {
			return fmt.Errorf("replace %s: %w", in.key, err)
		}
	}
	return nil
}

// attempt has an attempt signed and records it; it is then sent by publish. Fees that are not set are
// today's. With a signer outside of the process that comes later, or not at all (signing.go).
func (m *Manager) attempt(ctx context.Context, in *intent, head *rpc.Header, a attempt) error {
	if err := m.Failure(); err != nil {
		return err
	}
	if m.cfg.Key == nil && !m.signing.mayAsk(in) {
		return nil
	}
	if a.feeCap == nil {
		m.fees.price(head, &a)
	}
	if m.cfg.Key == nil {
		m.signing.ask(ctx, in, a)
		return nil
	}
	tx, err := m.signing.signedByKey(in, a)
	if err != nil {
		return err
	}
	a.hash = tx.Hash()
	return m.record(in, a, head)
}

// record records a signed attempt.
func (m *Manager) record(in *intent, a attempt, head *rpc.Header) error {
	sent := &messages.TxSent{
		At: timestamppb.Now(), Key: in.key, Nonce: a.nonce, TxHash: events.Hash(a.hash).String(),
		GasLimit: a.gas, FeeCapWei: a.feeCap.String(), TipCapWei: a.tipCap.String(), Empty: a.isNoop,
	}
	if a.legacy {
		sent.Type = proto.Uint32(types.LegacyTxType)
	}
	if a.signature != nil {
		sent.Signature = proto.String(hexutil.Encode(a.signature))
	}
	if err := m.rec.write(sent, in.correlation); err != nil {
		return err
	}
	in.sentAt, in.published, in.outpriced, in.outgoing = uint64(head.Number), false, false, true
	in.usedElsewhere, in.lost, in.again, in.unchecked, in.starved = 0, false, false, false, false
	return nil
}

// publish sends the newest attempts of all outgoing intents, in the order of their nonces. Most
// refusals are resolved by the next block.
func (m *Manager) publish(ctx context.Context) error {
	var all []*intent
	newest := map[*intent]attempt{}
	for _, in := range m.rec.book.open {
		if !in.outgoing || !in.sent() || in.unchecked {
			continue
		}
		if a, may := m.rec.sendable(in); may {
			all, newest[in] = append(all, in), a
		}
	}
	slices.SortFunc(all, func(x, y *intent) int { return cmp.Compare(x.last().nonce, y.last().nonce) })
	var out []*intent
	var signed []*types.Transaction
	for _, in := range all {
		tx, err := m.signing.signed(in, newest[in])
		if err != nil {
			return err
		}
		if tx == nil { // It was recorded by another process, or with a key.
			m.signing.ask(ctx, in, newest[in])
			continue
		}
		out, signed = append(out, in), append(signed, tx)
	}
	var refusals []*rpc.Refusal
	var err error
	m.asking(func() { refusals, err = m.conn.Send(ctx, signed) })
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	for i, in := range slices.Backward(out) { // Giving one up frees the nonce before it.
		in.outgoing = newest[in].hash != in.last().hash
		m.answered(in, refusals[i])
	}
	return nil
}

// refused is a refusal that neither a higher price nor more gas answers.
type refused struct {
	at    uint64 // the newest block when it was first given
	lasts bool   // it was given in a later block, too
	why   error
}

// answered notes a node's answer to an attempt; nil: it took it.
func (m *Manager) answered(in *intent, answer *rpc.Refusal) {
	before := in.refused
	in.refused = nil
	if answer == nil {
		in.published, in.taken, in.contested = true, true, 0
		return
	}
	switch answer.Means {
	case rpc.KnownAlready:
		in.published, in.taken, in.contested = true, true, 0
	case rpc.NonceUsed: // The next step finds out who used it.
	case rpc.Rival:
		in.outpriced = true
		m.nonces.noteRival(in, m.heads.lastHead)
	case rpc.TooCheap, rpc.Outbid:
		in.outpriced = true
	case rpc.TooLittleGas:
		in.starved = true
	case rpc.NoMoney:
		in.refused = before
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrInsufficientFunds, answer))
	case rpc.NeverMined:
		in.refused = before
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrReverted, answer))
	case rpc.Later, rpc.TooOften:
		if in.refused = before; !m.rec.book.behindAnother(in, m.heads.lastCount) { // Else it may wait for that one.
			m.keeps(in, answer)
		}
	case rpc.Unknown:
		in.refused = before
		m.keeps(in, answer)
	}
}

// keeps notes that a transaction is kept, although it is refused, and sent again with each block. It is told once,
// and from the second block on in FeeLimit.
func (m *Manager) keeps(in *intent, why error) {
	if head := uint64(m.heads.lastHead.Number); in.refused == nil {
		in.refused = &refused{at: head, why: why}
	} else {
		in.refused.lasts, in.refused.why = in.refused.lasts || head > in.refused.at, why
	}
	if !in.toldRefused {
		in.toldRefused = true
		m.log.WithError(why).WithField("tx", in.key).Warn("transactions: refused, will try again with each block")
	}
}

// behindAnother says that a transaction with a lower nonce is in flight.
func (b *book) behindAnother(in *intent, mined uint64) bool {
	return slices.ContainsFunc(b.open, func(o *intent) bool {
		return o.sent() && o.last().nonce >= mined && o.last().nonce < in.last().nonce
	})
}

// refuse gives up an intent that no node ever took. If a later nonce depends on it, an empty transaction takes its
// place; while only money is lacking, which may come, that is so if a duty depends on it.
func (m *Manager) refuse(in *intent, why error) {
	newest := m.nonces.next(0) == in.last().nonce+1
	if !in.published && newest && len(in.attempts) == 1 {
		m.rec.end(in, why.Error(), why)
		return
	}
	m.keeps(in, why)
	lasts := !errors.Is(why, events.ErrInsufficientFunds) || !in.kind.Duty && m.rec.book.beforeDuty(in)
	if lasts && !in.taken && !in.last().isNoop {
		in.permanent = why
	}
}
