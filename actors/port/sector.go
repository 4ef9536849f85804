package port

import (
	"context"
	"io"

	"github.com/hostnode/hostnode/events"
)

// Sealer seals sectors and proves them. A sector is a container of fixed size for pieces. Sealing commits to its data
// (CommD) and to its sealed form (CommR), in this order: AddPiece, Pack, PreCommit1 (bound to a ticket of the chain),
// PreCommit2; then the contract takes the precommit, and draws a seed when the commitments cannot change any more;
// Commit, the contract's commit, Finalize; after that a proof of possession in each window.
//
// A step that was done before returns the same result
// again. A cancelled step returns context.Cause, and may be called again. Calls for one sector
// wait for each other.
//
// Every call may return ErrDiskFull and ErrSectorDamaged, which come from the disk;
// ErrMalformed for an impossible sector or piece; ErrSectorStep when it is out of order or its
// values contradict an earlier step; and ErrSealerAway when the sealer does not answer, after
// which it is tried again.
type Sealer interface {
	// Proves names what the proofs really show: "possession", "simulated" or "replication".
	Proves() string
	// AddPiece writes a piece at an offset of the sector, a multiple of the piece's size, and
	// compares it with its commitment: ErrPieceMismatch, ErrPieceRefused. If the piece is there
	// already, data is not read, unless the piece was found damaged: then it is written again.
	// For a piece of zeros data may be nil.
	AddPiece(ctx context.Context, ref events.SectorRef, offset events.Bytes, piece events.SectorPiece,
		data io.Reader) error
	// Pack fills what no piece occupies with zeros. The pieces must be all that were added, in
	// order. It returns the pieces of zeros that fill the sector behind them.
	Pack(ctx context.Context, ref events.SectorRef, pieces []events.SectorPiece) (
		fillers []events.SectorPiece, err error)
	// PreCommit1 is the first half of sealing. It takes all pieces in order, each at the next
	// multiple of its size. Its result goes to PreCommit2, and is small enough to be recorded
	// (64 KiB).
	PreCommit1(ctx context.Context, ref events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
		told events.SectorProgress) (out []byte, err error)
	// PreCommit2 is the second half. It returns the commitments to the data and to the sealed
	// form, which the caller verifies before they are recorded.
	PreCommit2(ctx context.Context, ref events.SectorRef, out []byte, told events.SectorProgress) (
		commD, commR events.Hash, err error)
	// Commit makes the proof for a seed. The caller verifies the proof before it is recorded.
	Commit(ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress) (
		proof []byte, err error)
	// Finalize removes what only sealing needed.
	Finalize(ctx context.Context, ref events.SectorRef) error
	// Restore repairs a damaged sector, whose commitments stay the same. It reads everything
	// that is stored. ErrSectorDamaged when pieces must be added again first: AddPiece then
	// takes the data only of damaged ones.
	Restore(ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress) error
	// Challenge proves some leaves, which one day's randomness selects. ErrSectorDamaged when
	// one of them is damaged.
	Challenge(ctx context.Context, ref events.SectorRef, randomness events.Hash, leaves int) (proof []byte, err error)
	// Check reads what is stored of a sealed sector, from an offset of its data and for at most so
	// many bytes, and compares it with CommD. It returns where to go on; at the sector's size, all
	// has been read. A damaged tree is built again, and data that belongs to no piece is made
	// zero. ErrSectorDamaged when pieces must be added again; ErrNoVerifier when the sealer keeps
	// nothing with which data at rest can be compared.
	Check(ctx context.Context, ref events.SectorRef, from, most events.Bytes) (next events.Bytes, err error)
	// Remove removes everything of the sector. It succeeds when there is nothing.
	Remove(ctx context.Context, ref events.SectorRef) error

	// VerifyCommitments computes CommD and CommR from the sector, the ticket and the pieces,
	// and compares them with what PreCommit2 returned: ErrSealerLies. The CommR of a replica
	// cannot be computed here, so only its CommD is compared. None of the three methods that
	// verify results reads a file or calls another program.
	VerifyCommitments(ref events.SectorRef, c events.SealContext) error
	// Verify verifies the proof that Commit returned: ErrSealerLies. ErrNoVerifier when this
	// host cannot.
	Verify(ref events.SectorRef, c events.SealContext, proof []byte) error
	// VerifyChallenge verifies the proof that Challenge returned, as Verify does. The seed in c
	// is not used.
	VerifyChallenge(ref events.SectorRef, c events.SealContext, randomness events.Hash, leaves int, proof []byte) error
}

