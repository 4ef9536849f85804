package admission

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file measures how long a proof takes and estimates how many proofs will be demanded.
// Proofs that will be too late are put last, and a slot is refused when the prover could not
// make its proofs in addition to those of all other slots.

const (
	// guessedProofTime is the assumed time of a proof until the first one is made: that of the
	// network's circuit on a small machine (docs/performance.md).
	guessedProofTime = 2 * time.Second
	// proofTimeWeight is the divisor of the newest proof's weight in the moving estimate. A
	// single slow proof changes little; a slower machine is noticed within some ten proofs.
	proofTimeWeight = 8
	// perProof is the unit in which expected proofs are added up. They are integers, so that
	// removing a slot subtracts exactly what it added.
	perProof = 1_000_000
	// maxDays is the most that a time.Duration has.
	maxDays = math.MaxInt64 / uint64(24*time.Hour)
)

// Load holds how long a proof takes, and how many proofs all slots of the host, those being
// filled included, need in a period on average. Safe for concurrent use.
type Load struct {
	mu       sync.Mutex
	took     time.Duration // moving estimate; zero before the first proof
	slots    map[events.SlotID]owed
	expected uint64 // sum over slots, in parts of a proof per period
}

// owed is what a slot needs.
type owed struct {
	expected uint64    // proofs in a period, in parts of perProof
	until    time.Time // when its request ends; zero: not known
}

// within is how much of that counts for an account that must last for so long: no proof is owed after the end.
func (o owed) within(now time.Time, last time.Duration) uint64 {
	left := o.until.Sub(now)
	switch {
	case o.until.IsZero() || left >= last:
		return o.expected
	case left <= 0:
		return 0
	}
	hi, lo := bits.Mul64(o.expected, uint64(left))
	lo, carry := bits.Add64(lo, uint64(last)-1, 0) // Rounded up, which is at most expected.
	part, _ := bits.Div64(hi+carry, lo, uint64(last))
	return part
}

// NewLoad returns the load of a host without slots.
func NewLoad() *Load {
	return &Load{slots: map[events.SlotID]owed{}}
}

// Measured adds the time that a proof took to the estimate: by the machine's clock, or less if
// chain time ran more slowly, as it does on a chain that waits for its hosts.
func (l *Load) Measured(took time.Duration) {
	if took <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = cmp.Or(l.took, took)
	l.took += (took - l.took) / proofTimeWeight
}

// ProofTime is how long a proof takes, and whether that is measured or a guess.
func (l *Load) ProofTime() (took time.Duration, measured bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.took, guessedProofTime), l.took != 0
}

// Margin is the time that a proof needs from its beginning until it is on chain, in chain time.
func (u *Rules) Margin() duty.Margin {
	took, _ := u.Load.ProofTime()
	return duty.Margin{Made: took, Blocks: u.ProofMargin.Blocks, BlockTime: u.BlockTime()}
}

// Set sets how many proofs a slot needs in a period, in parts of perProof, and until when; zero removes the
// slot.
func (l *Load) Set(slot events.SlotID, expected uint64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected -= l.slots[slot].expected
	l.expected += expected
	if l.slots[slot] = (owed{expected, until}); expected == 0 {
		delete(l.slots, slot)
	}
}

// Total is how many slots there are, and how many proofs they need in a period, in parts of
// perProof.
func (l *Load) Total() (slots int, expected uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.slots), l.expected
}

// within is how many proofs the slots need in a period, in parts of perProof, on average over the time for which the
// account must last.
func (l *Load) within(now time.Time, last time.Duration) (sum uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.slots {
		sum += o.within(now, last)
	}
	return sum
}

// ExpectedProofs is how many proofs a slot of a request needs in a period, in parts of
// perProof.
func (u *Rules) ExpectedProofs(r events.Request) uint64 {
	most := duty.ExpectedProofs(u.Terms.Proofs, r.Ask.ProofProbability, u.BlockTime())
	return uint64(math.Ceil(most * perProof))
}

