package admission

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file knows how long a proof takes and how many are to be expected. The
// scheduler orders by it what cannot be done in time, and no slot is taken
// whose proofs the prover could not make besides those of all others.

const (
	// guessedProofTime is what a proof is taken to cost before the first one was
	// made: what the network's circuit takes on a small machine (docs/performance.md).
	guessedProofTime = 2 * time.Second
	// proofTimeWeight is how much the newest proof counts in the moving estimate:
	// one in so many. A slow one in between changes little, a slower machine is
	// noticed within some ten proofs.
	proofTimeWeight = 8
	// perProof is the unit in which expected proofs are summed up. Integers, so that
	// what is added for a slot is taken away again to the last digit.
	perProof = 1_000_000
)

// Load is how long a proof takes, and how many proofs all slots that are
// in work or hosted need in a period, on average. Safe for concurrent use.
type Load struct {
	mu       sync.Mutex
	took     time.Duration // moving estimate; zero before the first proof
	slots    map[events.SlotID]uint64
	expected uint64 // sum over slots, in parts of a proof per period
}

// NewLoad is that of a host without slots.
func NewLoad() *Load {
	return &Load{slots: map[events.SlotID]uint64{}}
}

// Measured takes into account how long a proof took.
func (l *Load) Measured(took time.Duration) {
	if took <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.took == 0 {
		l.took = took
		return
	}
	l.took += (took - l.took) / proofTimeWeight
}

// ProofTime is how long a proof takes, by the machine's clock, and whether that
// was measured or is a guess.
func (l *Load) ProofTime() (took time.Duration, measured bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.took == 0 {
		return guessedProofTime, false
	}
	return l.took, true
}

// Set says how many proofs a slot needs in a period; zero takes it out.
func (l *Load) Set(slot events.SlotID, expected uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected -= l.slots[slot]
	delete(l.slots, slot)
	if expected > 0 {
		l.slots[slot] = expected
		l.expected += expected
	}
}

// Total is how many slots there are and how many proofs they need in a period.
func (l *Load) Total() (slots int, expected uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.slots), l.expected
}

// ExpectedProofs is how many proofs a slot of a request needs in a period.
func (u *Rules) ExpectedProofs(r events.Request) uint64 {
	most := duty.ExpectedProofs(u.Terms.Proofs, r.Ask.ProofProbability, u.BlockTime())
	return uint64(math.Ceil(most * perProof))
}

// NoteLoad keeps the load in line with a sale: it counts from its start until
// its slot is no longer hosted.
func (u *Rules) NoteLoad(slot events.SlotID, st sale.State) {
	if st.BeforeFill() || st.Hosting() {
		u.Load.Set(slot, u.ExpectedProofs(st.Request))
		return
	}
	u.Load.Set(slot, 0)
}

// BusyWith is which part of the time, in percent, rounded up, proofs would keep
// the prover busy if a slot of that request came to all slots that are in work
// or hosted; detail says the numbers behind it in words.
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

// ProverFacts is how busy proofs keep the prover without another slot.
func (u *Rules) ProverFacts() health.ProverFacts {
	took, _ := u.Load.ProofTime()
	slots, expected := u.Load.Total()
	of := u.Terms.Proofs.Period.Seconds() * float64(max(1, u.Proofs))
	busy := 100 * float64(expected) / perProof * took.Seconds() / of
	return health.ProverFacts{Busy: uint64(min(busy, math.MaxUint32)), Most: u.ProofLoad, Slots: slots}
}

// NoRoom says why on this chain no slot could ever be filled by this host, nor be proven
// in time; empty: it can, or that is not known.
func (u *Rules) NoRoom() string {
	each := u.KnownBlockTime().Usual
	if each == 0 {
		return "" // A guess is no reason to refuse.
	}
	proofs, blocks := u.Terms.Proofs, u.ProofMargin.Blocks
	took, measured := u.Load.ProofTime()
	needs := time.Duration(blocks) * each
	switch {
	case needs >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; blocks are %s apart, so that the %d blocks in which "+
			"a proof is made and mined (sales.proofBlocks) take %s", proofs.Period, each, blocks, needs)
	case measured && took+each >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; to make a proof takes %s, and a block %s more",
			proofs.Period, took.Round(time.Millisecond), each)
	case uint64(proofs.Downtime)+blocks > 255:
		return fmt.Sprintf("the contract's downtime is %d of 256 blocks, which leaves less than the %d in which a "+
			"proof is made and mined (sales.proofBlocks)", proofs.Downtime, blocks)
	}
	return ""
}
