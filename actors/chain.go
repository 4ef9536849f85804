package actors

import (
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// chain is what the actors of a host know of the chain, and how they ask it.
type chain struct {
	*shell.Base
	// Market is asked through a look at what it answers; see doubt.go.
	Market port.Market
	view   *chainView
	// terms are the contract's configuration; set before the actors that read it exist.
	terms events.MarketConfig
	// proofMargin is what a proof needs before it is on chain. With no BlockTime the market's
	// counts, which measures it.
	proofMargin duty.Margin
	// told is the block up to which what the contract said is in the record.
	told atomic.Uint64
}

// newChain is a chain of which nothing is known yet.
func newChain(b *shell.Base, market port.Market, margin duty.Margin) *chain {
	view := newChainView(nil)
	view.market = &doubtful{market, view}
	return &chain{Base: b, Market: view.market, view: view, proofMargin: margin}
}

// chainTime is the time of the newest block: At of every command of the market.
func (c *chain) chainTime() time.Time { return c.view.now().Time }
