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
	ticket             uint64 // counts promises
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
	c.tickets++
	return &money{deposit: deposit, need: c.promised, ticket: c.tickets}
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
// precommits under way, all of which are promised. Only those wait here for which there is not enough; what one of them
// finds out, or has approved, is for all that were promised before.
func (c sending) provide(ctx context.Context, m *money) error {
	select {
	case c.approve <- struct{}{}: // One at a time, so that two do not both ask for the same allowance.
		defer func() { <-c.approve }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.ticket <= c.covered {
		return nil
	}
	key := "approve:" + events.Address(c.contract).String()
	if err := c.tx.Idle(ctx, key); err != nil {
		return err
	}
	c.mu.Lock()
	all := &money{deposit: c.promised, need: c.promised, ticket: c.tickets}
	c.mu.Unlock()
	if _, err := c.conn.ReadNewest(ctx, c.account, rpc.Reads(c.moneyViews(all)...)); err != nil {
		return err
	}
	if all.balance.Cmp(m.deposit.Big()) < 0 {
		return fmt.Errorf("%w: the deposit is %s, the account holds %s",
			events.ErrInsufficientFunds, m.deposit, all.balance)
	}
	if all.allowance.Cmp(all.need.Big()) < 0 {
		amount := c.cfg.Allowance
		if amount.Less(all.need) {
			amount = all.need
		}
		_, err := c.tx.Again(ctx, tx.Call{
			Key: key, To: c.token, Data: c.tokenABI.PackApprove(c.contract, amount.Big()),
			Gas: withMargin(c.cfg.Gas.Approve),
		})
		if err != nil {
			return fmt.Errorf("approve %s tokens: %w", amount, err)
		}
	}
	if all.balance.Cmp(all.deposit.Big()) >= 0 {
		c.covered = all.ticket
	}
	return nil
}
