package chain

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/events"
)

// maxSearchRanges is how many ranges of blocks a search for an old log goes back.
const maxSearchRanges = 5000

// FreeSlot collects what a finished or cancelled slot is owed, or drops a failed one,
// and reports when the transaction has the configured confirmations. It refuses with
// ErrReverted, and sends nothing, while the slot runs: freeing it then would burn the
// collateral. What was collected before is reported with AlreadyFree and the amounts of
// that time, as far as the node still finds them. ErrSlotIsFree, ErrNotOurSlot,
// ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	payout, err := m.free(ctx, call)
	if err != nil {
		return events.PayoutReceipt{}, fmt.Errorf("free slot %s: %w", call.Slot.Short(), err)
	}
	return payout, nil
}

// errEndNotFinal is temporary: a reorganisation could still set the time back to before
// the end, and freeing the slot would then cost everything.
var errEndNotFinal = fmt.Errorf(
	"%w: the end of the request does not have enough confirmations", events.ErrTooEarly)

func (m *Market) free(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	prefix := fmt.Sprintf("free:%s:", call.Slot)
	if err := m.tx.idle(ctx, prefix); err != nil {
		return events.PayoutReceipt{}, err
	}
	head, facts, err := m.look(ctx, call)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	if facts.SlotState == events.SlotFree {
		return events.PayoutReceipt{}, events.ErrSlotIsFree
	}
	if facts.Host != m.Account() {
		return events.PayoutReceipt{}, fmt.Errorf("%w: it is %s, its host is %s",
			events.ErrNotOurSlot, facts.SlotState, facts.Host)
	}
	if done, err := m.freedBefore(ctx, head, facts, call.Slot); done || err != nil {
		if err != nil {
			return events.PayoutReceipt{}, err
		}
		return m.earlierPayout(ctx, prefix, call.Slot, facts)
	}
	if err := m.mayFree(ctx, head, facts, call); err != nil {
		return events.PayoutReceipt{}, err
	}
	data, err := m.abis.market.TryPackFreeSlot(call.Slot)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	r, err := m.tx.again(ctx, txCall{
		key: fmt.Sprintf("%s%d", prefix, call.Attempt), to: m.contract, data: data,
		gas: m.cfg.Gas.Free, deadline: call.Deadline, correlation: call.Request.String(),
	})
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	return m.payoutFrom(ctx, r, facts.Collateral)
}

// freedBefore says whether nothing is left to collect or drop.
func (m *Market) freedBefore(
	ctx context.Context, head *header, facts events.SlotFacts, slot events.SlotID,
) (bool, error) {
	switch facts.SlotState {
	case events.SlotPaid:
		return true, nil
	case events.SlotFailed:
		// A failed slot stays Failed; only our list tells that it was dropped.
		mine, err := m.mySlotsAt(ctx, head.Hash)
		return !slices.Contains(mine, slot), err
	case events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotCancelled, events.SlotRepair:
	}
	return false, nil
}

// mayFree guards the collateral: the slot must be over now, and also in the block that
// has the configured confirmations.
func (m *Market) mayFree(
	ctx context.Context, head *header, facts events.SlotFacts, call events.SlotCall,
) error {
	if !over(facts.SlotState) {
		return fmt.Errorf("%w before sending: slot is %s, freeing it would burn the collateral",
			events.ErrReverted, facts.SlotState)
	}
	number := uint64(head.Number)
	if m.cfg.Confirmations == 1 || number < m.cfg.Confirmations {
		return nil
	}
	deep, err := m.conn.byNumber(ctx, number-(m.cfg.Confirmations-1))
	if err != nil {
		return err
	}
	before, err := m.slotAt(ctx, deep, call.Request, call.Index)
	if err != nil {
		return err
	}
	if !over(before.SlotState) {
		return errEndNotFinal
	}
	return nil
}

func over(s events.SlotState) bool {
	return s == events.SlotFinished || s == events.SlotCancelled || s == events.SlotFailed
}

