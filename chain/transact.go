package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/events"
)

// known says from requestState's answer whether the request exists; ends fails for the
// same reason only.
func known(state, ends *view) (bool, error) {
	if errors.Is(state.err, events.ErrUnknownRequest) {
		return false, nil
	}
	return true, firstError(state, ends)
}

// ReserveSlot makes us one of the hosts that may fill the slot. The receipt is zero
// when we hold the reservation already by another call than this one.
// ErrUnknownRequest, ErrReservationNotAllowed, ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	receipt, err := m.reserve(ctx, call)
	if err != nil {
		return events.Receipt{}, fmt.Errorf("reserve slot %s: %w", call.Slot.Short(), err)
	}
	return receipt, nil
}

func (m *Market) reserve(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	prefix := fmt.Sprintf("reserve:%s:", call.Slot)
	if err := m.tx.idle(ctx, prefix); err != nil {
		return events.Receipt{}, err
	}
	key := fmt.Sprintf("%s%d", prefix, call.Attempt)
	head, err := m.conn.latest(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	facts, err := m.slotAt(ctx, head, call.Request, call.Index)
	if err != nil {
		return events.Receipt{}, err
	}
	// The contract lets anybody reserve a request that does not exist.
	if !facts.RequestKnown {
		return events.Receipt{}, events.ErrUnknownRequest
	}
	if facts.RequestState != events.RequestNew && facts.RequestState != events.RequestStarted {
		return events.Receipt{}, fmt.Errorf("%w: request is %s",
			events.ErrReservationNotAllowed, facts.RequestState)
	}
	held, err := m.holdsReservation(ctx, head, call)
	if err != nil {
		return events.Receipt{}, err
	}
	if held {
		return m.earlierReceipt(ctx, key)
	}
	if !facts.CanReserve {
		return events.Receipt{}, fmt.Errorf("%w: slot is %s", events.ErrReservationNotAllowed, facts.SlotState)
	}
	data, err := m.abis.market.TryPackReserveSlot(call.Request, call.Index)
	if err != nil {
		return events.Receipt{}, err
	}
	return m.send(ctx, m.tx.again, txCall{
		key: key, to: m.contract, data: data, gas: m.cfg.Gas.Reserve,
		deadline: call.Deadline, correlation: call.Request.String(),
	})
}

// holdsReservation asks in a roundabout way, because the contract has no getter: it
// tries, without sending, to fill the slot with no proof, and looks which check refuses.
// Only the one for our reservation comes before those of slot and proof
// (marketplace.md §5.3).
func (m *Market) holdsReservation(ctx context.Context, at *header, call events.SlotCall) (bool, error) {
	data, err := m.abis.market.TryPackFillSlot(call.Request, call.Index, proofTo(events.Proof{}))
	if err != nil {
		return false, err
	}
	gas := hexutil.Uint64(m.cfg.Gas.Fill)
	err = m.conn.call(ctx, nil, "eth_call",
		callArgs{From: m.account, To: m.contract, Data: data, Gas: &gas}, atBlock{at.Hash})
	refusal, reverted := revertData(err)
	if err != nil && !reverted {
		return false, err
	}
	switch name, _ := contracts.DecodeRevert(refusal); name {
	case "Marketplace_ReservationRequired", "Marketplace_UnknownRequest", "Marketplace_InvalidSlot":
		return false, nil
	default:
		return true, nil
	}
}

// earlierReceipt is the receipt of our own success with a key, the zero receipt when
// there is none.
func (m *Market) earlierReceipt(ctx context.Context, key string) (events.Receipt, error) {
	hash, ok, err := m.tx.earlier(ctx, key)
	if err != nil || !ok {
		return events.Receipt{}, err
	}
	r, err := m.conn.receipt(ctx, hash)
	if err != nil || r == nil {
		return events.Receipt{}, err
	}
	return m.conn.ourReceipt(ctx, r)
}

// submitter is submit or again of a txManager.
type submitter func(context.Context, txCall) (*types.Receipt, error)

// send submits a call and converts the receipt.
func (m *Market) send(ctx context.Context, submit submitter, c txCall) (events.Receipt, error) {
	r, err := submit(ctx, c)
	if err != nil {
		return events.Receipt{}, err
	}
	return m.conn.ourReceipt(ctx, r)
}

// preflight tries a call on the block that comes next, without sending it, and returns
// the outcome that the contract would give. What it cannot find out it leaves to the
// transaction. A node's own pending block is only second best: nodes differ in what it
// is, and in its time (chain.md §9).
func (m *Market) preflight(ctx context.Context, head *header, data []byte, gas uint64) error {
	limit := hexutil.Uint64(gas)
	args := callArgs{From: m.account, To: m.contract, Data: data, Gas: &limit}
	step := uint64(m.tx.pace() / time.Second)
	next := map[string]any{
		"number": hexutil.Uint64(uint64(head.Number) + 1),
		"time":   hexutil.Uint64(uint64(head.Time) + step),
	}
	err := m.conn.call(ctx, nil, "eth_call", args, "latest", struct{}{}, next)
	refusal, reverted := revertData(err)
	if err != nil && !reverted {
		err = m.conn.call(ctx, nil, "eth_call", args, "pending")
		refusal, reverted = revertData(err)
	}
	if !reverted {
		return nil
	}
	name, ok := contracts.DecodeRevert(refusal)
	if !ok || strings.HasPrefix(name, contracts.PanicPrefix) {
		// In such a trial the hash of the newest block reads zero, on which the
		// contract panics; the transaction will not.
		return nil
	}
	return revertError(refusal)
}

// SubmitProof hands in the proof of a period. ErrProofAlreadySubmitted,
// ErrInvalidProof, ErrNotOurSlot, ErrInsufficientFunds, ErrDeadlinePassed: what is not
// mined when the deadline or the period is over is replaced by an empty transaction.
func (m *Market) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	receipt, err := m.submitProof(ctx, call, period, proof)
	if err != nil {
		return events.Receipt{}, fmt.Errorf("submit proof for slot %s, period %d: %w",
			call.Slot.Short(), period, err)
	}
	return receipt, nil
}

