package duty

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// ExpectedProofs is how many proofs a slot needs in a period on average, when
// blocks are blockTime apart, at least a second. Each challenge whose pointer
// leaves the downtime while a miss can be made or marked may demand a proof.
// Over so many blocks the pointer meets, of the 256 positions at which a
// challenge can begin, those within the window, and earlier ones whose
// challenge still lasts.
func ExpectedProofs(cfg events.ProofConfig, asked events.Amount, blockTime time.Duration) float64 {
	window := float64((cfg.Period + cfg.Timeout) / max(blockTime, time.Second))
	challenges := (window + 255 - float64(cfg.Downtime)) / 256
	p, _ := Probability(cfg, asked).Float64()
	return challenges / max(1, p)
}