// payoutFrom adds up what the token moved to us in a transaction. The contract moves
// the reward first and then the collateral (marketplace.md §5.6).
func (m *Market) payoutFrom(
	ctx context.Context, r *types.Receipt, collateral events.Amount,
) (events.PayoutReceipt, error) {
	receipt, err := m.conn.ourReceipt(ctx, r)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	payout := events.PayoutReceipt{Receipt: receipt}
	for _, l := range r.Logs {
		if l.Address != m.token {
			continue
		}
		e, err := m.abis.token.UnpackTransferEvent(l)
		if err != nil || e.From != m.contract || e.To != m.account {
			continue
		}
		amount, err := events.AmountFromBig(e.Value)
		if err != nil {
			return events.PayoutReceipt{}, err
		}
		if events.MaxAmount().Sub(payout.Paid).Less(amount) {
			return events.PayoutReceipt{}, fmt.Errorf(
				"%w: token says it moved more than exists", events.ErrMalformed)
		}
		payout.Paid = payout.Paid.Add(amount)
		payout.Collateral = amount // The last one stays.
	}
	if !collateral.IsZero() && !payout.Paid.Less(collateral) {
		payout.Collateral = collateral // Read before, which is surer.
	}
	return payout, nil
}

// earlierPayout reports what a slot brought before, from our own record or from the
// transaction that the chain remembers.
func (m *Market) earlierPayout(
	ctx context.Context, prefix string, slot events.SlotID, facts events.SlotFacts,
) (events.PayoutReceipt, error) {
	hash, ok, err := m.tx.earlier(ctx, prefix)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	if !ok && facts.SlotState == events.SlotPaid {
		if hash, ok, err = m.searchPayout(ctx, slot); err != nil {
			return events.PayoutReceipt{}, err
		}
	}
	if !ok {
		return events.PayoutReceipt{AlreadyFree: true}, nil
	}
	r, err := m.conn.receipt(ctx, hash)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	if r == nil {
		return events.PayoutReceipt{AlreadyFree: true}, nil
	}
	payout, err := m.payoutFrom(ctx, r, events.Amount{})
	payout.AlreadyFree = true
	return payout, err
}

// searchPayout looks for our freeSlot of a slot among the payments that we received.
func (m *Market) searchPayout(ctx context.Context, slot events.SlotID) (common.Hash, bool, error) {
	token := m.abis.token.GetABI()
	topics := [][]common.Hash{
		{token.Events["Transfer"].ID},
		{common.BytesToHash(m.contract.Bytes())},
		{common.BytesToHash(m.account.Bytes())},
	}
	wanted := m.abis.market.PackFreeSlot(slot)
	var found common.Hash
	err := m.searchBack(ctx, m.token, topics, func(l *types.Log) (bool, error) {
		var tx struct {
			Input hexutil.Bytes `json:"input"`
		}
		if err := m.conn.call(ctx, &tx, "eth_getTransactionByHash", l.TxHash); err != nil {
			return false, err
		}
		if bytes.Equal(tx.Input, wanted) {
			found = l.TxHash
		}
		return found != common.Hash{}, nil
	})
	return found, found != common.Hash{}, err
}

// searchBack gives a contract's logs to match, newest first, until it says that it has
// found what it looks for.
func (m *Market) searchBack(
	ctx context.Context, contract common.Address, topics [][]common.Hash,
	match func(*types.Log) (bool, error),
) error {
	head, err := m.conn.latest(ctx)
	if err != nil {
		return err
	}
	to := uint64(head.Number)
	for range maxSearchRanges {
		from := max(m.cfg.DeployedAt, to-min(to, m.cfg.LogRange-1))
		logs, err := m.conn.logsBetween(ctx, contract, topics, from, to)
		if err != nil {
			return err
		}
		for _, l := range slices.Backward(logs) {
			if done, err := match(&l); done || err != nil {
				return err
			}
		}
		if from == 0 || from <= m.cfg.DeployedAt {
			return nil
		}
		to = from - 1
	}
	return nil
}
