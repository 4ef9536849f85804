package chain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// This file is the validator's port: it marks the missing proofs of other hosts. It shares
// connection, account and transaction manager with the host, so that markings wait for whatever the
// host itself owes.

// markPrefix begins the keys of markings: mark:SLOT:PERIOD.
const markPrefix = "mark:"

// Missing are those of the slots whose proof of a period we could mark as missing in the block
// after the newest, in the order of the slots. Slots that this account hosts are never among them.
// Everything is read at one block, in few messages.
func (m *Market) Missing(ctx context.Context, slots []events.SlotRef, period uint64) ([]events.SlotRef, error) {
	missing, err := m.missing(ctx, slots, period)
	if err != nil {
		return nil, fmt.Errorf("ask for missing proofs of period %d: %w", period, err)
	}
	return missing, nil
}

func (m *Market) missing(ctx context.Context, slots []events.SlotRef, period uint64) ([]events.SlotRef, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]*rpc.View, len(slots))
	for i, s := range slots {
		views[i] = m.markable(s.Slot, period)
	}
	if err := m.conn.ViewsOfNext(ctx, m.account, head, m.blocks.Pace(), views...); err != nil {
		return nil, err
	}
	var missing []events.SlotRef
	for i, v := range views {
		if v.Err == nil {
			missing = append(missing, slots[i])
		}
	}
	return m.ofOthers(ctx, head, missing)
}

// markable asks whether a proof can be marked: the contract does not refuse.
func (m *Market) markable(slot events.SlotID, period uint64) *rpc.View {
	return rpc.NewCheck(m.contract, m.abis.market.PackCanMarkProofAsMissing(slot, period), func(data []byte) error {
		if panicked(data) {
			// With the pointer at zero, the challenge is the newest block's hash, which a trial
			// does not have. Then no proof is demanded, like anywhere in the downtime.
			return fmt.Errorf("%w: the pointer is at zero", events.ErrTooEarly)
		}
		return outcomes.Of(data)
	})
}

// ofOthers leaves out the slots that this account hosts.
func (m *Market) ofOthers(ctx context.Context, head *rpc.Header, slots []events.SlotRef) ([]events.SlotRef, error) {
	hosts := make([]common.Address, len(slots))
	views := make([]*rpc.View, len(slots))
	for i, s := range slots {
		views[i] = viewOf(m.contract, m.abis.market.PackGetHost(s.Slot), m.abis.market.UnpackGetHost, &hosts[i])
	}
	if err := m.read(ctx, head.Hash, views...); err != nil {
		return nil, err
	}
	var others []events.SlotRef
	for i, s := range slots {
		if hosts[i] != m.account {
			others = append(others, s)
		}
	}
	return others, nil
}

// MarkMissing marks a missing proof, and returns when that has the configured confirmations.
// Marking twice reports the first marking. Errors: ErrNotMissing when there is nothing to mark, or
// the slot is our own; ErrTooEarly until the period is over, and while the pointer of the next block
// is in the downtime; ErrDeadlinePassed, also when the contract's window has closed; ErrInsufficientFunds for gas.
func (m *Market) MarkMissing(
	ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time,
) (events.Marking, error) {
	return do(ctx, m, m.txs.WithManager, fmt.Sprintf("mark slot %s, period %d", slot.Slot.Short(), period),
		func(ctx context.Context, m sending) (events.Marking, error) {
			return m.markMissing(ctx, slot, period, deadline)
		})
}

