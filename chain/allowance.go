package chain

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// earmark and release add and subtract what a fill under way will take from our tokens, so that an
// allowance is not counted twice.
func (m *Market) earmark(price events.Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earmarked = m.earmarked.AddSaturating(price)
}

func (m *Market) release(price events.Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earmarked = m.earmarked.SubFloor(price)
}

func (m *Market) allPromised() events.Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.earmarked
}

// affords says whether the marketplace may take the price of a fill, besides the prices of the others
// under way, and how much it must be allowed to take if not. ErrInsufficientFunds if the account has
// not the price besides what must be left.
func (m *Market) affords(
	ctx context.Context, call events.SlotCall, price events.Amount,
) (need events.Amount, enough bool, err error) {
	if need = price; !m.cfg.ExactAllowance {
		need = m.allPromised() // Before what there is is read: what ends in between counts twice, not never.
	}
	var balance, allowance *big.Int
	t := m.abis.token
	head, err := m.conn.ReadNewest(ctx, m.account, rpc.Reads(
		viewOf(m.tokenAddress(), t.PackBalanceOf(m.account), t.UnpackBalanceOf, &balance),
		viewOf(m.tokenAddress(), t.PackAllowance(m.account, m.contract), t.UnpackAllowance, &allowance)))
	if err != nil {
		return need, false, err
	}
	held, errHeld := events.AmountFromBig(balance)
	allowed, err := events.AmountFromBig(allowance)
	if err = cmp.Or(errHeld, err); err != nil {
		return need, false, err
	}
	if err := m.hasAll(ctx, head.Head(), call.Paid); err != nil {
		return need, false, err
	}
	if held.SubFloor(call.Keep).Less(price) {
		return need, false, fmt.Errorf("%w: the collateral is %s, the account holds %s, and %s of that must be "+
			"left for other slots", events.ErrInsufficientFunds, price, held, call.Keep)
	}
	return need, !allowed.Less(need), nil
}

// provide makes sure that affords is true. If it must approve, it approves an allowance that lasts for long, or exactly
// the price, and not after the fill's deadline. One call at a time.
func (m sending) provide(ctx context.Context, call events.SlotCall, price events.Amount, deadline time.Time) error {
	if err := m.tx.Idle(ctx, "approve:"); err != nil {
		return err
	}
	need, enough, err := m.affords(ctx, call, price)
	if err != nil || enough {
		return err
	}
	amount := price
	if !m.cfg.ExactAllowance {
		amount = m.cfg.Allowance
	}
	if amount.Less(need) {
		amount = need
	}
	data := m.abis.token.PackApprove(m.contract, amount.Big())
	_, err = m.tx.Again(ctx, tx.Call{
		Key: "approve:" + events.Address(m.contract).String(),
		To:  m.tokenAddress(), Data: data, Gas: m.cfg.Gas.Approve, Deadline: deadline,
		Correlation: call.Request.String(),
	})
	if err != nil {
		return fmt.Errorf("approve %s tokens: %w", amount, err)
	}
	return nil
}

// hasAll refuses a chain, up to a block, that does not have all of the blocks in which slots were paid.
func (m *Market) hasAll(ctx context.Context, until events.Head, paid []events.Head) error {
	if len(paid) == 0 {
		return nil
	}
	var numbers []uint64
	for _, p := range paid {
		if p.Number > until.Number {
			return fmt.Errorf("%w: it is at block %d, the payment in block %d",
				events.ErrBeforePayment, until.Number, p.Number)
		}
		numbers = append(numbers, p.Number)
	}
	now, err := m.conn.Blocks(ctx, append(numbers, until.Number)) // Last: it shows a branch that changed meanwhile.
	if err != nil {
		return err
	}
	for i, want := range append(slices.Clip(paid), until) {
		switch {
		case now[i] == nil:
			return fmt.Errorf("%w: block %d is not known", rpc.ErrUnavailable, want.Number)
		case want.Hash.Zero() || events.Hash(now[i].Hash) == want.Hash:
		case i == len(paid): // All answers must be of one chain.
			return fmt.Errorf("%w: a reorganisation replaced block %d", events.ErrBeforePayment, until.Number)
		default:
			return fmt.Errorf("%w: block %d is %s, the payment was in %s",
				events.ErrBeforePayment, want.Number, now[i].Hash, want.Hash)
		}
	}
	return nil
}
