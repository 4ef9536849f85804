package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// ReserveSlot reserves the slot for us on the contract, so that we may fill it. The receipt is zero
// when another call than this one already made the reservation. Errors: ErrUnknownRequest,
// ErrReservationNotAllowed, ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	return do(ctx, m, m.txs.WithManager, "reserve slot "+call.Slot.Short(),
		func(ctx context.Context, m sending) (events.Receipt, error) {
			receipt, err := m.reserve(ctx, call)
			if errors.Is(err, events.ErrReservationNotAllowed) {
				return m.recheckReserved(ctx, call, err)
			}
			return receipt, err
		})
}

// recheckReserved checks again whether we hold a reservation that was refused: one that a
// reorganisation undid may have been mined again in the meantime.
func (m sending) recheckReserved(
	ctx context.Context, call events.SlotCall, refused error,
) (events.Receipt, error) {
	prefix := fmt.Sprintf("reserve:%s:", call.Slot)
	if err := m.tx.Idle(ctx, prefix); err != nil {
		return events.Receipt{}, err
	}
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	held, err := m.holdsReservation(ctx, head, call)
	switch {
	case err != nil:
		return events.Receipt{}, err
	case !held:
		return events.Receipt{}, refused
	}
	return m.earlierReceipt(ctx, fmt.Sprintf("%s%d", prefix, call.Attempt))
}

func (m sending) reserve(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	prefix := fmt.Sprintf("reserve:%s:", call.Slot)
	if err := m.tx.Idle(ctx, prefix); err != nil {
		return events.Receipt{}, err
	}
	key := fmt.Sprintf("%s%d", prefix, call.Attempt)
	head, facts, err := m.look(ctx, call)
	if err != nil {
		return events.Receipt{}, err
	}
	// The contract lets any account reserve a slot of a request that does not exist.
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
	data := m.abis.market.PackReserveSlot(call.Request, call.Index)
	r, err := m.tx.Again(ctx, tx.Call{
		Key: key, To: m.contract, Data: data, Gas: m.cfg.Gas.Reserve,
		Deadline: call.Deadline, Correlation: call.Request.String(),
	})
	if err != nil {
		return events.Receipt{}, err
	}
	return m.conn.InBlock(ctx, r)
}

// holdsReservation asks in a roundabout way, because the contract has no getter: it tries, as a
// trial, to fill the slot without a proof, and looks which check refuses. Only the check of the
// reservation comes before those of slot and proof (spec/marketplace.md §5.3).
func (m *Market) holdsReservation(ctx context.Context, at *rpc.Header, slot events.SlotCall) (bool, error) {
	data := m.abis.market.PackFillSlot(slot.Request, slot.Index, proofTo(events.Proof{}))
	err := m.conn.CallAt(ctx, at.Hash, m.account, rpc.Trial{To: m.contract, Data: data, Gas: m.cfg.Gas.Fill})
	refusal, reverted := rpc.RevertData(err)
	if err != nil && !reverted {
		return false, err
	}
	switch name, _ := contracts.DecodeRevert(refusal); name {
	case "Marketplace_ReservationRequired", "Marketplace_UnknownRequest", "Marketplace_InvalidSlot":
		return false, nil
	case "Marketplace_SlotNotFree", "Proofs_InvalidProof", "Proofs_ProofAlreadySubmitted",
		"Marketplace_ProofNotSubmittedByHost":
		return true, nil
	}
	if err != nil && !panicked(refusal) {
		return false, fmt.Errorf("find out whether the slot is reserved: the node's answer says nothing: %w", err)
	}
	return true, nil // It passed that check: the panic comes later, as the newest block has no hash yet.
}

// earlierReceipt is the receipt of our newest success whose key begins with a prefix, zero if there
// is none.
func (m sending) earlierReceipt(ctx context.Context, prefix string) (events.Receipt, error) {
	r, err := m.mined(ctx, prefix)
	if err != nil || r == nil {
		return events.Receipt{}, err
	}
	return m.conn.InBlock(ctx, r)
}

