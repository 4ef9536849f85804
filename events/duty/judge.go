package duty

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// A Judge says whether proofs were owed in the past periods of one slot, once their
// misses can no longer be marked: the blocks of the marking window decide.
type Judge struct {
	Past       *Past
	Slot       *Slot
	Filled     uint64    // block of the fill
	Until      time.Time // when the slot stops, or stopped, owing proofs
	Challenges Challenges
}

// Owed reports whether a proof of a period was owed, and for which challenge. A block
// whose hash is not known counts as one that demands nothing: only certain misses are
// reported.
func (j *Judge) Owed(period uint64) (challenge events.Challenge, owed bool) {
	w := j.Past.window(period, j.Until)
	if j.Filled >= w.began { // The fill proves its own period.
		return challenge, false
	}
	challenge, owed, _ = Required(j.Past.cfg, j.Slot, period, w.Window, j.Challenges)
	return challenge, owed
}

// Missed reports whether the miss of an open duty could be marked. It is taken for
// granted for a period before the known blocks, and where a hash is not known; then
// unknown says why.
func (j *Judge) Missed(period uint64) (missed bool, unknown string) {
	if period < j.Past.From {
		return true, fmt.Sprintf("the chain is read back %d blocks at most", MostPastBlocks)
	}
	_, owed, known := Required(j.Past.cfg, j.Slot, period, j.Past.window(period, j.Until).Window, j.Challenges)
	if !known {
		return true, "the hash of a block that decides about it is not available"
	}
	return owed, ""
}

// OwedThroughout reports whether the contract counted the proof of a period as owed in every block in which its miss
// could be marked, of which there must be one. Only then is it certain that no challenge excused it, in whichever
// block a validator looked. A block whose hash is not known counts as one that demands nothing.
func (j *Judge) OwedThroughout(period uint64) bool {
	cfg, w := j.Past.cfg, j.Past.window(period, j.Until)
	if period <= Period(cfg, j.Slot.FilledAt) || w.Last < w.First {
		return false
	}
	for n := w.First; n <= w.Last; {
		pointer := Pointer(cfg, j.Slot.ID, n, period)
		number, there := ChallengeBlock(n, pointer)
		if !there || pointer < cfg.Downtime {
			return false
		}
		if c, known := j.Challenges(number); !known || !Drawn(j.Slot.Probability, c) {
			return false
		}
		n += 256 - uint64(pointer) // The first one with the next challenge.
	}
	return true
}

// LastClosed is the last period whose misses can no longer be marked when head is the newest block.
func LastClosed(cfg events.ProofConfig, head events.Head) uint64 {
	return max(Period(cfg, head.Time.Add(-cfg.Timeout)), 1) - 1
}

// Deadline is the last second of a period: the time of the last block that may hold its proof.
func Deadline(cfg events.ProofConfig, period uint64) time.Time {
	return End(cfg, period).Add(-time.Second)
}
