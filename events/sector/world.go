package sector

import (
	"errors"

	"github.com/hostnode/hostnode/events"
)

// This file has what ports of the world speak of; the core decides nothing by it.

// Ref names a sector to a sealer and to a store.
type Ref struct {
	Provider events.Address
	Number   uint64
	Size     events.Bytes // padded
}

// SealContext is what a proof is made of.
type SealContext struct {
	Ticket, Seed events.Hash
	CommD, CommR events.Hash
	// Pieces are those of the sector in their order, fillers too; a gap before a piece,
	// which is aligned to its size, is zeros.
	Pieces []Piece
}

// Progress is told how much of a step is done, from 0 to 1; it does not wait. Nil: nobody
// wants to know.
type Progress func(done float64)

// What sealers and stores of sectors may answer.
var (
	// ErrBadPiece: the data is not what its commitment says, or not of its size.
	ErrBadPiece = errors.New("the data of a piece is not what its commitment says")
	// ErrNoSuchSector: nothing of the sector is here.
	ErrNoSuchSector = errors.New("nothing of the sector is here")
	// ErrSealerAway: the sealer cannot be reached, or has no room to begin now.
	ErrSealerAway = errors.New("the sealer is away")
)

// ProviderConfig is what a provider's contract was made with; it never changes.
type ProviderConfig struct {
	// TicketLookback is how many blocks old a ticket is at least, TicketValid at most.
	TicketLookback, TicketValid uint64
	// ChallengeDelay is how many blocks after the precommit the seed is drawn, and
	// SeedValid how many later it can still be.
	ChallengeDelay, SeedValid uint64
	PeriodBlocks, Deadlines   uint64
	PartitionSize             uint64
	SealLeaves, DailyLeaves   int
	MaxFaultPeriods           uint64
	// Deposit is that of a sector, per byte of its padded size.
	Deposit events.Amount
}

// OnChain is what the contract has of a sector, at one block.
type OnChain struct {
	Facts
	Block events.Head
	// Deposit is what it holds, Lost what it took of it in all.
	Deposit, Lost       events.Amount
	CommD, CommR        events.Hash
	Deadline, Partition uint64
}

// PreCommitCall is a precommit. The key names the attempt: the outbox and the chain are
// asked for it before anything is sent.
type PreCommitCall struct {
	Key          string
	Number       uint64
	Size         events.Bytes
	CommD, CommR events.Hash
	TicketEpoch  uint64
	Ticket       events.Hash
	Expiration   uint64 // a block
	Deposit      events.Amount
}

// What the contract of sectors may answer.
var (
	// ErrTicketExpired: the ticket is out of the contract's reach.
	ErrTicketExpired = errors.New("the ticket is too old")
	// ErrSeedLost: nobody stored the seed while it could be; the precommit is void.
	ErrSeedLost = errors.New("the seed was not stored in time, and the precommit is void")
)
