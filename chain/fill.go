package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// FillSlot submits the initial proof and the collateral; if need be it approves the tokens first.
// If the slot is already ours, or a fill of this attempt was mined and the contract has taken the
// slot away since, it reports that fill. The collateral that it reports is what the contract holds
// for the slot, even after a repair, for which we pay less. Errors: ErrUnknownRequest,
// ErrReservationNotAllowed (we have no reservation), ErrSlotNotFree, ErrInvalidProof,
// ErrProofAlreadySubmitted (a repair in a period that has its proof), ErrInsufficientFunds,
// ErrBeforePayment, ErrDeadlinePassed.
func (m *Market) FillSlot(
	ctx context.Context, call events.SlotCall, proof events.Proof,
) (events.Fill, error) {
	return do(ctx, m, m.txs.WithManager, "fill slot "+call.Slot.Short(),
		func(ctx context.Context, m sending) (events.Fill, error) {
			fill, err := m.fill(ctx, call, proof)
			if errors.Is(err, events.ErrSlotNotFree) {
				return m.recheckOurs(ctx, call, err)
			}
			return fill, err
		})
}

// recheckOurs checks again whether a slot that is not free is ours: a fill that a reorganisation
// undid may have been mined again in the meantime.
func (m sending) recheckOurs(ctx context.Context, call events.SlotCall, taken error) (events.Fill, error) {
	if err := m.tx.Idle(ctx, fmt.Sprintf("fill:%s:", call.Slot)); err != nil {
		return events.Fill{}, err
	}
	_, facts, err := m.look(ctx, call)
	switch {
	case err != nil:
		return events.Fill{}, err
	case facts.SlotState == events.SlotFree || facts.SlotState == events.SlotRepair: // The fill may be ours.
		return events.Fill{}, fmt.Errorf("%w: the slot is not free, and in block %d it is %s",
			rpc.ErrUnavailable, facts.At.Number, facts.SlotState)
	case facts.Host != m.Account():
		return events.Fill{}, taken
	}
	request, err := m.Request(ctx, call.Request)
	if err != nil {
		return events.Fill{}, err
	}
	return m.ownFill(ctx, call, request)
}

