// Package duty computes who owes a proof, and for which challenge, from block
// numbers and block hashes alone, so that no slot needs a call to the chain in
// every period. The formulas are the contract's (spec/marketplace.md §7):
//
//	period(t)    = t / seconds per period
//	pointer(n,p) = (n + p*downtimeProduct + last byte of the slot id) mod 256
//	challenge    = keccak256(hash of block n-1-pointer)
//	drawn        = probability is zero, or challenge mod probability is zero
//	countable    = the slot is filled, and was before this period
//	required     = countable, drawn, pointer >= downtime
//
// n is the number of the block in which a transaction would be mined: the
// newest block plus one.
//
// # Which challenge decides
//
// A proof has to fit the challenge of the block in which it is mined. Whether a
// missing proof can be marked is decided later, in a block after the period's
// end, by that block's pointer, and so perhaps by another challenge. Unless the
// pointer wraps in between, the two challenges are the same. When it wraps within
// the period, only the new challenge counts: the duty is excused or opened again
// (Pass sees the new challenge at the first block after the wrap). When it wraps
// so late that the new challenge cannot be answered in the period, a miss could
// still be marked if the pointer leaves the downtime again before the marking
// ends. The contract's own rules (a timeout shorter than the downtime) exclude
// that. On a chain that does not follow them, every coming wrap counts as a
// demand, because an accepted proof settles the period whatever the later
// challenge is. One proof too many costs gas, one too few a part of the
// collateral.
//
// Pass computes what is owed now, Required what was owed in a period that is
// over. The package is pure.
package duty

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"time"

	"golang.org/x/crypto/sha3"

	"github.com/hostnode/hostnode/events"
)

// Period is the number of the period that t lies in.
func Period(cfg events.ProofConfig, t time.Time) uint64 {
	return uint64(t.Unix()) / uint64(cfg.Period/time.Second)
}

// Start is when a period begins.
func Start(cfg events.ProofConfig, period uint64) time.Time {
	return events.Unix(period * uint64(cfg.Period/time.Second))
}

// End is when a period ends and the next begins.
func End(cfg events.ProofConfig, period uint64) time.Time { return Start(cfg, period+1) }

// Pointer is the slot's pointer in block number n of a period.
func Pointer(cfg events.ProofConfig, slot events.SlotID, n, period uint64) uint8 {
	return uint8(n) + uint8(period)*cfg.DowntimeProduct + slot[31]
}

// ChallengeBlock is the number of the block whose hash is the challenge of a
// transaction in block n; false below block 257, where there is none.
func ChallengeBlock(n uint64, pointer uint8) (uint64, bool) {
	back := uint64(pointer) + 1
	return n - back, n >= back
}

// Challenge is the keccak256 of a block's hash.
func Challenge(blockHash events.Hash) events.Challenge {
	h := sha3.NewLegacyKeccak256()
	h.Write(blockHash[:])
	return events.Challenge(h.Sum(nil))
}

// Probability is how many periods there are to one proof, outside of downtime.
func Probability(cfg events.ProofConfig, asked events.Amount) *big.Int {
	p := new(big.Int).Mul(asked.Big(), big.NewInt(256-int64(cfg.Downtime)))
	return p.Rsh(p, 8)
}

// Drawn reports whether a challenge demands a proof.
func Drawn(probability *big.Int, c events.Challenge) bool {
	if probability.Sign() == 0 {
		return true
	}
	if !probability.IsUint64() {
		return new(big.Int).Mod(new(big.Int).SetBytes(c[:]), probability).Sign() == 0
	}
	rest, by := uint64(0), probability.Uint64() // It allocates nothing, because this is computed for every slot.
	for i := 0; i < len(c); i += 8 {
		rest = bits.Rem64(rest, binary.BigEndian.Uint64(c[i:]), by)
	}
	return rest == 0
}

// Slot is what decides about a slot's duties.
type Slot struct {
	ID          events.SlotID
	FilledAt    time.Time
	Probability *big.Int // of Probability
}

// Verdict says what a slot owes in the next block.
type Verdict struct {
	Period    uint64
	Pointer   uint8
	Challenge events.Challenge
	// Owed: a proof of this period must be handed in, for this challenge.
	Owed bool
	// Known is false when the hash of the challenge's block is not known here.
	Known bool
}

// Hashes gives the hash of a block of the current chain by its number.
type Hashes func(number uint64) (events.Hash, bool)

// Asked is what a proof in the block after head answers: the period, and the block whose
// hash is the challenge; false where there is none.
func Asked(cfg events.ProofConfig, slot events.SlotID, head events.Head) (period, block uint64, ok bool) {
	n := head.Number + 1
	period = Period(cfg, head.Time.Add(time.Second))
	block, ok = ChallengeBlock(n, Pointer(cfg, slot, n, period))
	return period, block, ok
}

// Margin is how much time a proof needs until it is on chain.
type Margin struct {
	// Made is how long it takes to make a proof; zero: it is made.
	Made time.Duration
	// Blocks is how many blocks may pass from then until it is mined.
	Blocks uint64
	// BlockTime is the usual time between two blocks.
	BlockTime time.Duration
}

// Total is the time from the beginning of a proof to its block.
func (m Margin) Total() time.Duration { return m.Made + time.Duration(m.Blocks)*m.BlockTime }

// Longest is the longest time that a proof may take which is begun in the first or second
// block of a period, to be mined within it. A longer time that was measured says that no proof
// is ever in time. Only another proof can correct that, so one is tried where it has most time.
func (m Margin) Longest(cfg events.ProofConfig) time.Duration {
	return max(0, cfg.Period-time.Duration(m.Blocks+2)*m.BlockTime-time.Second)
}

// StableForFill reports whether a proof for the fill that is begun now still
// answers its challenge when it is mined. For that the pointer must not wrap,
// nor be in the first blocks after a wrap, where a small reorganisation could
// change the challenge; and the period must not end (spec/ethereum.md §2).
func StableForFill(cfg events.ProofConfig, slot events.SlotID, head events.Head, m Margin) bool {
	n, now := head.Number+1, head.Time.Add(time.Second)
	m.Made = min(m.Made, m.Longest(cfg))
	period := Period(cfg, now)
	pointer := uint64(Pointer(cfg, slot, n, period))
	return pointer >= uint64(cfg.Downtime) && pointer+m.blocks() <= 255 &&
		now.Add(m.Total()).Before(End(cfg, period))
}

// blocks is how many blocks may come from the beginning of a proof to its own.
func (m Margin) blocks() uint64 {
	each := max(m.BlockTime, 1)
	return m.Blocks + uint64((m.Made+each-1)/each)
}
