package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// FreeSlot collects what a finished or cancelled slot is owed, or drops a failed one, and returns
// when the transaction has the configured confirmations. While the slot runs it sends nothing and
// returns ErrReverted, because freeing would burn the collateral. What was collected before is
// reported with AlreadyFree and the amounts of that time, as far as the node still finds them.
// Errors: ErrSlotIsFree, ErrNotOurSlot, ErrInsufficientFunds, ErrDeadlinePassed.
func (m *Market) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	return do(ctx, m, m.txs.WithManager, "free slot "+call.Slot.Short(),
		func(ctx context.Context, m sending) (events.PayoutReceipt, error) { return m.free(ctx, call) })
}

// errEndNotFinal is temporary: a reorganisation could still lead to a block before the end, and
// freeing the slot there would cost everything.
var errEndNotFinal = fmt.Errorf("%w: the end of the request is not final yet", events.ErrTooEarly)

func (m sending) free(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	prefix := fmt.Sprintf("free:%s:", call.Slot)
	if err := m.tx.Idle(ctx, prefix); err != nil {
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
	if err := m.mayFree(ctx, head, facts); err != nil {
		return events.PayoutReceipt{}, err
	}
	r, err := m.tx.Again(ctx, tx.Call{
		Key: fmt.Sprintf("%s%d", prefix, call.Attempt), To: m.contract, Data: m.packFree(call.Slot),
		Gas: m.cfg.Gas.Free, Deadline: call.Deadline, Correlation: call.Request.String(),
	})
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	return m.payoutFrom(ctx, r)
}

// freedBefore says whether nothing is left to collect or drop.
func (m *Market) freedBefore(
	ctx context.Context, head *rpc.Header, facts events.SlotFacts, slot events.SlotID,
) (bool, error) {
	switch facts.SlotState {
	case events.SlotPaid:
		return true, nil
	case events.SlotFailed:
		// A failed slot stays Failed; only the list of our slots shows that it was dropped.
		mine, err := m.mySlotsAt(ctx, head.Hash)
		return !slices.Contains(mine, slot), err
	case events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotCancelled, events.SlotRepair:
	}
	return false, nil
}

// mayFree guards the collateral: the slot must be over for good. Its request's end, which the
// contract gives for each way to be over, must be before a block that is permanent
// (spec/marketplace.md §4.3): then no reorganisation leads to a block in which the slot still runs.
// This needs no state of old blocks, which many nodes do not keep.
func (m *Market) mayFree(ctx context.Context, head *rpc.Header, facts events.SlotFacts) error {
	if !slices.Contains(
		[]events.SlotState{events.SlotFinished, events.SlotCancelled, events.SlotFailed}, facts.SlotState,
	) {
		return fmt.Errorf("%w before sending: slot is %s, freeing it would burn the collateral",
			events.ErrReverted, facts.SlotState)
	}
	permanent, err := m.finality.Newest(ctx, head)
	if err != nil {
		return err
	}
	if permanent == nil || !permanent.Head().Time.After(facts.RequestEnd) {
		return errEndNotFinal
	}
	return nil
}

// packFree is the call that frees a slot. The reward goes to the configured recipient, the
// collateral always to the account.
func (m *Market) packFree(slot events.SlotID) []byte {
	to := common.Address(m.cfg.RewardRecipient)
	if m.cfg.RewardRecipient.Zero() || to == m.account {
		return m.abis.market.PackFreeSlot(slot)
	}
	return m.abis.market.PackFreeSlotTo(slot, to, m.account)
}

// checkRecipient refuses a recipient from which the rewards could never be moved.
func (m *Market) checkRecipient() error {
	if m.cfg.RewardRecipient.Zero() {
		return nil
	}
	for name, contract := range map[string]common.Address{"marketplace": m.contract, "token": m.tokenAddress()} {
		if common.Address(m.cfg.RewardRecipient) == contract {
			return fmt.Errorf("%w: rewards would go to the %s contract %s, which cannot pay them out; "+
				"name an account", ErrConfig, name, contract)
		}
	}
	return nil
}

// frees reports whether a call frees a slot, whichever account gets the reward.
func (m *Market) frees(input []byte, slot events.SlotID) bool {
	if len(input) < 4+len(slot) || !bytes.Equal(input[4:4+len(slot)], slot[:]) {
		return false
	}
	contract := m.abis.market.GetABI()
	return bytes.Equal(input[:4], contract.Methods["freeSlot"].ID) ||
		bytes.Equal(input[:4], contract.Methods["freeSlot0"].ID)
}

// payoutFrom reads the amounts of our freeSlot from the transfers in its receipt: the contract pays
// the reward first and then the collateral (spec/marketplace.md §5.6). The recipients are those of
// the transaction, which may differ from today's configuration. Collateral that went to another account
// did not come back.
func (m *Market) payoutFrom(ctx context.Context, r *types.Receipt) (events.PayoutReceipt, error) {
	receipt, err := m.conn.InBlock(ctx, r)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	payout := events.PayoutReceipt{Receipt: receipt}
	paid, _, err := m.transfers(r.Logs, m.contract, anyRecipient)
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	for i, p := range paid {
		switch {
		case i < len(paid)-1:
			payout.Paid = payout.Paid.Add(p.amount)
			if p.to != m.account {
				payout.RewardRecipient = events.Address(p.to)
			}
		case p.to == m.account:
			payout.Paid, payout.Collateral = payout.Paid.Add(p.amount), p.amount
		}
	}
	return payout, nil
}

// earlierPayout reports an earlier payout of a slot, from the outbox or from the transaction on
// chain.
func (m sending) earlierPayout(
	ctx context.Context, prefix string, slot events.SlotID, facts events.SlotFacts,
) (events.PayoutReceipt, error) {
	hash, ok, err := m.tx.Earlier(ctx, beginsWith(prefix))
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	if !ok && facts.SlotState == events.SlotPaid {
		if hash, ok, err = m.searchPayout(ctx, slot); err != nil {
			return events.PayoutReceipt{}, err
		}
	}
	if !ok {
		return forgottenPayout(facts), nil
	}
	r, err := m.conn.MinedReceipt(ctx, hash)
	if errors.Is(err, rpc.ErrReceiptNotThere) && facts.At.Time.Sub(facts.RequestEnd) > receiptsKept {
		return forgottenPayout(facts), nil
	}
	if err != nil {
		return events.PayoutReceipt{}, err
	}
	if !rpc.Succeeded(r) {
		return forgottenPayout(facts), nil
	}
	payout, err := m.payoutFrom(ctx, r)
	payout.AlreadyFree = true
	return payout, err
}

// receiptsKept is how long every node keeps receipts; those that prune the most keep 10,064 blocks. One that is
// missing before is not there yet.
const receiptsKept = 24 * time.Hour

// forgottenPayout is what is still known of a payout whose transaction the node does not find: a
// paid slot keeps the returned collateral in its state for ever.
func forgottenPayout(facts events.SlotFacts) events.PayoutReceipt {
	payout := events.PayoutReceipt{AlreadyFree: true}
	if facts.SlotState == events.SlotPaid {
		payout.Paid, payout.Collateral = facts.Collateral, facts.Collateral
	}
	return payout
}

// searchPayout looks for our freeSlot of a slot among the transfers to us: at least the collateral
// came to us, whichever account got the reward.
func (m *Market) searchPayout(ctx context.Context, slot events.SlotID) (common.Hash, bool, error) {
	token := m.abis.token.GetABI()
	topics := [][]common.Hash{
		{token.Events["Transfer"].ID},
		{common.BytesToHash(m.contract.Bytes())},
		{common.BytesToHash(m.account.Bytes())},
	}
	var found common.Hash
	err := m.searchBack(ctx, m.tokenAddress(), topics, func(l *types.Log) (bool, error) {
		call, err := m.conn.TransactionBy(ctx, l.TxHash)
		if err == nil && call != nil && m.frees(call.Input, slot) {
			found = l.TxHash
		}
		return found != common.Hash{}, err
	})
	return found, found != common.Hash{}, err
}
