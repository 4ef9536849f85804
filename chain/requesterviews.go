package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// BalanceOf is what any account holds.
func (r *Requester) BalanceOf(ctx context.Context, account events.Address) (events.Balance, error) {
	return balanceOf(ctx, r.conn, r.abis, r.token, common.Address(account))
}

// Config is the contract's configuration.
func (r *Requester) Config(ctx context.Context) (events.MarketConfig, error) {
	head, err := r.conn.latest(ctx)
	if err != nil {
		return events.MarketConfig{}, fmt.Errorf("read configuration: %w", err)
	}
	var raw bindings.MarketplaceConfig
	v := viewOf(r.contract, r.abis.market.PackConfiguration(), r.abis.market.UnpackConfiguration, &raw)
	if err := r.conn.views(ctx, r.account, head.Hash, v); err != nil {
		return events.MarketConfig{}, fmt.Errorf("read configuration: %w", err)
	}
	if v.err != nil {
		return events.MarketConfig{}, fmt.Errorf("read configuration: %w", v.err)
	}
	return configFrom(raw), nil
}

// Head is the newest block.
func (r *Requester) Head(ctx context.Context) (events.Head, error) {
	h, err := r.conn.latest(ctx)
	if err != nil {
		return events.Head{}, fmt.Errorf("read head: %w", err)
	}
	return h.head(), nil
}
