package duty

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Pace is how fast blocks come, which decides about the challenges still to come.
type Pace struct {
	// Shortest is the least time between two blocks. Zero stands for a second.
	Shortest time.Duration
	// Lead is the time between a block that shows a challenge and the one in which
	// its proof is mined. Chain time.
	Lead time.Duration
}

// Shortest is the least time between two blocks that must be expected: the least that was
// seen lately, in blocks in the order of their numbers, but at most the usual time. It is
// a second if none were seen. Where several blocks come in a second, it is half of their
// average time.
func Shortest(lately []events.Head, usual time.Duration) time.Duration {
	if len(lately) < 2 {
		return min(max(usual, time.Millisecond), time.Second)
	}
	least := usual
	for i, h := range lately[1:] {
		before := lately[i]
		least = min(least, h.Time.Sub(before.Time)/time.Duration(h.Number-before.Number))
	}
	if least >= time.Second {
		return least
	}
	first, last := lately[0], lately[len(lately)-1]
	average := last.Time.Sub(first.Time) / time.Duration(last.Number-first.Number)
	return max(min(average/2, time.Second), time.Millisecond)
}

// Pass computes what slots owe if a transaction is mined right after one block, in
// the period of the second after it. Whatever does not depend on the slot is
// computed once; a verdict then takes some tens of nanoseconds and allocates
// nothing. Not safe for concurrent use.
type Pass struct {
	cfg    events.ProofConfig
	number uint64 // of the block in which a transaction would be mined
	period uint64
	base   uint8 // the pointer, but for the slot
	// left is how many blocks can follow until a miss can no longer be marked.
	left uint64
	// unseen: the challenge after a wrap may demand a proof and yet come too late to
	// be answered.
	unseen     bool
	hashes     Hashes
	challenges [256]challenge // by pointer
}

// challenge is what is known of a pointer's challenge.
type challenge struct {
	asked, known bool
	value        events.Challenge
}

// NewPass begins a pass over slots at a block.
func NewPass(cfg events.ProofConfig, head events.Head, pace Pace, hashes Hashes) *Pass {
	now := head.Time.Add(time.Second)
	p := &Pass{cfg: cfg, number: head.Number + 1, period: Period(cfg, now), hashes: hashes}
	p.base = Pointer(cfg, events.SlotID{}, p.number, p.period)
	shortest := pace.Shortest
	if shortest <= 0 {
		shortest = time.Second
	}
	p.left = uint64(End(cfg, p.period).Add(cfg.Timeout).Sub(now) / shortest)
	// A wrap matters only if it comes at least a downtime before the end of the marking.
	p.unseen = time.Duration(cfg.Downtime)*shortest-cfg.Timeout < pace.Lead
	return p
}

// Period is the period that the pass is about.
func (p *Pass) Period() uint64 { return p.period }

// Verdict says what a slot owes.
func (p *Pass) Verdict(s *Slot) Verdict {
	v := Verdict{Period: p.period, Pointer: p.base + s.ID[31]}
	c := p.challenge(v.Pointer)
	if !c.known {
		return v
	}
	v.Known, v.Challenge = true, c.value
	v.Owed = p.period > Period(p.cfg, s.FilledAt) &&
		(p.leavesDowntime(v.Pointer) && Drawn(s.Probability, c.value) || p.wrapsUnseen(v.Pointer))
	return v
}

func (p *Pass) challenge(pointer uint8) *challenge {
	c := &p.challenges[pointer]
	if c.asked {
		return c
	}
	c.asked = true
	number, ok := ChallengeBlock(p.number, pointer)
	if !ok {
		return c
	}
	if hash, ok := p.hashes(number); ok {
		c.known, c.value = true, Challenge(hash)
	}
	return c
}

// leavesDowntime reports whether a miss can be marked before the pointer wraps.
func (p *Pass) leavesDowntime(pointer uint8) bool {
	return pointer >= p.cfg.Downtime || uint64(p.cfg.Downtime-pointer) <= p.left
}

// wrapsUnseen reports whether a challenge that is not known yet may demand a
// proof when the miss is marked.
func (p *Pass) wrapsUnseen(pointer uint8) bool {
	return p.unseen && 256-uint64(pointer)+uint64(p.cfg.Downtime) <= p.left
}

// Window is a run of blocks, first and last included.
type Window struct{ First, Last uint64 }

// Challenges gives the challenge that a block makes, by the block's number.
type Challenges func(number uint64) (events.Challenge, bool)

// ChallengesOf makes the challenges of hashes, each once. Not safe for concurrent use.
func ChallengesOf(hashes Hashes) Challenges {
	made := map[uint64]events.Challenge{}
	return func(number uint64) (events.Challenge, bool) {
		if c, ok := made[number]; ok {
			return c, true
		}
		hash, ok := hashes(number)
		if !ok {
			return events.Challenge{}, false
		}
		c := Challenge(hash)
		made[number] = c
		return c, true
	}
}

// Required reports whether the contract, in some block of a window, counts a proof
// of a period as required; with the window in which a miss can be marked, that is
// whether the proof was owed. It returns the challenge that demands it. Known is
// false when a block's hash is not known and no other block demands a proof.
func Required(cfg events.ProofConfig, s *Slot, period uint64, w Window, challenges Challenges) (
	demands events.Challenge, required, known bool,
) {
	if period <= Period(cfg, s.FilledAt) || w.Last < w.First {
		return events.Challenge{}, false, true
	}
	known = true
	for n := w.First; n <= w.Last; {
		pointer := Pointer(cfg, s.ID, n, period)
		out := n + uint64(max(pointer, cfg.Downtime)-pointer) // The first block out of the downtime.
		if number, ok := ChallengeBlock(n, pointer); ok && out <= w.Last {
			c, at := challenges(number)
			if at && Drawn(s.Probability, c) {
				return c, true, true
			}
			known = known && at
		}
		n += 256 - uint64(pointer) // The first one with the next challenge.
	}
	return events.Challenge{}, false, known
}
