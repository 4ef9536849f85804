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

// estimateSoon is estimate for those of the waiting calls that may be sent now.
func (m *Manager) estimateSoon(ctx context.Context, waiting []*intent, flying int, suspected bool, head *rpc.Header) {
	var soon []*intent
	for _, in := range waiting {
		if len(soon) < m.cfg.MaxInFlight-flying && !suspected && !m.late(in, head) && !m.rec.waitsForRecord(in) {
			soon = append(soon, in)
		}
	}
	m.estimate(ctx, head, soon)
}

// estimate sets the gas of calls that are about to be sent, most of them at once: what the node estimates, but at
// least what their kind was measured to use, and at most Config.MaxGas. Without an estimate the measured gas counts:
// the node may not offer it, or a call may fail today and wait for another one that is not mined. The estimates are
// those of the next block, and an estimate is never the verdict on a call.
func (m *Manager) estimate(ctx context.Context, head *rpc.Header, calls []*intent) {
	var asked []*intent
	var trials []rpc.Trial
	now := uint64(head.Number)
	for _, in := range calls {
		if last := max(in.estimatedAt, m.enough[kindOf(in.base)]); last == 0 || now >= last+estimateBlocks {
			asked, trials = append(asked, in), append(trials, in.trial(in.gas))
		}
	}
	if len(asked) == 0 {
		return
	}
	found, err := m.estimates(ctx, head, trials)
	if err != nil {
		m.log.WithError(err).Debug("transactions: estimate gas")
		return
	}
	for i, in := range asked {
		gas := min(found[i]+found[i]*gasMargin/100, m.cfg.MaxGas)
		if in.estimatedAt == 0 && 0 < gas && gas <= in.gas {
			m.enough[kindOf(in.base)] = now
		}
		in.estimatedAt, in.gas = now, max(in.gas, gas)
	}
}

// needsMore notes that a call had too little gas.
func (m *Manager) needsMore(in *intent) {
	in.estimatedAt = 0
	delete(m.enough, kindOf(in.base))
}

func (m *Manager) estimates(ctx context.Context, head *rpc.Header, calls []rpc.Trial) (found []uint64, err error) {
	m.asking(func() { found, err = m.conn.EstimateGas(ctx, m.account, head, m.blocks.Pace(), calls) })
	return found, err
}

// gasOfNothing is the gas of an empty transaction, as of the last estimateBlocks.
func (m *Manager) gasOfNothing(ctx context.Context, head *rpc.Header) uint64 {
	if m.nothingGas == 0 || uint64(head.Number) >= m.nothingAt+estimateBlocks {
		m.nothingGas, m.nothingAt = noopGas, uint64(head.Number)
		found, err := m.estimates(ctx, head, []rpc.Trial{{To: m.account}})
		if err == nil && found[0] > noopGas {
			m.nothingGas = max(noopGas, min(found[0]+found[0]*gasMargin/100, m.cfg.MaxGas))
		}
	}
	return m.nothingGas
}
