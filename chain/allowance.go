package chain

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"time"

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

// provide makes sure that the account has the price of a fill besides what must be left, and that
// the marketplace may take it besides the prices of the other fills under way. If it must approve, it
// approves an allowance that lasts for long, or exactly the price, and not after the fill's deadline. One
// call at a time.
func (m sending) provide(ctx context.Context, call events.SlotCall, price events.Amount, deadline time.Time) error {
	if err := m.tx.Idle(ctx, "approve:"); err != nil {
		return err
	}
	var balance, allowance *big.Int
	t := m.abis.token
	head, err := m.conn.ReadNewest(ctx, m.account,
		viewOf(m.tokenAddress(), t.PackBalanceOf(m.account), t.UnpackBalanceOf, &balance),
		viewOf(m.tokenAddress(), t.PackAllowance(m.account, m.contract), t.UnpackAllowance, &allowance))
	if err != nil {
		return err
	}
	held, errHeld := events.AmountFromBig(balance)
	allowed, err := events.AmountFromBig(allowance)
	if err = cmp.Or(errHeld, err); err != nil {
		return err
	}
	if err := m.hasAll(ctx, head.Head(), call.Paid); err != nil {
		return err
	}
	if held.SubFloor(call.Keep).Less(price) {
		return fmt.Errorf("%w: the collateral is %s, the account holds %s, and %s of that must be left for other slots",
			events.ErrInsufficientFunds, price, held, call.Keep)
	}
	need, amount := price, price
	if !m.cfg.ExactAllowance {
		need, amount = m.allPromised(), m.cfg.Allowance
	}
	if !allowed.Less(need) {
		return nil
	}
	if amount.Less(need) {
		amount = need
	}
	data := t.PackApprove(m.contract, amount.Big())
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
	for _, p := range paid {
		if p.Number > until.Number {
			return fmt.Errorf("%w: it is at block %d, the payment in block %d",
				events.ErrBeforePayment, until.Number, p.Number)
		}
		if p.Hash.Zero() {
			continue
		}
		if now, err := m.HeadAt(ctx, p.Number); err != nil {
			return err
		} else if now.Hash != p.Hash {
			return fmt.Errorf("%w: block %d is %s, the payment was in %s",
				events.ErrBeforePayment, p.Number, now.Hash, p.Hash)
		}
	}
	// All answers must be of one chain.
	if same, err := m.HeadAt(ctx, until.Number); err != nil {
		return err
	} else if same.Hash != until.Hash {
		return fmt.Errorf("%w: a reorganisation replaced block %d", events.ErrBeforePayment, until.Number)
	}
	return nil
}
