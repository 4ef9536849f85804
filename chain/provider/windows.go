package provider

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// WindowsOfAll is what the contract said of the windows of all providers in the blocks from first to last, in their
// order.
func (c *Chain) WindowsOfAll(ctx context.Context, first, last uint64) (found []events.ProviderWindows, err error) {
	known := c.abi.GetABI().Events
	topics := [][]common.Hash{{known["Proven"].ID, known["Missed"].ID}}
	logs, err := c.conn.LogsBetween(ctx, c.contract, topics, first, last)
	if err != nil {
		return nil, fmt.Errorf("read the windows of providers: %w", err)
	}
	for i := range logs {
		e, err := contracts.UnpackSectorEvent(&logs[i])
		if err != nil {
			continue // It is none that the contract makes.
		}
		w := events.ProviderWindows{Block: logs[i].BlockNumber}
		switch e := e.(type) {
		case *bindings.SectorProviderProven:
			w.Provider, w.Period, w.Periods = events.Address(e.Provider), e.Period, 1
			w.Name, w.Proven = fmt.Sprintf("deadline %d.%d", e.Deadline, e.Partition), true
		case *bindings.SectorProviderMissed:
			w.Provider, w.Period, w.Periods = events.Address(e.Provider), e.Period, e.Periods
			w.Name = fmt.Sprintf("sector %d", e.Number)
		}
		found = append(found, w)
	}
	return found, nil
}
