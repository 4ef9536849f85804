// Package chainview is what the actors of a host know of the chain, and how they ask it.
//
// A View is the newest block and the hashes behind it; a Chain is the view, the market that
// answers, and the contract's terms. What is answered is compared with what can be true
// before anybody sees it (doubt.go), and no answer is waited for without an end
// (patience.go). ReadPast reads what the chain was in periods that are over, and a Pacer how fast
// blocks come.
//
// Not for: following the contract's log, which has a record of its own (package actors).
package chainview

import (
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// Chain is what the actors of a host know of the chain, and how they ask it.
type Chain struct {
	*shell.Base
	// Market is asked through a look at what it answers; see doubt.go.
	Market port.Market
	View   *View
	// Terms are the contract's configuration; set before the actors that read it exist.
	Terms events.MarketConfig
	// ProofMargin is what a proof needs before it is on chain. With no BlockTime the market's
	// counts, which measures it.
	ProofMargin duty.Margin
	// Told is the block up to which what the contract said is in the record.
	Told atomic.Uint64
}

// New is a chain of which nothing is known yet.
func New(b *shell.Base, market port.Market, margin duty.Margin) *Chain {
	view := NewView(nil)
	view.market = &doubtful{market, view}
	return &Chain{Base: b, Market: view.market, View: view, ProofMargin: margin}
}

// ChainTime is the time of the newest block: At of every command of the market.
func (c *Chain) ChainTime() time.Time { return c.View.Now().Time }

// HeadMoved says that the chain has a new newest block.
type HeadMoved struct{ Head events.Head }