func (m sending) markMissing(
	ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time,
) (events.Marking, error) {
	key := fmt.Sprintf("%s%s:%d", markPrefix, slot.Slot, period)
	if marking, found, err := m.earlierMarking(ctx, key); found || err != nil {
		return marking, err
	}
	config, err := m.Config(ctx)
	if err != nil {
		return events.Marking{}, err
	}
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return events.Marking{}, err
	}
	end := events.Unix((period + 1) * uint64(config.Proofs.Period/time.Second))
	now := head.Head().Time
	if now.Before(end) { // A block after one at the end is past it.
		return events.Marking{}, fmt.Errorf("%w: the period ends at %s", events.ErrTooEarly, end.Format(time.TimeOnly))
	}
	last := earliest(deadline, end.Add(config.Proofs.Timeout-time.Second))
	if next := now.Add(m.blocks.Pace()); next.After(last) {
		return events.Marking{}, fmt.Errorf("%w: the next block has time %s, the last possible one %s",
			events.ErrDeadlinePassed, next.Format(time.TimeOnly), last.Format(time.TimeOnly))
	}
	if err := m.mayMark(ctx, head, slot, period); err != nil {
		return events.Marking{}, err
	}
	data := m.abis.market.PackMarkProofAsMissing(slot.Slot, period)
	r, err := m.tx.Submit(ctx, tx.Call{
		Key: key, To: m.contract, Data: data, Gas: m.cfg.Gas.Mark, Deadline: last, Correlation: slot.Request.String(),
	})
	if errors.Is(err, events.ErrReverted) { // The pointer wrapped, or another validator was faster in the same block.
		err = errors.Join(m.whyNot(ctx, slot, period), err)
	}
	if err != nil {
		return events.Marking{}, err
	}
	return m.markingFrom(ctx, r)
}

// whyNot asks the contract why it refused a transaction that would have succeeded one block
// earlier.
func (m *Market) whyNot(ctx context.Context, slot events.SlotRef, period uint64) error {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return err
	}
	return m.mayMark(ctx, head, slot, period)
}

// earlierMarking waits for a marking of this proof that is under way, and reports one that the
// contract accepted.
func (m sending) earlierMarking(ctx context.Context, key string) (marking events.Marking, found bool, err error) {
	receipt, err := account.Mined(ctx, m.conn, m.tx, func(base string) bool { return base == key })
	if err != nil || receipt == nil {
		return marking, false, err
	}
	marking, err = m.markingFrom(ctx, receipt)
	return marking, err == nil, err
}

// mayMark asks the contract before gas is spent.
func (m *Market) mayMark(ctx context.Context, head *rpc.Header, slot events.SlotRef, period uint64) error {
	others, err := m.ofOthers(ctx, head, []events.SlotRef{slot})
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return fmt.Errorf("%w: the slot is our own", events.ErrNotMissing)
	}
	v := m.markable(slot.Slot, period)
	if err := m.conn.ViewsOfNext(ctx, m.account, head, m.blocks.Pace(), v); err != nil {
		return err
	}
	return v.Err
}

// markingFrom is the sum of the transfers from the marketplace to us.
func (m *Market) markingFrom(ctx context.Context, r *types.Receipt) (events.Marking, error) {
	receipt, err := m.conn.InBlock(ctx, r)
	if err != nil {
		return events.Marking{}, err
	}
	_, reward, err := m.transfers(r.Logs, m.contract, m.account)
	return events.Marking{Receipt: receipt, Reward: reward}, err
}

// Sent are the proofs that this account meant to mark, oldest first, as far back as the outbox
// goes: it outlives a crash, and an outage of the event store. MarkMissing says what became of
// each.
func (m *Market) Sent(ctx context.Context) ([]events.MissingProof, error) {
	all, err := do(ctx, m, m.txs.WithManager, "look for markings",
		func(_ context.Context, m sending) ([]tx.Intent, error) { return m.tx.Intents(markPrefix) })
	if err != nil {
		return nil, err
	}
	var sent []events.MissingProof
	for _, in := range all {
		if proof, ok := markedBy(in); ok {
			sent = append(sent, proof)
		}
	}
	return sent, nil
}

// markedBy reads from a transaction's key and correlation what it marks. The slot's index is in
// neither; it follows from request and slot.
func markedBy(in tx.Intent) (events.MissingProof, bool) {
	rest, ok := strings.CutPrefix(in.Key, markPrefix)
	if !ok {
		return events.MissingProof{}, false
	}
	id, number, _ := strings.Cut(rest, ":")
	slot, errSlot := events.ParseSlotID(id)
	request, errRequest := events.ParseRequestID(in.Correlation)
	period, err := strconv.ParseUint(number, 10, 64)
	if errSlot != nil || errRequest != nil || err != nil {
		return events.MissingProof{}, false
	}
	for index := range uint64(events.MaxSlots) {
		if events.SlotIDOf(request, index) == slot {
			return events.MissingProof{
				SlotRef: events.SlotRef{Request: request, Slot: slot, Index: index}, Period: period,
			}, true
		}
	}
	return events.MissingProof{}, false
}
