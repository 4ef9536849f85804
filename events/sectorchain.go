package events

import "errors"

// This file holds what the contract of sectors and its callers say to each other.

// The types of proofs, by what the proofs of a sector show.
const (
	// ProvesPossession: the prover had the leaves that were asked for. Not replication.
	ProvesPossession = "possession"
	// ProvesSimulated: nothing. The proof follows from what everybody knows.
	ProvesSimulated = "simulated"
	// ProvesReplication: an outside prover says so. Nothing on this host can verify it, nor can a contract.
	ProvesReplication = "replication"
)

// SectorConfig is what a contract of sectors was made with; it never changes. All lengths are in
// blocks.
type SectorConfig struct {
	// TicketLookback is how far behind the newest block a ticket's epoch is at least, and
	// TicketValid how far behind the block of the precommit at most.
	TicketLookback, TicketValid uint64
	// ChallengeDelay is how long after the precommit the seed is drawn, SeedValid how much
	// later it can still be stored, and CommitDue how long after the precommit it is void.
	ChallengeDelay, SeedValid, CommitDue uint64
	// MinLife is how long a sector lives at least after its commit is due, MaxLife at most
	// after its precommit.
	MinLife, MaxLife uint64
	// PeriodBlocks are a proving period, which is cut into Deadlines windows of equal length.
	PeriodBlocks, Deadlines uint64
	// FaultCutoff is how long before a window opens its faults and recoveries must be declared.
	FaultCutoff uint64
	// PartitionSize is how many sectors are proven in one message.
	PartitionSize uint64
	// SealLeaves are in the proof of a commit, DailyLeaves in one of possession.
	SealLeaves, DailyLeaves int
	// MaxFaultPeriods is for how many periods in a row a sector may be faulty.
	MaxFaultPeriods uint64
	// DepositPerByte is what a byte of a sector's padded size costs, in base units.
	DepositPerByte Amount
	// MissedFee is what a window costs in which a proof was due and did not come, FaultFee one of a sector that is
	// known to be faulty: in basis points of the deposit.
	MissedFee, FaultFee uint64
	// Rewards are what a byte earns in each period, in base units, by the type of its proofs. A type that is not there
	// is not verified, and so not taken.
	Rewards map[string]Amount
}

// Deposit is that of a sector of a padded size.
func (c SectorConfig) Deposit(size Bytes) Amount { return c.DepositPerByte.MulSaturating(uint64(size)) }

// LossOf is what a sector of a padded size that nobody proves loses in so many blocks, at most all of its deposit.
func (c SectorConfig) LossOf(size Bytes, blocks uint64) Amount {
	const whole = 10_000 // basis points
	if c.PeriodBlocks == 0 {
		return Amount{}
	}
	deposit := c.Deposit(size)
	lost := deposit.MulSaturating(c.FaultFee).Div(whole).MulSaturating(blocks / c.PeriodBlocks)
	if deposit.Less(lost) {
		return deposit
	}
	return lost
}

// SectorFacts are what the chain has of a sector.
type SectorFacts struct {
	PreCommitted bool // and not proven yet
	Active       bool
	Faulty       bool
	Terminated   bool // or expired
	// Seed is that of the precommit; the zero hash before it is known.
	Seed      Hash
	SeedEpoch uint64
}

// SectorOnChain is what the contract has of a sector, all at one block. What it does not know of is
// zero.
type SectorOnChain struct {
	SectorFacts
	Block Head
	// Void: precommitted, and the proof can no longer come.
	Void bool
	// Ended: it reached its expiration, and the deposit was not collected yet.
	Ended               bool
	Size                Bytes
	Proves              string // the type of its proofs
	CommD, CommR        Hash
	Ticket              Hash
	TicketEpoch         uint64
	PreCommitEpoch      uint64
	Activation          uint64 // epoch of the commit
	Expiration          uint64 // epoch
	Deadline, Partition uint64
	// NextPeriod is the first that is neither proven nor paid for, FaultyFrom the first that
	// counts as faulty, and RecoverAt the one in which a proof cures it: zero, or past: none.
	NextPeriod, FaultyFrom, RecoverAt uint64
	FaultPeriods                      uint64 // in a row
	Deposit                           Amount // what is left of it there
}

// SectorWindow is the window of a proving period that is open in the next block.
type SectorWindow struct {
	Period, Deadline uint64
	// Opens is the first block of it, Closes the first after it.
	Opens, Closes uint64
	// Randomness is what proofs of possession answer.
	Randomness Hash
}

// PreCommitCall is a precommit. The key names the attempt: the outbox and the chain are
// asked for it before anything is sent.
type PreCommitCall struct {
	Key          string
	Number       uint64
	Size         Bytes
	Proves       string // the type of its proofs
	CommD, CommR Hash
	TicketEpoch  uint64
	Ticket       Hash
	Expiration   uint64 // a block
	// Deposit is the most that may be taken for it.
	Deposit Amount
}

// PossessionCall proves sectors of one partition in the window of a period.
type PossessionCall struct {
	Key                         string
	Period, Deadline, Partition uint64
	Numbers                     []uint64
	Proofs                      [][]byte // of each number
}

// SectorSettlement is what became of a deposit: both parts are what was held.
type SectorSettlement struct {
	Receipt        Receipt // zero: the contract never held one
	Returned, Lost Amount
}

// SectorWithdrawal is what the contract has paid of what it owed.
type SectorWithdrawal struct {
	Receipt Receipt // zero: nothing was owed
	Amount  Amount
}

// What the contract of sectors may answer.
var (
	// ErrTicketExpired: the ticket is out of the contract's reach, or another one than the
	// contract makes now.
	ErrTicketExpired = errors.New("the ticket is not one that the contract takes")
	// ErrSeedLost: nobody stored the seed while it could be, or the proof is long overdue; the
	// precommit is void.
	ErrSeedLost = errors.New("the precommit is void")
	// ErrNotPreCommitted: the contract has no such precommit, or not any more.
	ErrNotPreCommitted = errors.New("the sector is not precommitted")
	// ErrNumberUsed: the contract has another sector under this number.
	ErrNumberUsed = errors.New("the number of the sector is used")
	// ErrSectorNotLive: the sector neither proves nor ought to.
	ErrSectorNotLive = errors.New("the sector is not live")
	// ErrSectorNotDue: no proof of the sector is due in this window.
	ErrSectorNotDue = errors.New("no proof of the sector is due")
)

// ProviderWindows is what the contract of sectors said of windows of a provider: that some sectors were proven, or that
// one was not.
type ProviderWindows struct {
	Provider Address
	// Name is what it is about within the period: a deadline with its partition, or a sector.
	Name string
	// Period is the first proving period, Periods how many there are. They end before or with Block, where the contract
	// said it, but for a period in which something was proven.
	Period, Periods uint64
	Proven          bool
	Block           uint64
}
