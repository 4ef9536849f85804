package tx

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hostnode/hostnode/chain/rpc"
)

// GasPrice is the price per gas that a first attempt would pay now, in wei: the newest base fee and
// the node's tip, within the limits.
func (cfg *Config) GasPrice(ctx context.Context, c *rpc.Conn) (*big.Int, error) {
	head, err := c.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("price of gas: %w", err)
	}
	tip, err := c.Tip(ctx)
	if err != nil {
		return nil, fmt.Errorf("price of gas: %w", err)
	}
	price := clampTip(tip, cfg.MinTipWei, cfg.MaxTipWei)
	return minBig(new(big.Int).Add(head.LeastPrice(), price), newBig(cfg.MaxFeeCapWei)), nil
}
