package tx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// followWaiting handles what was sent and is not mined: it may be late, be stuck, or merely have to
// be sent again.
func (m *Manager) followWaiting(ctx context.Context, now observation) error {
	flying := m.inFlight(now.count)
	var active []*intent
	for _, in := range flying {
		if in.toFollow(now) {
			active = append(active, in)
		}
	}
	if len(active) == 0 {
		return nil
	}
	if err := m.askTip(ctx, now.head); err != nil {
		return err
	}
	urgent := mostUrgent(flying)
	var more, unchecked []*intent
	for i, in := range flying {
		if !slices.Contains(active, in) {
			continue
		}
		in.outgoing = true
		m.makeWay(in)
		wants := m.wantsMore(in, urgent[i], flying[0], now.head)
		if wants {
			more = append(more, in)
		}
		if in.last().isNoop || m.late(in, now.head) {
			in.unchecked = false // There is nothing to ask.
		} else if wants || in.unchecked {
			unchecked = append(unchecked, in)
		}
	}
	if err := m.revalidate(ctx, unchecked, now.head); err != nil {
		return fmt.Errorf("look after what is in flight: %w", err)
	}
	for i, in := range flying {
		noop := in.last().isNoop
		dead := !noop && (in.hopeless != nil || m.late(in, now.head)) && !m.leftAlone(in, now.head)
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
	if m.cfg.Key == nil && !m.mayAsk(in) {
		return nil
	}
	if a.feeCap == nil {
		m.price(head, &a)
	}
	if m.cfg.Key == nil {
		m.ask(ctx, in, a)
		return nil
	}
	tx, err := m.signedByKey(in, a)
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
		GasLimit: a.gas, FeeCapWei: a.feeCap.String(), TipCapWei: a.tipCap.String(),
	}
	if a.signature != nil {
		sent.Signature = proto.String(hexutil.Encode(a.signature))
	}
	if err := m.write(sent, in.correlation); err != nil {
		return err
	}
	in.sentAt, in.published, in.outpriced, in.outgoing = uint64(head.Number), false, false, true
	in.usedElsewhere, in.lost, in.again, in.unchecked = 0, false, false, false
	return nil
}

// publish sends the newest attempts of all outgoing intents, in the order of their nonces. Most
// refusals are resolved by the next block.
func (m *Manager) publish(ctx context.Context) error {
	var all []*intent
	newest := map[*intent]attempt{}
	for _, in := range m.book.open {
		if !in.outgoing || !in.sent() || in.unchecked {
			continue
		}
		if a, may := m.sendable(in); may {
			all, newest[in] = append(all, in), a
		}
	}
	slices.SortFunc(all, func(x, y *intent) int { return cmp.Compare(x.last().nonce, y.last().nonce) })
	var out []*intent
	var signed [][]byte
	for _, in := range all {
		raw, err := m.signed(in, newest[in])
		if err != nil {
			return err
		}
		if raw == nil { // It was recorded by another process, or with a key.
			m.ask(ctx, in, newest[in])
			continue
		}
		out, signed = append(out, in), append(signed, raw)
	}
	var refusals []error
	var err error
	m.asking(func() { refusals, err = m.conn.Send(ctx, signed) })
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	var unknown error
	for i, in := range slices.Backward(out) { // Giving one up frees the nonce before it.
		in.outgoing = newest[in].hash != in.last().hash
		if err := m.answered(in, refusals[i]); err != nil {
			in.outgoing = true
			unknown = errors.Join(unknown, fmt.Errorf("send %s: %w", in.key, err))
		}
	}
	return unknown
}

// answered notes a node's answer to an attempt, and returns an error that it does not understand.
func (m *Manager) answered(in *intent, err error) error {
	if err == nil {
		in.published, in.taken, in.contested = true, true, 0
		return nil
	}
	switch refusal := strings.ToLower(err.Error()); {
	case strings.Contains(refusal, "already known"):
		in.published, in.taken, in.contested = true, true, 0
	case strings.Contains(refusal, "nonce too low"): // The next step finds out who used it.
	case strings.Contains(refusal, "underpriced"):
		in.outpriced = true
		m.noteRival(in, refusal)
	case strings.Contains(refusal, "insufficient funds"):
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrInsufficientFunds, err))
	case slices.ContainsFunc(neverMined(), func(words string) bool { return strings.Contains(refusal, words) }):
		m.refuse(in, fmt.Errorf("%w: %w", events.ErrReverted, err))
	default:
		return err
	}
	return nil
}

// neverMined are nodes' words for a transaction that no block can ever hold.
func neverMined() []string {
	return []string{
		"exceeds the configured cap", "intrinsic gas too low", "exceeds block gas limit", "gas limit too high",
		"invalid sender", "invalid chain id",
	}
}

// refuse gives up an intent that no node ever took, unless a later nonce depends on it.
func (m *Manager) refuse(in *intent, why error) {
	newest := m.nextNonce(0) == in.last().nonce+1
	if in.published || !newest || len(in.attempts) > 1 {
		m.log.WithError(why).WithField("tx", in.key).Warn("transactions: refused, will try again")
		return
	}
	m.end(in, why.Error(), why)
}
