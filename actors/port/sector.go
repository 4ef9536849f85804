package port

import (
	"context"
	"io"

	"github.com/hostnode/hostnode/events"
)

// Sealer seals sectors and proves them. A step that was done returns what it returned
// the first time; one that is cancelled answers context.Cause, and leaves nothing that a
// further call stumbles over. Calls for one sector wait for each other.
//
// Each call answers ErrDiskFull and ErrSectorDamaged from the disk, ErrMalformed for a sector
// or a piece that cannot be, and ErrSectorStep when it comes out of order or with other
// values than those before it. ErrSealerAway is no failure: it is tried again.
type Sealer interface {
	// Proves names what its proofs really show: "possession", "simulated" or "replication".
	Proves() string
	// AddPiece writes a piece at an offset of the sector, a multiple of its size, and compares
	// it with its commitment: ErrPieceMismatch, ErrPieceRefused. One that is there already is
	// success without reading data, unless it was found damaged: then it is written again.
	// For a piece of zeros data may be nil.
	AddPiece(ctx context.Context, ref events.SectorRef, offset events.Bytes, piece events.SectorPiece,
		data io.Reader) error
	// Pack makes zero what belongs to none of these pieces, which are all that were added, in
	// order. It says with which pieces of zeros the sector is full behind them.
	Pack(ctx context.Context, ref events.SectorRef, pieces []events.SectorPiece) (
		fillers []events.SectorPiece, err error)
	// PreCommit1 is the first half of sealing, of all pieces in order, each at the next multiple
	// of its size. What it returns goes to PreCommit2, and is small enough to be recorded (64 KiB).
	PreCommit1(ctx context.Context, ref events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
		told events.SectorProgress) (out []byte, err error)
	// PreCommit2 is the second half: the commitments to the data and to the sealed form. Whoever
	// calls it verifies them before they are recorded.
	PreCommit2(ctx context.Context, ref events.SectorRef, out []byte, told events.SectorProgress) (
		commD, commR events.Hash, err error)
	// Commit makes the proof for a seed. Whoever calls it verifies the proof before it is
	// recorded.
	Commit(ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress) (
		proof []byte, err error)
	// Finalize removes what only sealing needed.
	Finalize(ctx context.Context, ref events.SectorRef) error
	// Restore makes a damaged sector sound again, with the commitments that it has. All that is
	// stored is read. ErrSectorDamaged when pieces must be added again first; of all that are
	// added, those that are sound are not read.
	Restore(ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress) error
	// Challenge proves so many leaves for one day's randomness. ErrSectorDamaged when what is
	// asked for is damaged.
	Challenge(ctx context.Context, ref events.SectorRef, randomness events.Hash, leaves int) (proof []byte, err error)
	// Remove removes everything of the sector; nothing there is success.
	Remove(ctx context.Context, ref events.SectorRef) error

	// VerifyCommitments compares CommD and CommR with what ticket and pieces make of them. The
	// three that verify need no files and ask nobody: ErrSealerLies. Of replication an outside
	// prover says what it says: then only CommD is compared.
	VerifyCommitments(ref events.SectorRef, c events.SealContext) error
	// Verify verifies what Commit answered. ErrNoVerifier.
	Verify(ref events.SectorRef, c events.SealContext, proof []byte) error
	// VerifyChallenge verifies what Challenge answered; of c the seed is not used. ErrNoVerifier.
	VerifyChallenge(ref events.SectorRef, c events.SealContext, randomness events.Hash, leaves int, proof []byte) error
}

