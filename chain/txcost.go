package chain

import (
	"context"
	"fmt"
	"math/big"
	"sync"

	"github.com/hostnode/hostnode/events"
)

// gasSpent is how much gas the newest successful call of each kind took. It is safe for
// concurrent use.
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

// of is what a call of a kind takes: as the last time, or as MeasuredGas says.
func (g *gasSpent) of(kind string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gas := g.byKind[kind]; gas > 0 {
		return gas
	}
	switch measured := MeasuredGas(); kind {
	case kindProof:
		return measured.Proof
	case kindReserve:
		return measured.Reserve
	case kindFill:
		return measured.Fill
	case kindFree:
		return measured.Free
	}
	return 0
}

// addPrices adds what work costs now, by the gas that it really takes, at the newest base
// fee and the node's tip.
func (m *Market) addPrices(ctx context.Context, b *events.Balance) error {
	head, err := m.conn.latest(ctx)
	if err != nil {
		return fmt.Errorf("price of gas: %w", err)
	}
	tip, err := m.conn.tip(ctx)
	if err != nil {
		return fmt.Errorf("price of gas: %w", err)
	}
	price := soberTip(tip, m.cfg.MinTipWei, m.cfg.MaxTipWei)
	price = minBig(new(big.Int).Add(head.baseFee(), price), newBig(m.cfg.MaxFeeCapWei))
	cost := func(kinds ...string) (events.Amount, error) {
		var gas uint64
		for _, kind := range kinds {
			gas += m.tx.spent.of(kind)
		}
		return events.AmountFromBig(new(big.Int).Mul(price, newBig(gas)))
	}
	if b.ProofWei, err = cost(kindProof); err != nil {
		return fmt.Errorf("price of a proof: %w", err)
	}
	if b.SaleWei, err = cost(kindReserve, kindFill, kindFree); err != nil {
		return fmt.Errorf("price of a sale: %w", err)
	}
	return nil
}