// NoteLoad updates the load for a sale, which counts from its start until its slot is no longer
// hosted.
func (u *Rules) NoteLoad(slot events.SlotID, st sale.State) { noteLoad(u, u.Load, slot, st) }

// NoteRemoteLoad is NoteLoad for a sale of another member.
func (u *Rules) NoteRemoteLoad(slot events.SlotID, st sale.State) {
	noteLoad(u, u.RemoteLoad, slot, st)
}

func noteLoad(u *Rules, l *Load, slot events.SlotID, st sale.State) {
	var expected uint64
	if st.BeforeFill() || st.Hosting() {
		expected = u.ExpectedProofs(st.Request)
	}
	l.Set(slot, expected, st.EndsAt)
}

// ProofsOfAll is how many proofs the slots of all members need in so many days, each until its end: one account pays
// for them.
func (u *Rules) ProofsOfAll(days uint64) uint64 { return u.ProofsWith(days, 0, time.Time{}) }

// ProofsWith is ProofsOfAll with a slot more, which needs so many in a period (ExpectedProofs) until its end.
func (u *Rules) ProofsWith(days, expected uint64, until time.Time) uint64 {
	now, last := u.ChainTime(), time.Duration(min(days, maxDays))*24*time.Hour
	more := owed{expected, until}
	return u.ProofsWithin(days, u.Load.within(now, last)+u.RemoteLoad.within(now, last)+more.within(now, last))
}

// BusyWith is the percentage of the time, rounded up, for which proofs would keep the prover
// busy if the host took one more slot of that request; detail explains the numbers.
func (u *Rules) BusyWith(extra events.Request) (percent uint64, detail string) {
	took, measured := u.Load.ProofTime()
	slots, expected := u.Load.Total()
	expected += u.ExpectedProofs(extra)
	perPeriod := float64(expected) / perProof
	period, size := u.Terms.Proofs.Period, max(1, u.Proofs)
	percent = uint64(math.Ceil(100 * perPeriod * took.Seconds() / (period.Seconds() * float64(size))))
	how := "measured"
	if !measured {
		how = "a guess, none was made yet"
	}
	return percent, fmt.Sprintf(
		"%d slots and this one need %.2f proofs in a period of %s, each takes %s (%s), %d at a time: "+
			"the prover is busy %d %% of the time",
		slots, perPeriod, period, took.Round(time.Millisecond), how, size, percent)
}

// ProverFacts is how busy proofs keep the prover now.
func (u *Rules) ProverFacts() health.ProverFacts {
	took, _ := u.Load.ProofTime()
	slots, expected := u.Load.Total()
	of := u.Terms.Proofs.Period.Seconds() * float64(max(1, u.Proofs))
	busy := 100 * float64(expected) / perProof * took.Seconds() / of
	return health.ProverFacts{Busy: uint64(min(busy, math.MaxUint32)), Most: u.ProofLoad, Slots: slots}
}

// NoRoom says why no slot could ever be filled or proven in time by this host on this chain;
// empty: slots can, or that is not known.
func (u *Rules) NoRoom() string {
	each := u.KnownBlockTime().Usual
	if each == 0 {
		return "" // A guess is no reason to refuse.
	}
	proofs, blocks := u.Terms.Proofs, u.ProofMargin.Blocks
	took, measured := u.Load.ProofTime()
	needs, most := time.Duration(blocks)*each, blocks
	if measured {
		most += uint64((took + each - 1) / each)
	}
	switch {
	case needs >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; blocks are %s apart, so that the %d blocks in which "+
			"a proof is made and mined (sales.proofBlocks) take %s", proofs.Period, each, blocks, needs)
	case measured && took+each >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; a proof takes %s to make, and a block %s more",
			proofs.Period, took.Round(time.Millisecond), each)
	case uint64(proofs.Downtime)+most > 255:
		return fmt.Sprintf("the contract's downtime is %d of 256 blocks, which leaves less than the %d in which a "+
			"proof is made and mined (sales.proofBlocks)", proofs.Downtime, most)
	}
	return ""
}
