package duty

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// ExpectedProofs is how many proofs a slot needs in a period on average, when
// blocks are blockTime apart, at least a second. Each challenge whose pointer
// comes out of the downtime while a miss can be made or marked is drawn or not;
// over so many blocks the pointer meets, of every 256 places where a challenge
// can begin, those that lie in the window and the ones before it that are not
// over yet.
func ExpectedProofs(cfg events.ProofConfig, asked events.Amount, blockTime time.Duration) float64 {
	window := float64((cfg.Period + cfg.Timeout) / max(blockTime, time.Second))
	challenges := (window + 255 - float64(cfg.Downtime)) / 256
	p, _ := Probability(cfg, asked).Float64()
	return challenges / max(1, p)
}
