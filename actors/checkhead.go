package actors

import (
	"context"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/events"
)

// This file compares a new block with the blocks that are known.

// checkHead checks a block against the newest known one; if that is no longer on the chain,
// against the block that replaced it.
func (f *chainFollower) checkHead(ctx context.Context, h events.Head) error {
	impossible := f.View.Possible(h)
	if impossible == nil {
		return nil
	}
	known := f.View.Now()
	at, err := f.Market.HeadAt(ctx, known.Number)
	if err != nil || at.Hash == known.Hash && at.Time.Equal(known.Time) {
		return impossible
	}
	if err := chainview.Beside(at, h); err != nil {
		return err
	}
	f.View.Forget(known)
	return nil
}