// SectorStore holds the files of sectors, which sealers write and read. The ledger's side asks
// what they occupy, and removes files before it releases their bytes. Every call that returns an error, and those of
// Sealer and PieceSource, may return ErrDiskAway: the disk with the files is not there, nothing is known of any sector,
// and nothing is written.
type SectorStore interface {
	// Here returns ErrDiskAway when the disk is not there; it finds out when it is back.
	Here() error
	// Sectors returns all sectors that have files, in no order.
	Sectors() []events.SectorRef
	// Usage measures what a sector occupies. A sector without files occupies nothing.
	Usage(ref events.SectorRef) (events.SectorUsage, error)
	// Remove removes a part of a sector, RemoveSector all of it. Both succeed when there is
	// nothing.
	Remove(ref events.SectorRef, part events.SectorPart) error
	RemoveSector(ref events.SectorRef) error
	// ScrubProgress is what SetScrubProgress was given last. After a restart it may be an earlier
	// one of the same sector, or, if it cannot be read, zero.
	ScrubProgress() events.SectorScrub
	SetScrubProgress(events.SectorScrub) error
}

// PieceSource has the data of pieces.
type PieceSource interface {
	// Open reads the payload of a piece from its beginning. The sealer, not this port, compares
	// it with its commitment. ErrNoSuchPiece; ErrPieceMismatch when it does not have the
	// payload's length. The caller closes it.
	Open(ctx context.Context, piece events.SectorPiece) (io.ReadCloser, error)
	// List returns all pieces, in order of their CIDs. Of their sizes it knows only that of the
	// payload.
	List() ([]events.SectorPiece, error)
}

// ProviderChain is the contract of sectors as one provider, this account, uses it. Each message
// has a key and is sent once for that key: a further call returns the receipt of the mined
// message. When its work was done without it, nothing is sent, and the receipt is that of the
// message which did it, or zero when that is unknown. Epochs are numbers of blocks.
type ProviderChain interface {
	// Account is the provider.
	Account() events.Address
	// Config is the contract's configuration.
	Config(ctx context.Context) (events.SectorConfig, error)
	// Head is the newest block.
	Head(ctx context.Context) (events.Head, error)
	// Final reports whether a block of that number is final. The caller makes sure that the
	// block is on the chain.
	Final(ctx context.Context, number uint64) (bool, error)
	// Ticket is the randomness with which a sector that is precommitted now is sealed. It is
	// valid for TicketValid blocks, unless the chain is reorganised. ErrTooEarly while the
	// chain has fewer blocks than a ticket looks back.
	Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// Sector is a sector as the contract stores it.
	Sector(ctx context.Context, number uint64) (events.SectorOnChain, error)
	// Sectors is Sector of many, all at one block, in the order of numbers.
	Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error)
	// Window is the window that is open in the block after the newest, and what is already
	// proven in it.
	Window(ctx context.Context) (events.SectorWindow, error)
	// PreCommit sends a precommit and its deposit; it approves the tokens when that is needed.
	// ErrTicketExpired, ErrInsufficientFunds, ErrMalformed; ErrNumberUsed when the contract has
	// another sector with that number; ErrSeedLost when a void precommit of that number must be
	// settled first.
	PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error)
	// Seed is the seed of a precommitted sector. ErrTooEarly until the seed's block is mined
	// and another one follows; ErrNotPreCommitted, ErrSeedLost.
	Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// PinSeed stores the seed on the contract before the hash of its block can no longer be
	// read there. ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
	PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error)
	// Commit sends the proof. ErrInvalidProof, ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
	Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error)
	// ProvePossession proves sectors of one partition in its window. ErrInvalidProof,
	// ErrSectorNotDue, ErrSectorNotLive, ErrTooEarly until the window's first block is mined;
	// ErrDeadlinePassed (nothing is sent or mined after the window). Sectors that are already
	// proven in that period are left out.
	ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error)
	// DeclareFaults and DeclareRecoveries declare sectors faulty or recovered before their
	// window opens. A late declaration counts from the next window on. Sectors that are
	// declared already are left out. ErrSectorNotLive.
	DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	// Terminate ends a sector before its expiration. It succeeds when the contract does not
	// have the sector, or the sector is over. ErrTooEarly for a precommit, which ends when it
	// is void.
	Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error)
	// Settle makes the contract release the deposit of a sector that is over, and returns how
	// much came back, and how much all precommits of that number have lost. ErrTooEarly while the
	// sector is not over.
	Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error)
	// Owed returns the returned deposits and rewards that the contract owes the account.
	Owed(ctx context.Context) (events.Amount, error)
	// Withdraw pays the account what the contract owes it. Under a key that was mined it says what was paid with it.
	// It succeeds when nothing is owed.
	Withdraw(ctx context.Context, key string) (events.SectorWithdrawal, error)
}
