package tx

import (
	"context"
	"fmt"
	"math/big"
	"sync"

	"github.com/hostnode/hostnode/chain/rpc"
)

// gasSpent is the gas used by the newest successful call of each kind. It is safe for concurrent
// use.
type gasSpent struct {
	mu     sync.Mutex
	byKind map[string]uint64
}

func (g *gasSpent) note(kind string, gas uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byKind == nil {
		g.byKind = map[string]uint64{}
	}
	g.byKind[kind] = gas
}

func (g *gasSpent) of(kind string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byKind[kind]
}

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
