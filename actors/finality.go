package actors

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// waitFinal waits until the chain itself calls a block permanent, if the market asks it
// (chain.finality); otherwise FinalBlocks decides.
func (c *chain) waitFinal(ctx context.Context, number uint64) error {
	m, ok := optional[interface {
		Final(ctx context.Context, number uint64) (bool, error)
	}](c.Market)
	if !ok {
		return nil
	}
	for {
		head := c.view.now()
		final, err := patiently(ctx, c.Base, c.patience(), func(ctx context.Context) (bool, error) {
			return m.Final(ctx, number)
		})
		if err != nil {
			return fmt.Errorf("is what ended the sale final: %w", err)
		}
		if final {
			return nil
		}
		if _, err := c.view.wait(ctx, func(h events.Head) bool { return h.Number > head.Number }); err != nil {
			return err
		}
	}
}
