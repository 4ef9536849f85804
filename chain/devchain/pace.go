package devchain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/internal/retry"
)

// Pacer says when the next block may be sealed: it returns nil at that moment. Its error ends Run.
// One goroutine calls it.
type Pacer func(ctx context.Context) error

// FixedPace lets a block be sealed at each interval of the machine's time. It does not make up for
// late blocks.
func FixedPace(interval time.Duration) Pacer {
	return func(ctx context.Context) error { return retry.Sleep(ctx, interval) }
}

func (c *Chain) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

// Run seals a block whenever the pacer returns, unless the chain is paused. It returns nil when ctx
// ends or the chain is closed, and otherwise the pacer's error.
func (c *Chain) Run(ctx context.Context, pace Pacer) error {
	for {
		if err := pace(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("pace of the development chain: %w", err)
		}
		if c.isPaused() {
			continue
		}
		if _, err := c.Seal(ctx, 1); err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return nil
			}
			return err
		}
	}
}