// SubmitProof submits the proof of a period. A transaction that is not mined by the deadline, or by
// the end of the period, is replaced by an empty one. Errors: ErrProofAlreadySubmitted,
// ErrInvalidProof, ErrNotOurSlot, ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	return do(ctx, m, m.txs.WithManager, fmt.Sprintf("submit proof for slot %s, period %d", call.Slot.Short(), period),
		func(ctx context.Context, m sending) (events.Receipt, error) {
			return m.submitProof(ctx, call, period, proof)
		})
}

// errPeriodNotBegun is temporary.
var errPeriodNotBegun = fmt.Errorf("%w: period has not begun", events.ErrTooEarly)

func (m sending) submitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	prefix := fmt.Sprintf("proof:%s:%d:", call.Slot, period)
	if err := m.tx.Idle(ctx, prefix); err != nil {
		return events.Receipt{}, err
	}
	since, err := m.tx.Revision()
	if err != nil {
		return events.Receipt{}, err
	}
	// A proof from before a crash differs from this one, and is as good.
	if r, err := m.earlierReceipt(ctx, prefix); err != nil || !r.TxHash.Zero() {
		return r, err
	}
	config, err := m.Config(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	head, facts, err := m.look(ctx, call)
	if err != nil {
		return events.Receipt{}, err
	}
	if facts.Host != m.Account() {
		return events.Receipt{}, fmt.Errorf("%w: its host is %s", events.ErrNotOurSlot, facts.Host)
	}
	seconds := uint64(config.Proofs.Period / time.Second)
	next := head.Head().Time.Add(m.blocks.Pace())
	if next.Before(events.Unix(period * seconds)) {
		return events.Receipt{}, errPeriodNotBegun
	}
	last := earliest(call.Deadline, events.Unix((period+1)*seconds-1))
	if next.After(last) {
		return events.Receipt{}, fmt.Errorf("%w: the next block has time %s", events.ErrDeadlinePassed,
			next.Format(time.TimeOnly))
	}
	data := m.abis.market.PackSubmitProof(call.Slot, proofTo(proof))
	if err := m.preflight(ctx, head, call, data, m.cfg.Gas.Proof); err != nil {
		return events.Receipt{}, err
	}
	r, err := m.tx.Submit(ctx, tx.Call{
		Key: prefix + shortHash(proof), ExclusivePrefix: prefix, SinceRevision: since,
		To: m.contract, Data: data, Gas: m.cfg.Gas.Proof,
		Deadline: last, LastBlock: lastBlockFor(config.Proofs, call, head, period),
		Correlation: call.Request.String(),
	})
	if err != nil {
		return events.Receipt{}, m.whyRefusedMined(ctx, call, data, m.cfg.Gas.Proof, r, err)
	}
	return m.conn.InBlock(ctx, r)
}

// whyRefusedMined is whyRefused for a transaction that was mined and reverted.
func (m *Market) whyRefusedMined(
	ctx context.Context, call events.SlotCall, data []byte, gas uint64, r *types.Receipt, refusal error,
) error {
	if r == nil || !errors.Is(refusal, events.ErrInvalidProof) {
		return refusal
	}
	block, err := m.conn.ByHash(ctx, r.BlockHash)
	if err != nil {
		return fmt.Errorf("the contract refused the proof, for an unknown reason: %w", err)
	}
	return m.whyRefused(ctx, call, rpc.Trial{
		To: m.contract, Data: data, Gas: gas, On: block.Parent,
		Number: uint64(block.Number), Time: uint64(block.Time),
	}, refusal)
}

// shortHash tells proofs of one slot apart in a key.
func shortHash(p events.Proof) string {
	h := crypto.NewKeccakState()
	for _, w := range p {
		_, _ = h.Write(w[:]) // Writing to a hash never fails.
	}
	return common.Bytes2Hex(h.Sum(nil)[:4])
}

// earliest is the earlier of two points of chain time, either of which may be zero for none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Kinds of calls: the words that keys begin with.
const (
	kindReserve = "reserve"
	kindFill    = "fill"
	kindProof   = "proof"
	kindFree    = "free"
)

// permanentRefusal says that a proof or a fill which the contract refuses for this reason will never
// succeed.
var permanentRefusal = tx.AnyOf(
	events.ErrInvalidProof, events.ErrProofAlreadySubmitted, events.ErrNotOurSlot, events.ErrSlotNotFree,
	events.ErrReservationNotAllowed, events.ErrUnknownRequest,
)
