package actors

import (
	"time"

	"github.com/hostnode/hostnode/events/duty"
)

// guessedBlockTime is what blocks are taken to be apart until it is known: Ethereum's.
const guessedBlockTime = 12 * time.Second

// BlockTime is how far apart blocks usually are, in chain time.
type BlockTime struct {
	Usual time.Duration // 0: not known yet
	// Set says that it was configured, and not measured.
	Set bool
}

func (c *chain) knownBlockTime() BlockTime {
	if c.proofMargin.BlockTime > 0 {
		return BlockTime{c.proofMargin.BlockTime, true}
	}
	m, measures := optional[interface{ BlockTime() (time.Duration, bool) }](c.Market)
	if !measures {
		return BlockTime{}
	}
	usual, _ := m.BlockTime()
	return BlockTime{Usual: usual}
}

// blockTime is what is reckoned with: what is known, or else a guess.
func (c *chain) blockTime() time.Duration {
	if b := c.knownBlockTime(); b.Usual > 0 {
		return b.Usual
	}
	return guessedBlockTime
}

// margin is what a proof needs before it is on chain.
func (c *chain) margin() duty.Margin {
	return duty.Margin{Blocks: c.proofMargin.Blocks, BlockTime: c.blockTime()}
}

// stalledAfter is how long, by the machine's clock, the chain may be silent before the host
// says that it does not sell: a minute, or where blocks are far apart some of them.
func (c *chain) stalledAfter() time.Duration {
	const blocks = 5
	return max(time.Minute, blocks*c.blockTime())
}
