// Package chainview is what the actors of a host know of the chain, and how they ask it.
//
// A View is the newest block and the hashes before it. A Chain is the view, the market that
// answers, and the contract's terms. An answer is checked against what is possible before it is
// used (checkedmarket.go), and no answer is awaited for ever (patience.go). ReadPast reads the
// blocks of periods that are over, ReadMarket the recorded logs of requests that run, and a Pacer measures how fast
// blocks come.
//
// Not for: following the contract's logs, which package actors records.
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
	// Market checks the answers of the port; see checkedmarket.go.
	Market port.Market
	View   *View
	// Terms is the contract's configuration; set before the actors exist that read it.
	Terms events.MarketConfig
	// Waited is since when, in chain time, the start of this host waited for its event store; zero: it
	// did not. Set before the actors exist that read it.
	Waited time.Time
	// ProofMargin is the time between a proof and its block. Without a BlockTime, the market's
	// measured block time is used.
	ProofMargin duty.Margin
	// Recorded is the block up to which the contract's logs are recorded.
	Recorded atomic.Uint64
}

// New returns a chain of which nothing is known yet.
func New(b *shell.Base, market port.Market, margin duty.Margin) *Chain {
	view := NewView(nil)
	view.market = &checkedMarket{market, view}
	return &Chain{Base: b, Market: view.market, View: view, ProofMargin: margin}
}

// WhyNotRun says why nothing was done for a sale before the host's start was over; until is when what should
// have been done was over, in chain time and in words.
func (c *Chain) WhyNotRun(until time.Time, words string) string {
	if !c.Waited.IsZero() && until.After(c.Waited) {
		return "the host was starting, and waited for its event store, until " + words
	}
	return "the host did not run, or did not reach the chain, until " + words
}

// ChainTime is the time of the newest block: At of every command of the market.
func (c *Chain) ChainTime() time.Time { return c.View.Now().Time }

// HeadMoved says that there is a new newest block. Live: there is no newer one, as far as the chain says; otherwise the
// host catches up.
type HeadMoved struct {
	Head events.Head
	Live bool
}
