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
	tip, err := c.Tip(ctx, head)
	if err != nil {
		return nil, fmt.Errorf("price of gas: %w", err)
	}
	price := maxBig(cfg.clampTip(tip), c.Floor(ctx))
	return minBig(new(big.Int).Add(head.LeastPrice(), price), newBig(cfg.MaxFeeCapWei)), nil
}

const (
	// gasMargin is how much an estimate is raised, in percent: it is of the moment, and on chains that count
	// data in gas the price of data changes.
	gasMargin = 50
	// estimateBlocks is for how many blocks an estimate counts: for a call that waits to be sent, and for all of its
	// kind if the measured gas is enough. A node runs a call several times for one estimate, and a proof takes long.
	estimateBlocks = 32
)

// gas is how much the account's calls may use.
type gas struct {
	*node
	rec                   *record
	enough                map[string]uint64 // by kind, the newest block at which its measured gas was enough
	nothingGas, nothingAt uint64            // the gas of an empty transaction, and the block at which it was estimated
}

// estimate sets the gas of calls that are about to be sent, most of them at once: what the node estimates, but at
// least what their kind was measured to use, and at most Config.MaxGas. Without an estimate the measured gas counts:
// the node may not offer it, or a call may fail today and wait for another one that is not mined. The estimates are
// those of the next block, and an estimate is never the verdict on a call.
func (g *gas) estimate(ctx context.Context, head *rpc.Header, calls []*intent) {
	var asked []*intent
	var trials []rpc.Trial
	now := uint64(head.Number)
	for _, in := range calls {
		if last := max(in.estimatedAt, g.enough[kindOf(in.base)]); last == 0 || now >= last+estimateBlocks {
			asked, trials = append(asked, in), append(trials, in.trial(in.gas))
		}
	}
	if len(asked) == 0 {
		return
	}
	found, err := g.estimates(ctx, head, trials)
	if err != nil {
		g.rec.log.WithError(err).Debug("transactions: estimate gas")
		return
	}
	for i, in := range asked {
		limit := min(found[i]+found[i]*gasMargin/100, g.rec.cfg.MaxGas)
		if in.estimatedAt == 0 && 0 < limit && limit <= in.gas {
			g.enough[kindOf(in.base)] = now
		}
		in.estimatedAt, in.gas = now, max(in.gas, limit)
	}
}

// needsMore notes that a call had too little gas.
func (g *gas) needsMore(in *intent) {
	in.estimatedAt = 0
	delete(g.enough, kindOf(in.base))
}

func (g *gas) estimates(ctx context.Context, head *rpc.Header, calls []rpc.Trial) (found []uint64, err error) {
	g.asking(func() { found, err = g.conn.EstimateGas(ctx, g.account, head, g.blocks.Pace(), calls) })
	return found, err
}

// ofNothing is the gas of an empty transaction, as of the last estimateBlocks.
func (g *gas) ofNothing(ctx context.Context, head *rpc.Header) uint64 {
	if g.nothingGas == 0 || uint64(head.Number) >= g.nothingAt+estimateBlocks {
		g.nothingGas, g.nothingAt = noopGas, uint64(head.Number)
		found, err := g.estimates(ctx, head, []rpc.Trial{{To: g.account}})
		if err == nil && found[0] > noopGas {
			g.nothingGas = max(noopGas, min(found[0]+found[0]*gasMargin/100, g.rec.cfg.MaxGas))
		}
	}
	return g.nothingGas
}
