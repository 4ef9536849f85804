package chain

import (
	"context"

	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Follower is the feed of the contract's logs. Market.Feed makes it.
type Follower struct {
	feed *feed.Follower[messages.MarketEvent]
}

// Feed is the feed of the contract's logs, over the market's connection.
func (m *Market) Feed() *Follower {
	return &Follower{feed.New(m.conn, m.blocks, feed.Config{
		Contract: m.contract, DeployedAt: m.cfg.DeployedAt, LogRange: m.cfg.LogRange,
		LongestWait: m.cfg.LongestRedialWait, SilentBlocks: m.cfg.SilentBlocks, LeastSilence: m.cfg.LeastSilence,
		Log: m.cfg.Log,
	}, m.marketReaders())}
}

// Follow delivers updates after the cursor, oldest first, until ctx ends or deliver fails. It
// returns the error of ctx or deliver, or an *IdentityError when the node turns out to be on
// another chain; after any other error it reconnects and goes on. A zero cursor starts at the
// contract's deployment. Every log is delivered exactly once for each block that holds it, and
// blocks that are gone are announced before those that replace them.
func (f *Follower) Follow(
	ctx context.Context, from events.Cursor,
	deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.feed.Follow(ctx, from, asUpdates(deliver))
}

// FollowHeads is Follow without the logs: the node is never asked for any. Of the blocks that are far behind
// the newest it delivers only the last.
func (f *Follower) FollowHeads(
	ctx context.Context, from events.Cursor,
	deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.feed.FollowHeads(ctx, from, asUpdates(deliver))
}

func asUpdates(
	deliver func(context.Context, events.ChainUpdate) error,
) func(context.Context, feed.Update[messages.MarketEvent]) error {
	return func(ctx context.Context, u feed.Update[messages.MarketEvent]) error {
		return deliver(ctx, events.ChainUpdate(u))
	}
}
