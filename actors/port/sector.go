package port

import (
	"context"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// Sealer seals sectors and proves them. A step that was done returns what it returned
// the first time; one that is cancelled leaves nothing that a further call stumbles over.
//
// sector.ErrBadPiece, sector.ErrNoSuchSector and events.ErrDiskFull are outcomes.
// sector.ErrSealerAway is no failure: it is tried again.
type Sealer interface {
	// Proves names honestly what its proofs show: "possession", "simulated", "replication".
	Proves() string
	// AddPiece writes a piece at an offset of the sector and compares it with its
	// commitment. It may be repeated at the same offset. sector.ErrBadPiece.
	AddPiece(ctx context.Context, ref sector.Ref, offset events.Bytes, piece sector.Piece, data io.Reader) error
	// Pack fills what is behind the pieces with zeros, and says with which pieces, in order.
	Pack(ctx context.Context, ref sector.Ref, pieces []sector.Piece) (fillers []sector.Piece, err error)
	// PreCommit1 is the first half of sealing; what it returns goes to PreCommit2, and is
	// small enough to be recorded (64 KiB).
	PreCommit1(ctx context.Context, ref sector.Ref, ticket events.Hash, pieces []sector.Piece, told sector.Progress) (
		out []byte, err error)
	// PreCommit2 is the second half: the commitments to the data and to the sealed form.
	PreCommit2(ctx context.Context, ref sector.Ref, out []byte, told sector.Progress) (
		commD, commR events.Hash, err error)
	// Commit makes the proof for a seed. Whoever calls it verifies the proof before it is
	// recorded.
	Commit(ctx context.Context, ref sector.Ref, c sector.SealContext, told sector.Progress) (proof []byte, err error)
	// Verify says whether a proof is valid; it needs no files.
	Verify(ref sector.Ref, c sector.SealContext, proof []byte) bool
	// Finalize removes what only sealing needed.
	Finalize(ctx context.Context, ref sector.Ref) error
	// Restore makes a damaged sector sound again, from its unsealed data or its pieces, with
	// the commitments that it has. sector.ErrBadPiece when that cannot be.
	Restore(ctx context.Context, ref sector.Ref, c sector.SealContext, told sector.Progress) error
	// Challenge proves so many leaves for one day's randomness. sector.ErrNoSuchSector, and
	// events.ErrBitRot when a leaf that is asked for is damaged.
	Challenge(ctx context.Context, ref sector.Ref, randomness events.Hash, leaves int) (proof []byte, err error)
	// Remove removes everything of the sector; nothing there is success.
	Remove(ctx context.Context, ref sector.Ref) error
}

// ProviderChain is the contract of sectors as one provider sees it: this account.
// Messages are named by keys and sent once for each; a key whose message was mined
// reports that one.
type ProviderChain interface {
	// Account is the provider.
	Account() events.Address
	// Config is the contract's configuration.
	Config(ctx context.Context) (sector.ProviderConfig, error)
	// Head is the newest block.
	Head(ctx context.Context) (events.Head, error)
	// Ticket is the randomness that a sector precommitted now is sealed with.
	Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// Sector is what the contract has of a sector.
	Sector(ctx context.Context, number uint64) (sector.OnChain, error)
	// Sectors is Sector of many, all at one block.
	Sectors(ctx context.Context, numbers []uint64) ([]sector.OnChain, error)
	// PreCommit sends a precommit and its deposit. sector.ErrTicketExpired, events.ErrInsufficientFunds.
	PreCommit(ctx context.Context, call sector.PreCommitCall) (events.Receipt, error)
	// Seed is the seed of a precommitted sector, or events.ErrTooEarly.
	Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error)
	// PinSeed stores the seed before it is out of reach. sector.ErrSeedLost.
	PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error)
	// Commit sends the proof. events.ErrInvalidProof, sector.ErrSeedLost.
	Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error)
	// ProvePossession proves sectors of one partition for an open deadline.
	// events.ErrDeadlinePassed.
	ProvePossession(ctx context.Context, key string, deadline, partition uint64, numbers []uint64, proofs [][]byte) (
		events.Receipt, error)
	// DeclareFaults and DeclareRecoveries tell of sectors before their window opens.
	DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
	// Terminate ends sectors before their time. Those that the contract does not have
	// are ended already.
	Terminate(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)
}
