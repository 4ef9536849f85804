package chainview

import "time"

// guessedBlockTime is the assumed block time until it is known: Ethereum's.
const guessedBlockTime = 12 * time.Second

// BlockTime is the usual time between two blocks, in chain time.
type BlockTime struct {
	Usual time.Duration // 0: not known yet
	// Set says that it was configured, not measured.
	Set bool
}

// KnownBlockTime is the configured or measured block time, if there is one.
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

// BlockTime is the known block time, or else a guess.
func (c *Chain) BlockTime() time.Duration {
	if b := c.KnownBlockTime(); b.Usual > 0 {
		return b.Usual
	}
	return guessedBlockTime
}

// StalledAfter is how long, by the machine's clock, no block may come before the host reports
// that it does not sell: a minute, or several block times if those are long.
func (c *Chain) StalledAfter() time.Duration {
	const blocks = 5
	return max(time.Minute, blocks*c.BlockTime())
}
