package chain

import (
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/messages"
)

// Follower is the feed of the contract's logs. Market.Feed makes it.
type Follower = feed.Follower[messages.MarketEvent]

// Feed is the feed of the contract's logs, over the market's connection.
func (m *Market) Feed() *Follower {
	return feed.New(m.conn, m.blocks, feed.Config{
		Contract: m.contract, DeployedAt: m.cfg.DeployedAt, LogRange: m.cfg.LogRange,
		LongestWait: m.cfg.LongestRedialWait, SilentBlocks: m.cfg.SilentBlocks, LeastSilence: m.cfg.LeastSilence,
		Log: m.cfg.Log,
	}, m.marketReaders())
}
