package sector

import (
	"cmp"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// State is a state of a sector. The names are stored, and are those that operators
// of storage providers know; a sector of which nothing is recorded is in "".
type State string

// The states of the machine that is modelled.
const (
	Undefined State = ""
	// The good way.
	Empty          State = "Empty"
	Packing        State = "Packing"
	PreCommit1     State = "PreCommit1"
	PreCommit2     State = "PreCommit2"
	PreCommitting  State = "PreCommitting"
	WaitSeed       State = "WaitSeed"
	Committing     State = "Committing"
	CommitWait     State = "CommitWait"
	FinalizeSector State = "FinalizeSector"
	Proving        State = "Proving"
	// What went wrong.
	FailedUnrecoverable State = "FailedUnrecoverable"
	SealFailed          State = "SealFailed"
	PreCommitFailed     State = "PreCommitFailed"
	ComputeProofFailed  State = "ComputeProofFailed"
	CommitFailed        State = "CommitFailed"
	PackingFailed       State = "PackingFailed"
	Faulty              State = "Faulty"
	FaultReported       State = "FaultReported"
	FaultedFinal        State = "FaultedFinal"
)

// States that were added to that machine later, and those of hostnode (Recovering,
// RecoveryReported).
const (
	WaitDeals         State = "WaitDeals"
	AddPiece          State = "AddPiece"
	AddPieceFailed    State = "AddPieceFailed"
	GetTicket         State = "GetTicket"
	FinalizeFailed    State = "FinalizeFailed"
	Recovering        State = "Recovering"
	RecoveryReported  State = "RecoveryReported"
	Terminating       State = "Terminating"
	TerminateWait     State = "TerminateWait"
	TerminateFinality State = "TerminateFinality"
	TerminateFailed   State = "TerminateFailed"
	Removing          State = "Removing"
	RemoveFailed      State = "RemoveFailed"
	Removed           State = "Removed"
)

// States returns all states: those of a sector that goes well in their order, then the failures,
// then the end.
func States() []State {
	return []State{
		Undefined, Empty, WaitDeals, AddPiece, Packing, GetTicket, PreCommit1, PreCommit2, PreCommitting,
		WaitSeed, Committing, CommitWait, FinalizeSector, Proving,
		AddPieceFailed, PackingFailed, SealFailed, PreCommitFailed, ComputeProofFailed, CommitFailed, FinalizeFailed,
		FailedUnrecoverable, Faulty, FaultReported, FaultedFinal, Recovering, RecoveryReported,
		Terminating, TerminateWait, TerminateFinality, TerminateFailed, Removing, RemoveFailed, Removed,
	}
}

// Known reports whether it is one of them.
func (s State) Known() bool {
	_, ok := planners[s]
	return ok
}

// Piece is a piece of a sector.
type Piece = events.SectorPiece

// Scheduled is a step that was begun, or is about to be. Without a key there is none.
type Scheduled struct {
	Name    Step
	Attempt uint32
	Key     string
}

// Attempts is how often each step was begun, by the names of the steps. It is copied with each step that begins, and a
// list of a dozen takes half the memory of a map.
type Attempts []Attempt

// Attempt is the number of the newest attempt at a step.
type Attempt struct {
	Step Step
	N    uint32
}

// Of returns the number of the newest attempt at a step; 0: it was never begun.
func (a Attempts) Of(step Step) uint32 {
	if i, known := a.find(step); known {
		return a[i].N
	}
	return 0
}

func (a Attempts) find(step Step) (int, bool) {
	return slices.BinarySearchFunc(a, step, func(one Attempt, step Step) int { return cmp.Compare(one.Step, step) })
}

// with returns a copy in which the newest attempt at a step is the n-th.
func (a Attempts) with(step Step, n uint32) Attempts {
	i, known := a.find(step)
	out := append(make(Attempts, 0, len(a)+1), a[:i]...)
	out = append(out, Attempt{step, n})
	if known {
		i++
	}
	return append(out, a[i:]...)
}

// Info is everything that later decisions need, and nothing more: the sector's log is
// its stream. New makes one.
type Info struct {
	policy Policy

	State    State
	Number   uint64
	Provider events.Address
	Size     events.Bytes // padded
	BeganAt  time.Time
	Request  string // chosen by the caller that asked for it; empty: it has none

	Pieces  []Piece // in the sector, in order; fillers last
	Pending []Piece // to be added
	PackNow bool    // when no piece is pending any more

	TicketValue   events.Hash
	TicketEpoch   uint64
	PreCommit1Out string // 0x-hex; until the second half of sealing is done
	CommD, CommR  events.Hash
	Proves        string // what its proofs show; empty: it is not sealed, or an older version did that
	Proof         string // 0x-hex; until the chain has it, and sealing is finalized
	SeedValue     events.Hash
	SeedEpoch     uint64
	InvalidProofs uint64

	// Hashes of the newest message of each kind; zero: none was sent.
	PreCommitMessage, CommitMessage, FaultReportMsg, RecoveryMsg, TerminateMsg events.Hash

	// OnChain: the contract has it and expects its proofs, as it said last.
	OnChain bool

	Opened       bool         // the ledger holds space for it
	Space        events.Bytes // in all, when it was given
	Scratch      events.Bytes // of it, for what only sealing needs
	Deposit      events.Amount
	ScratchFreed bool
	Released     bool          // all of its space was given back
	Settled      bool          // its deposit was settled
	Returned     events.Amount // in all
	Lost         events.Amount // in all, also with precommits that were void
	SettleMsg    events.Hash   // with which the contract let go of a deposit last; zero: with none

	Step     Scheduled
	Attempts Attempts         // of each step in all its life
	Failures map[State]uint32 // in a row, by the state that failed or waits
	Sending  Step             // a message whose sending began and whose outcome is not known; empty: none
	Outages  uint32           // in a row
	Until    time.Time        // nothing is done before it; zero: no pause
	Outage   bool             // the pause is for something that is away
	Reason   string           // why it is parked; empty: it is not
	Actions  []string         // of a parked one
	LastErr  string
	Forced   State  // the state that was forced on it last
	ForcedBy string // who did; empty: nobody
	Doing    string // who wanted it terminated or removed, and why
}

// New is a sector of which nothing is recorded, under a policy.
func New(p Policy) Info { return Info{policy: p.withDefaults()} }

// Over reports whether nothing is left to do, and nothing is held.
func (s Info) Over() bool { return s.State == Removed && s.Released && s.Settled }

// Proves reports whether the data of a sector in this state is taken to be undamaged, so that it is proven in its
// windows.
func (s State) Proves() bool {
	return slices.Contains([]State{
		CommitWait, FinalizeSector, FinalizeFailed, CommitFailed, Proving, RecoveryReported, Terminating, TerminateWait,
		TerminateFailed,
	}, s)
}

// Bleeds reports whether the contract expects proofs of the sector, and nobody proves it, mends it, or ends it there:
// each of its windows costs a part of the deposit until an operator terminates it. A forced state leads there, or a
// removal.
func (s Info) Bleeds() bool { return s.OnChain && s.State.Unattended() }

// Unattended reports whether a sector that the contract has would bleed in this state.
func (s State) Unattended() bool {
	return !s.Proves() && !slices.Contains([]State{
		Faulty, FaultReported, FaultedFinal, Recovering, TerminateFinality,
	}, s)
}

// Faulty reports whether a sector in this state has a fault that is not recovered.
func (s State) Faulty() bool {
	return slices.Contains([]State{Faulty, FaultReported, FaultedFinal, Recovering, RecoveryReported}, s)
}

// Parked reports whether the sector waits for an operator's decision.
func (s Info) Parked() bool { return s.Reason != "" }

// room is how many bytes further pieces can take.
func (s Info) room() events.Bytes {
	used := end(s.Pieces)
	for _, p := range s.Pending {
		used = align(used, p.Size) + p.Size
	}
	return s.Size - min(s.Size, used)
}

// Offset is where the next pending piece begins: pieces are aligned to their size.
func (s Info) Offset() events.Bytes {
	if len(s.Pending) == 0 {
		return end(s.Pieces)
	}
	return align(end(s.Pieces), s.Pending[0].Size)
}

// end is where a list of pieces ends.
func end(pieces []Piece) (at events.Bytes) {
	for _, p := range pieces {
		at = align(at, p.Size) + p.Size
	}
	return at
}

func align(at, size events.Bytes) events.Bytes {
	if size == 0 {
		return at
	}
	return (at + size - 1) / size * size
}
