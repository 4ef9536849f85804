package chainview

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

// KnownBlockTime is how far apart blocks are, as far as it is known.
func (c *Chain) KnownBlockTime() BlockTime {
	if c.ProofMargin.BlockTime > 0 {
		return BlockTime{c.ProofMargin.BlockTime, true}
	}
	m, measures := Optional[interface{ BlockTime() (time.Duration, bool) }](c.Market)
	if !measures {
		return BlockTime{}
	}
	usual, _ := m.BlockTime()
	return BlockTime{Usual: usual}
}

// BlockTime is what is reckoned with: what is known, or else a guess.
func (c *Chain) BlockTime() time.Duration {
	if b := c.KnownBlockTime(); b.Usual > 0 {
		return b.Usual
	}
	return guessedBlockTime
}

// Margin is what a proof needs before it is on chain.
func (c *Chain) Margin() duty.Margin {
	return duty.Margin{Blocks: c.ProofMargin.Blocks, BlockTime: c.BlockTime()}
}

// StalledAfter is how long, by the machine's clock, the chain may be silent before the host
// says that it does not sell: a minute, or where blocks are far apart some of them.
func (c *Chain) StalledAfter() time.Duration {
	const blocks = 5
	return max(time.Minute, blocks*c.BlockTime())
}
