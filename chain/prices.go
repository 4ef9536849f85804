package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hostnode/hostnode/events"
)

// spentOn is the gas that a kind of call uses: that of the last one, if it is known, or
// MeasuredGas.
func (m *Market) spentOn(kind string) uint64 {
	if manager := m.txs.manager(); manager != nil && manager.SpentOn(kind) > 0 {
		return manager.SpentOn(kind)
	}
	g := MeasuredGas()
	return map[string]uint64{kindProof: g.Proof, kindReserve: g.Reserve, kindFill: g.Fill, kindFree: g.Free}[kind]
}

// addPrices adds what work costs now: the gas that it really uses, at the newest base fee and the
// node's tip.
func (m *Market) addPrices(ctx context.Context, b *events.Balance) error {
	limits := m.transactions()
	price, err := limits.GasPrice(ctx, m.conn)
	if err != nil {
		return err
	}
	cost := func(kinds ...string) (events.Amount, error) {
		var gas uint64
		for _, kind := range kinds {
			gas += m.spentOn(kind)
		}
		return events.AmountFromBig(new(big.Int).Mul(price, new(big.Int).SetUint64(gas)))
	}
	if b.ProofWei, err = cost(kindProof); err != nil {
		return fmt.Errorf("price of a proof: %w", err)
	}
	if b.SaleWei, err = cost(kindReserve, kindFill, kindFree); err != nil {
		return fmt.Errorf("price of a sale: %w", err)
	}
	return nil
}