// SectorStore holds the files of sectors. Sealers write and read them; whoever keeps the ledger
// asks what they occupy, and removes what it gives back.
type SectorStore interface {
	// Sectors are all that are stored, in no order.
	Sectors() []events.SectorRef
	// Usage measures what a sector occupies; one that is not here occupies nothing.
	Usage(ref events.SectorRef) (events.SectorUsage, error)
	// Remove removes a part, RemoveSector all of a sector; nothing there is success.
	Remove(ref events.SectorRef, part events.SectorPart) error
	RemoveSector(ref events.SectorRef) error
	// Room is how many bytes the disk has left. ErrDiskFull when it takes nothing, whatever
	// it has left.
	Room() (events.Bytes, error)
}

// PieceSource has the data of pieces.
type PieceSource interface {
	// Open reads the payload of a piece from its begin. Whether it is what its commitment says
	// is for the sealer to see. ErrNoSuchPiece; ErrPieceMismatch when it does not have the
	// payload's length. Whoever opens it closes it.
	Open(ctx context.Context, piece events.SectorPiece) (io.ReadCloser, error)
}

// ProviderChain is the contract of sectors as one provider sees it: this account.
// Messages are named by keys and sent once for each: a key whose message was mined
// reports that one, and a message whose work is done already the zero receipt, unless it is known which
// message did it. Epochs are numbers of blocks.
type ProviderChain interface {
	// Account is the provider.
	Account() events.Address
	// Config is the contract's configuration.
	Config(ctx context.Context) (events.SectorConfig, error)
	// Head is the newest block.
	Head(ctx context.Context) (events.Head, error)
	// Final says whether a block, and what it holds, can be taken for permanent. Whoever asks makes
	// sure that the block is on the chain.
	Final(ctx context.Context, number uint64) (bool, error)
	// Ticket is the randomness that a sector precommitted now is sealed with. It stays good for
	// a while (see TicketValid), but for a reorganisation. ErrTooEarly on a chain that is shorter
	// than a ticket is old.
	Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// Sector is what the contract has of a sector.
	Sector(ctx context.Context, number uint64) (events.SectorOnChain, error)
	// Sectors is Sector of many, all at one block, in the order of the question.
	Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error)
	// Window is the window that is open in the block after the newest, and what is proven in it.
	Window(ctx context.Context) (events.SectorWindow, error)
	// PreCommit sends a precommit and its deposit; it approves the tokens when that is needed.
	// ErrTicketExpired, ErrInsufficientFunds, ErrMalformed; ErrNumberUsed when the contract has
	// another sector of that number, and ErrSeedLost when a void precommit must be settled first.
	PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error)
	// Seed is the seed of a precommitted sector. ErrTooEarly until a block follows on its own;
	// ErrNotPreCommitted, ErrSeedLost.
	Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// PinSeed stores the seed before it is out of reach. ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
	PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error)
	// Commit sends the proof. ErrInvalidProof, ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
	Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error)
	// ProvePossession proves sectors of one partition in its window. ErrInvalidProof,
	// ErrSectorNotDue, ErrSectorNotLive, ErrTooEarly until the window's first block is mined;
	// ErrDeadlinePassed (nothing is sent or mined after the window). Those that are proven in that
	// period already are left out.
	ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error)
	// DeclareFaults and DeclareRecoveries tell of sectors before their window opens; what is
	// told too late counts from the next window on. Those of which the contract knows it
	// already are left out. ErrSectorNotLive.
	DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	// Terminate ends a sector before its time. One that the contract does not have, or that is
	// over, is ended already. ErrTooEarly for a precommit: it ends when it is void.
	Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error)
	// Settle lets the contract let go of a sector's deposit, when the sector is over and holds it
	// still, and says what became of it. ErrTooEarly while it is not over.
	Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error)
	// Withdraw pays the account what the contract owes it; nothing owed is success.
	Withdraw(ctx context.Context, key string) (events.Receipt, error)
}

// SectorFeed delivers what the contract of sectors says about this account, block after block.
type SectorFeed interface {
	// Follow is to the contract of sectors what Follow of ChainFeed is to the marketplace.
	Follow(ctx context.Context, from events.Cursor, deliver func(context.Context, events.SectorUpdate) error) error
}
