package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// money is what the account has, and what the contract may take of it, beside what a precommit and those under way
// when it was promised will take.
type money struct {
	deposit, need      events.Amount
	balance, allowance *big.Int
}

// suffices says that nothing has to be approved; also for nil, which takes nothing.
func (m *money) suffices() bool {
	return m == nil || m.balance.Cmp(m.deposit.Big()) >= 0 && m.allowance.Cmp(m.need.Big()) >= 0
}

// promise notes what a message will take of the account's tokens until keep; nil: nothing. Only afterwards is read what
// there is. So of two messages the second counts the first, or its block: together they never use more than is allowed.
func (c *Chain) promise(deposit events.Amount) *money {
	if deposit.IsZero() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promised = c.promised.AddSaturating(deposit)
	return &money{deposit: deposit, need: c.promised}
}

// keep takes back what was promised.
func (c *Chain) keep(deposit events.Amount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promised = c.promised.SubFloor(deposit)
}

// moneyViews read what there is.
func (c *Chain) moneyViews(m *money) []*rpc.View {
	if m == nil {
		return nil
	}
	t := c.tokenABI
	return []*rpc.View{
		viewOf(c.token, t.PackBalanceOf(c.account), t.UnpackBalanceOf, &m.balance),
		viewOf(c.token, t.PackAllowance(c.account, c.contract), t.UnpackAllowance, &m.allowance),
	}
}

// provide makes sure that the account has a deposit and that the contract can take it, besides those of the other
// precommits under way, all of which are promised. Only those wait here for which there is not enough.
func (c sending) provide(ctx context.Context, deposit events.Amount) error {
	select {
	case c.approve <- struct{}{}: // One at a time, so that two do not both ask for the same allowance.
		defer func() { <-c.approve }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	key := "approve:" + events.Address(c.contract).String()
	if err := c.tx.Idle(ctx, key); err != nil {
		return err
	}
	c.mu.Lock()
	m := &money{deposit: deposit, need: c.promised}
	c.mu.Unlock()
	if _, err := c.conn.ReadNewest(ctx, c.account, rpc.Reads(c.moneyViews(m)...)); err != nil {
		return err
	}
	switch {
	case m.balance.Cmp(deposit.Big()) < 0:
		return fmt.Errorf("%w: the deposit is %s, the account holds %s",
			events.ErrInsufficientFunds, deposit, m.balance)
	case m.suffices():
		return nil
	}
	amount := c.cfg.Allowance
	if amount.Less(m.need) {
		amount = m.need
	}
	_, err := c.tx.Again(ctx, tx.Call{
		Key: key, To: c.token, Data: c.tokenABI.PackApprove(c.contract, amount.Big()),
		Gas: withMargin(c.cfg.Gas.Approve),
	})
	if err != nil {
		return fmt.Errorf("approve %s tokens: %w", amount, err)
	}
	return nil
}
