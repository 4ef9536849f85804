package duty

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// A Judge says what became of the periods of one slot that are over, when nobody can mark
// a miss of them any more: the blocks of the marking window say whether a proof was owed.
type Judge struct {
	Past       *Past
	Slot       *Slot
	Filled     uint64    // block of the fill
	Until      time.Time // when the slot ceases, or ceased, to owe proofs
	Challenges Challenges
}

// Owed says whether a proof of a period was owed, and for which challenge. When the hash
// of a block is not at hand it counts as one that demands nothing: nobody is told of a
// miss that is not certain.
func (j *Judge) Owed(period uint64) (challenge events.Challenge, owed bool) {
	w := j.Past.window(period, j.Until)
	if j.Filled >= w.began { // The fill proves its own period.
		return challenge, false
	}
	challenge, owed, _ = Required(j.Past.cfg, j.Slot, period, w.Window, j.Challenges)
	return challenge, owed
}

// Missed says whether the miss of a duty that is open could be marked. Of a period before
// the blocks of the past, and where a hash is not at hand, that is taken for granted:
// then unknown says why.
func (j *Judge) Missed(period uint64) (missed bool, unknown string) {
	if period < j.Past.From {
		return true, fmt.Sprintf("the chain is read back %d blocks at most", MostPastBlocks)
	}
	_, owed, known := Required(j.Past.cfg, j.Slot, period, j.Past.window(period, j.Until).Window, j.Challenges)
	if !known {
		return true, "the hash of a block that decides about it is not to be had"
	}
	return owed, ""
}

// LastClosed is the last period whose marking is over when head is the newest block.
func LastClosed(cfg events.ProofConfig, head events.Head) uint64 {
	return max(Period(cfg, head.Time.Add(-cfg.Timeout)), 1) - 1
}

// Deadline is the last second of a period: the time of the last block that may hold its proof.
func Deadline(cfg events.ProofConfig, period uint64) time.Time {
	return End(cfg, period).Add(-time.Second)
}