func (m sending) fill(
	ctx context.Context, call events.SlotCall, proof events.Proof,
) (events.Fill, error) {
	prefix := fmt.Sprintf("fill:%s:", call.Slot)
	if err := m.tx.Idle(ctx, prefix); err != nil {
		return events.Fill{}, err
	}
	var raw bindings.Request
	read := requestView(m.abis, m.contract, call.Request, &raw)
	head, facts, err := m.look(ctx, call, read)
	if err == nil {
		err = read.Err
	}
	if err != nil {
		return events.Fill{}, err
	}
	request, err := requestFrom(call.Request, raw)
	if err != nil {
		return events.Fill{}, err
	}
	if facts.Host == m.Account() {
		return m.ownFill(ctx, call, request)
	}
	if fill, found, err := m.unreportedFill(ctx, call, request); found || err != nil {
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
	data := m.abis.market.PackFillSlot(call.Request, call.Index, proofTo(proof))
	// The contract checks reservation, slot and proof before tokens, so this trial shows whether an
	// approval is worth its gas.
	err = m.preflight(ctx, head, call, data, m.cfg.Gas.Fill)
	if err != nil && !errors.Is(err, events.ErrInsufficientFunds) {
		return events.Fill{}, err
	}
	price, err := m.price(ctx, request, facts)
	if err != nil {
		return events.Fill{}, err
	}
	money := m.allowance.Promise(account.Taking{
		Amount: price, As: "collateral", Keep: call.Keep, Deadline: last, Correlation: call.Request.String(),
		Shown: func(ctx context.Context, at events.Head) error { return m.hasAll(ctx, at, call.Paid) },
	})
	defer money.Release()
	waited, err := money.Secure(ctx, m.tx)
	if waited && err == nil {
		if head, err = m.conn.Latest(ctx); err == nil {
			err = m.preflight(ctx, head, call, data, m.cfg.Gas.Fill)
		}
	}
	if err != nil {
		return events.Fill{}, err
	}
	receipt, err := m.sendFill(ctx, head, call, proof, data, last)
	if err != nil {
		return events.Fill{}, err
	}
	return m.fillFrom(ctx, receipt, request)
}

// sendFill sends a fill that was tried after head.
func (m sending) sendFill(
	ctx context.Context, head *rpc.Header, call events.SlotCall, proof events.Proof, data []byte, last time.Time,
) (*types.Receipt, error) {
	config, err := m.Config(ctx)
	if err != nil {
		return nil, err
	}
	period := duty.Period(config.Proofs, head.Head().Time.Add(m.blocks.Pace()))
	receipt, err := m.tx.Again(ctx, tx.Call{
		Key: fmt.Sprintf("fill:%s:%d:%s", call.Slot, call.Attempt, shortHash(proof)),
		To:  m.contract, Data: data, Gas: m.cfg.Gas.Fill,
		Deadline: last, LastBlock: lastBlockFor(config.Proofs, call, head, period),
		Correlation: call.Request.String(),
	})
	if err != nil {
		return nil, m.whyRefusedMined(ctx, call, data, m.cfg.Gas.Fill, receipt, err)
	}
	return receipt, nil
}

// unreportedFill reports a fill of this attempt that was mined although the slot is no longer ours: we
// never heard of it, and the contract has taken the slot away since. One that a reorganisation undid is under way
// again, or was given up.
func (m sending) unreportedFill(
	ctx context.Context, call events.SlotCall, request events.Request,
) (fill events.Fill, found bool, err error) {
	receipt, err := m.mined(ctx, fmt.Sprintf("fill:%s:%d:", call.Slot, call.Attempt))
	if err != nil || receipt == nil {
		return events.Fill{}, false, err
	}
	fill, err = m.fillFrom(ctx, receipt, request)
	return fill, err == nil, err
}

// lastFill is the last chain time at which a fill may be mined. At the expiry itself the contract
// may still take a fill, which earns nothing; so it is the second before.
func (m *Market) lastFill(head *rpc.Header, facts events.SlotFacts, deadline time.Time) (time.Time, error) {
	over := facts.RequestEnd
	if facts.RequestState == events.RequestNew {
		over = facts.RequestExpiry
	}
	last := earliest(deadline, over.Add(-time.Second))
	if next := head.Head().Time.Add(m.blocks.Pace()); next.After(last) {
		return last, fmt.Errorf("%w: the next block has time %s, the last possible one %s",
			events.ErrDeadlinePassed, next.Format(time.DateTime), last.Format(time.DateTime))
	}
	return last, nil
}

// price is what we pay for a slot: the collateral, less the reward for a repair
// (spec/marketplace.md §6.3).
func (m *Market) price(
	ctx context.Context, request events.Request, facts events.SlotFacts,
) (events.Amount, error) {
	full, ok := request.Ask.CollateralPerSlot()
	var reward events.Amount
	if ok && facts.SlotState == events.SlotRepair {
		config, err := m.Config(ctx)
		if err != nil {
			return events.Amount{}, err
		}
		reward, ok = full.Mul(uint64(config.RepairRewardPercentage))
	}
	if !ok {
		return events.Amount{}, fmt.Errorf("%w: no account holds its collateral", events.ErrInsufficientFunds)
	}
	return full.SubFloor(reward.Div(100)), nil
}

// errFillNotFound is temporary: by the contract the slot is ours, but the node does not find the
// log of its fill.
var errFillNotFound = errors.New("slot is ours, but the log of its fill was not found")

// ownFill reports a fill of ours that is on chain: from the outbox, or else from the newest
// SlotFilled log of the slot.
func (m sending) ownFill(
	ctx context.Context, call events.SlotCall, request events.Request,
) (events.Fill, error) {
	hash, ok, err := m.tx.Earlier(ctx, beginsWith(fmt.Sprintf("fill:%s:", call.Slot)))
	if err != nil {
		return events.Fill{}, err
	}
	if !ok {
		if hash, err = m.searchFill(ctx, call); err != nil {
			return events.Fill{}, err
		}
	}
	receipt, err := m.conn.MinedReceipt(ctx, hash)
	if err != nil {
		return events.Fill{}, err
	}
	if !rpc.Succeeded(receipt) {
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
	receipt, err := m.conn.InBlock(ctx, r)
	if err != nil {
		return events.Fill{}, err
	}
	collateral, ok := request.Ask.CollateralPerSlot()
	if !ok {
		return events.Fill{}, fmt.Errorf("%w: collateral", events.ErrMalformed)
	}
	_, taken, err := m.transfers(r.Logs, m.account, m.contract)
	if err != nil {
		return events.Fill{}, err
	}
	fill := events.Fill{
		Receipt:    receipt,
		FilledAt:   receipt.Block.Time,
		Block:      receipt.Block.Number,
		Collateral: collateral,
	}
	if !taken.IsZero() { // Otherwise the receipt does not say.
		fill.RepairReward = collateral.SubFloor(taken)
	}
	return fill, nil
}