// errPeriodNotBegun is temporary.
var errPeriodNotBegun = fmt.Errorf("%w: period has not begun", events.ErrTooEarly)

func (m *Market) submitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	prefix := fmt.Sprintf("proof:%s:%d:", call.Slot, period)
	key := prefix + shortHash(proof)
	if err := m.tx.idle(ctx, prefix); err != nil {
		return events.Receipt{}, err
	}
	if r, err := m.earlierReceipt(ctx, key); err != nil || !r.TxHash.Zero() {
		return r, err
	}
	config, err := m.Config(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	head, err := m.conn.latest(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	facts, err := m.slotAt(ctx, head, call.Request, call.Index)
	if err != nil {
		return events.Receipt{}, err
	}
	if facts.Host != m.Account() {
		return events.Receipt{}, fmt.Errorf("%w: its host is %s", events.ErrNotOurSlot, facts.Host)
	}
	seconds := uint64(config.Proofs.Period / time.Second)
	next := head.head().Time.Add(m.tx.pace())
	if next.Before(events.Unix(period * seconds)) {
		return events.Receipt{}, errPeriodNotBegun
	}
	last := earliest(call.Deadline, events.Unix((period+1)*seconds-1))
	if next.After(last) {
		return events.Receipt{}, fmt.Errorf("%w: next block is of %s", events.ErrDeadlinePassed,
			next.Format(time.TimeOnly))
	}
	data, err := m.abis.market.TryPackSubmitProof(call.Slot, proofTo(proof))
	if err != nil {
		return events.Receipt{}, err
	}
	if err := m.preflight(ctx, head, data, m.cfg.Gas.Proof); err != nil {
		return events.Receipt{}, err
	}
	return m.send(ctx, m.tx.submit, txCall{
		key: key, to: m.contract, data: data, gas: m.cfg.Gas.Proof,
		deadline: last, correlation: call.Request.String(),
	})
}

// shortHash tells proofs of one slot apart in a key.
func shortHash(p events.Proof) string {
	h := crypto.NewKeccakState()
	for _, w := range p {
		_, _ = h.Write(w[:]) // A hash takes everything.
	}
	return common.Bytes2Hex(h.Sum(nil)[:4])
}

// earliest is the earlier of two points of chain time, of which a may be zero for none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func largeAllowance() events.Amount {
	most := new(big.Int).Lsh(common.Big1, 96)
	return events.Must(events.AmountFromBig(most.Sub(most, common.Big1)))
}
