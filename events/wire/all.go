package wire

import (
	"context"
	"iter"
	"math"

	"github.com/hostnode/hostnode/events"
)

// readLog sends a part of the log. Forwards it begins with the event at the
// position, backwards with the one before it, as EventStoreDB does.
func (c *reader) readLog(ctx context.Context) error {
	at := events.Position(c.at)
	if !c.backward && at > 0 && at != events.EndPosition {
		at-- // The store begins behind a position.
	}
	remaining := c.count
	for remaining > 0 {
		limit := c.s.size(math.MaxUint64)
		if err := c.fill(ctx, limit, c.log(ctx, at, limit)); err != nil {
			return err
		}
		c.sight.forget()
		for i := range c.page.all {
			r := &c.page.all[i]
			at = r.Position
			shown, err := c.sendShown(ctx, r)
			if err != nil {
				return err
			}
			if shown {
				remaining--
			}
			if remaining == 0 {
				return nil
			}
		}
		if c.page.ended {
			return nil
		}
	}
	return nil
}

func (c *reader) log(ctx context.Context, at events.Position, limit int) iter.Seq2[events.Recorded, error] {
	if c.backward {
		return c.s.cfg.Store.ReadBack(ctx, at, limit)
	}
	return c.s.cfg.Store.ReadAll(ctx, at, limit)
}

// sendShown sends an event of the log if it passes the filter, and the caller
// may read it.
func (c *reader) sendShown(ctx context.Context, r *events.Recorded) (shown bool, err error) {
	if !c.filter.takes(r) {
		return false, nil
	}
	if shown, err = c.sight.sees(ctx, r.Stream); err == nil && shown {
		err = c.sendEvent(ctx, r)
	}
	return shown, err
}
