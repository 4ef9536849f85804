package chainview

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// WaitFinal waits until the chain itself calls a block final, if the market asks for that
// (chain.finality); otherwise FinalBlocks decides.
func (c *Chain) WaitFinal(ctx context.Context, number uint64) error {
	m, ok := Optional[interface {
		Final(ctx context.Context, number uint64) (bool, error)
	}](c.Market)
	if !ok {
		return nil
	}
	for {
		head := c.View.Now()
		final, err := Patiently(ctx, c.Base, c.Patience(), func(ctx context.Context) (bool, error) {
			return m.Final(ctx, number)
		})
		if err != nil {
			return fmt.Errorf("ask whether the end of the sale is final: %w", err)
		}
		if final {
			return nil
		}
		if _, err := c.View.Wait(ctx, func(h events.Head) bool { return h.Number > head.Number }); err != nil {
			return err
		}
	}
}
