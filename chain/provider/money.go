package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// provide makes sure that the account has a deposit and that the contract can take it, besides those
// of the other precommits under way. Whoever calls it keeps the deposit promised until its message
// ended.
func (c sending) provide(ctx context.Context, deposit events.Amount) error {
	c.mu.Lock()
	c.promised = c.promised.AddSaturating(deposit)
	c.mu.Unlock()
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
	var balance, allowance *big.Int
	t := c.tokenABI
	_, err := c.conn.ReadNewest(ctx, c.account,
		viewOf(c.token, t.PackBalanceOf(c.account), t.UnpackBalanceOf, &balance),
		viewOf(c.token, t.PackAllowance(c.account, c.contract), t.UnpackAllowance, &allowance))
	if err != nil {
		return err
	}
	c.mu.Lock()
	need := c.promised
	c.mu.Unlock()
	if balance.Cmp(deposit.Big()) < 0 {
		return fmt.Errorf("%w: the deposit is %s, the account holds %s", events.ErrInsufficientFunds, deposit, balance)
	}
	if allowance.Cmp(need.Big()) >= 0 {
		return nil
	}
	amount := c.cfg.Allowance
	if amount.Less(need) {
		amount = need
	}
	_, err = c.tx.Again(ctx, tx.Call{
		Key: key, To: c.token, Data: t.PackApprove(c.contract, amount.Big()), Gas: withMargin(c.cfg.Gas.Approve),
	})
	if err != nil {
		return fmt.Errorf("approve %s tokens: %w", amount, err)
	}
	return nil
}

// keep takes back what provide promised.
func (c *Chain) keep(deposit events.Amount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promised = c.promised.SubFloor(deposit)
}
