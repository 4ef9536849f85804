package duty

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// MarkedAfter reports whether, by the contract's rules in the block after head, the
// slot owed the proof of a period that is over. Then a marking succeeds if the proof
// is missing. The contract evaluates it with the pointer of the block of the marking,
// and with the number of the marked period (spec/marketplace.md §5.5). known is false
// when the hash of the challenge's block is not known here.
func MarkedAfter(cfg events.ProofConfig, s Slot, head events.Head, period uint64, hashes Hashes) (owed, known bool) {
	next := Window{head.Number + 1, head.Number + 1}
	_, owed, known = Required(cfg, &s, period, next, func(number uint64) (events.Challenge, bool) {
		hash, ok := hashes(number)
		return Challenge(hash), ok
	})
	return owed, known
}

// Markable returns the periods whose missing proofs a transaction after head may
// mark, the newest first: those that are over at the time of head, so that every
// later block is after their end, and whose window contains the next second.
func Markable(cfg events.ProofConfig, head events.Head) []uint64 {
	var open []uint64
	for period := Period(cfg, head.Time); period > 0; {
		period--
		if LastMarking(cfg, period).Before(head.Time.Add(time.Second)) {
			break
		}
		open = append(open, period)
	}
	return open
}

// LastMarking is the last second of chain time in which a missing proof of a period
// can be marked.
func LastMarking(cfg events.ProofConfig, period uint64) time.Time {
	return End(cfg, period).Add(cfg.Timeout - time.Second)
}
