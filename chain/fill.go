package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/events"
)

// FillSlot hands in the initial proof and the collateral; it approves the tokens when
// that is needed. When the slot is ours already, or a fill of this attempt was mined and
// the slot was taken back since, it reports that fill. The collateral it
// reports is what the contract holds for the slot, also after a repair, for which we
// pay less. ErrUnknownRequest, ErrReservationNotAllowed (we hold none), ErrSlotNotFree,
// ErrInvalidProof, ErrProofAlreadySubmitted (a repair in a period that has its proof),
// ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) FillSlot(
	ctx context.Context, call events.SlotCall, proof events.Proof,
) (events.Fill, error) {
	fill, err := m.fill(ctx, call, proof)
	if err != nil {
		return events.Fill{}, fmt.Errorf("fill slot %s: %w", call.Slot.Short(), err)
	}
	return fill, nil
}

func (m *Market) fill(
	ctx context.Context, call events.SlotCall, proof events.Proof,
) (events.Fill, error) {
	prefix := fmt.Sprintf("fill:%s:", call.Slot)
	if err := m.tx.idle(ctx, prefix); err != nil {
		return events.Fill{}, err
	}
	request, err := m.Request(ctx, call.Request)
	if err != nil {
		return events.Fill{}, err
	}
	head, facts, err := m.look(ctx, call)
	if err != nil {
		return events.Fill{}, err
	}
	if facts.Host == m.Account() {
		return m.ownFill(ctx, call, request)
	}
	if fill, found, err := m.unheardFill(ctx, call, request); found || err != nil {
		return fill, err
	}
	if facts.SlotState != events.SlotFree && facts.SlotState != events.SlotRepair {
		return events.Fill{}, fmt.Errorf("%w: it is %s, host %s",
			events.ErrSlotNotFree, facts.SlotState, facts.Host)
	}
	last, err := m.lastFill(head, facts, call.Deadline)
	if err != nil {
		return events.Fill{}, err
	}
	data, err := m.abis.market.TryPackFillSlot(call.Request, call.Index, proofTo(proof))
	if err != nil {
		return events.Fill{}, err
	}
	// The contract looks at reservation, slot and proof before it looks at tokens, so
	// what it says first decides whether an approval is worth its gas.
	err = m.preflight(ctx, head, data, m.cfg.Gas.Fill)
	if err != nil && !errors.Is(err, events.ErrInsufficientFunds) {
		return events.Fill{}, err
	}
	if err := m.provide(ctx, request, facts); err != nil {
		return events.Fill{}, err
	}
	// Approving may have taken a while.
	if head, err = m.conn.latest(ctx); err != nil {
		return events.Fill{}, err
	}
	if err := m.preflight(ctx, head, data, m.cfg.Gas.Fill); err != nil {
		return events.Fill{}, err
	}
	receipt, err := m.tx.again(ctx, txCall{
		key: fmt.Sprintf("%s%d:%s", prefix, call.Attempt, shortHash(proof)),
		to:  m.contract, data: data, gas: m.cfg.Gas.Fill,
		deadline: last, correlation: call.Request.String(),
	})
	if err != nil {
		return events.Fill{}, err
	}
	return m.fillFrom(ctx, receipt, request)
}

// unheardFill reports a fill of this attempt that was mined although the slot is
// no longer ours: the answer was lost, and the contract took the slot back
// since. A fill that a reorganisation took away has no receipt.
func (m *Market) unheardFill(
	ctx context.Context, call events.SlotCall, request events.Request,
) (fill events.Fill, found bool, err error) {
	hash, ok, err := m.tx.earlier(ctx, fmt.Sprintf("fill:%s:%d:", call.Slot, call.Attempt))
	if err != nil || !ok {
		return events.Fill{}, false, err
	}
	receipt, err := m.conn.receipt(ctx, hash)
	if err != nil || receipt == nil || receipt.Status != types.ReceiptStatusSuccessful {
		return events.Fill{}, false, err
	}
	fill, err = m.fillFrom(ctx, receipt, request)
	return fill, err == nil, err
}

func (m *Market) look(ctx context.Context, call events.SlotCall) (*header, events.SlotFacts, error) {
	head, err := m.conn.latest(ctx)
	if err != nil {
		return nil, events.SlotFacts{}, err
	}
	facts, err := m.slotAt(ctx, head, call.Request, call.Index)
	return head, facts, err
}

// lastFill is the last chain time at which a fill may be mined. At the very expiry the
// contract may still take a fill that earns nothing, so the second before is the last.
func (m *Market) lastFill(head *header, facts events.SlotFacts, deadline time.Time) (time.Time, error) {
	over := facts.RequestEnd
	if facts.RequestState == events.RequestNew {
		over = facts.RequestExpiry
	}
	last := earliest(deadline, over.Add(-time.Second))
	if next := head.head().Time.Add(m.tx.pace()); next.After(last) {
		return last, fmt.Errorf("%w: next block is of %s, the last good one of %s",
			events.ErrDeadlinePassed, next.Format(time.DateTime), last.Format(time.DateTime))
	}
	return last, nil
}

// price is what we pay for a slot: the collateral, less the reward for a repair
// (marketplace.md §6.3).
func (m *Market) price(
	ctx context.Context, request events.Request, facts events.SlotFacts,
) (events.Amount, error) {
	full, ok := request.Ask.CollateralPerSlot()
	if !ok {
		return events.Amount{}, fmt.Errorf("%w: no account holds its collateral", events.ErrInsufficientFunds)
	}
	if facts.SlotState != events.SlotRepair {
		return full, nil
	}
	config, err := m.Config(ctx)
	if err != nil {
		return events.Amount{}, err
	}
	times, ok := full.Mul(uint64(config.RepairRewardPercentage))
	if !ok {
		return events.Amount{}, fmt.Errorf("%w: no account holds its collateral", events.ErrInsufficientFunds)
	}
	return full.SubFloor(times.Div(100)), nil
}

// provide makes sure that the marketplace can take the collateral.
func (m *Market) provide(ctx context.Context, request events.Request, facts events.SlotFacts) error {
	price, err := m.price(ctx, request, facts)
	if err != nil {
		return err
	}
	// One at a time, so that two fills do not both ask for the same allowance.
	select {
	case m.approve <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.approve }()
	if err := m.tx.idle(ctx, "approve:"); err != nil {
		return err
	}
	held, allowed, err := m.purse(ctx)
	if err != nil {
		return err
	}
	if held.Less(price) {
		return fmt.Errorf("%w: the collateral is %s, the account holds %s",
			events.ErrInsufficientFunds, price, held)
	}
	if !allowed.Less(price) {
		return nil
	}
	amount := m.cfg.Allowance
	if amount.Less(price) {
		amount = price
	}
	data, err := m.abis.token.TryPackApprove(m.contract, amount.Big())
	if err != nil {
		return err
	}
	_, err = m.tx.again(ctx, txCall{
		key: "approve:" + events.Address(m.contract).String(),
		to:  m.token, data: data, gas: m.cfg.Gas.Approve, correlation: request.ID.String(),
	})
	if err != nil {
		return fmt.Errorf("approve %s tokens: %w", amount, err)
	}
	return nil
}

// purse is what we hold and what the marketplace may take of it.
func (m *Market) purse(ctx context.Context) (held, allowed events.Amount, err error) {
	head, err := m.conn.latest(ctx)
	if err != nil {
		return held, allowed, err
	}
	var balance, allowance *big.Int
	t := m.abis.token
	err = m.read(ctx, head.Hash,
		viewOf(m.token, t.PackBalanceOf(m.account), t.UnpackBalanceOf, &balance),
		viewOf(m.token, t.PackAllowance(m.account, m.contract), t.UnpackAllowance, &allowance))
	if err != nil {
		return held, allowed, err
	}
	if held, err = events.AmountFromBig(balance); err != nil {
		return held, allowed, err
	}
	allowed, err = events.AmountFromBig(allowance)
	return held, allowed, err
}

// errFillNotFound is temporary: the chain says the slot is ours, but the node does not
// find the log of it.
var errFillNotFound = errors.New("slot is ours, but the log of its fill was not found")

// ownFill reports a fill of ours that is on chain: from our own record, or else from
// the newest SlotFilled log of the slot.
func (m *Market) ownFill(
	ctx context.Context, call events.SlotCall, request events.Request,
) (events.Fill, error) {
	hash, ok, err := m.tx.earlier(ctx, fmt.Sprintf("fill:%s:", call.Slot))
	if err != nil {
		return events.Fill{}, err
	}
	if !ok {
		if hash, err = m.searchFill(ctx, call); err != nil {
			return events.Fill{}, err
		}
	}
	receipt, err := m.conn.receipt(ctx, hash)
	if err != nil {
		return events.Fill{}, err
	}
	if receipt == nil {
		return events.Fill{}, errFillNotFound
	}
	return m.fillFrom(ctx, receipt, request)
}

func (m *Market) searchFill(ctx context.Context, call events.SlotCall) (common.Hash, error) {
	contract := m.abis.market.GetABI()
	topics := [][]common.Hash{{contract.Events["SlotFilled"].ID}, {common.Hash(call.Request)}}
	var found common.Hash
	err := m.searchBack(ctx, m.contract, topics, func(l *types.Log) (bool, error) {
		e, err := m.abis.market.UnpackSlotFilledEvent(l)
		if err != nil || e.SlotIndex != call.Index {
			return false, nil //nolint:nilerr // Not the log that we look for.
		}
		found = l.TxHash
		return true, nil
	})
	if err != nil {
		return common.Hash{}, err
	}
	if found == (common.Hash{}) {
		return common.Hash{}, errFillNotFound
	}
	return found, nil
}

func (m *Market) fillFrom(
	ctx context.Context, r *types.Receipt, request events.Request,
) (events.Fill, error) {
	receipt, err := m.conn.ourReceipt(ctx, r)
	if err != nil {
		return events.Fill{}, err
	}
	collateral, ok := request.Ask.CollateralPerSlot()
	if !ok {
		return events.Fill{}, fmt.Errorf("%w: collateral", events.ErrMalformed)
	}
	return events.Fill{
		Receipt:    receipt,
		FilledAt:   receipt.Block.Time,
		Block:      receipt.Block.Number,
		Collateral: collateral,
	}, nil
}
