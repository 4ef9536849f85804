package sealer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// What proofs show, as Proves answers.
const (
	// Possession: whoever made the proof had the leaves that were asked for. Not replication.
	Possession = "possession"
	// Simulated: nothing. The proof follows from what everybody knows.
	Simulated = "simulated"
	// Replication: an outside prover says so. Nothing on this host can verify it.
	Replication = "replication"
)

// Describe is what proofs show in words for people.
func Describe(proves string) string {
	switch proves {
	case Possession:
		return commd.Proves
	case Simulated:
		return "simulated, proves nothing"
	case Replication:
		return "replication, as an outside prover says; not verified on this host"
	}
	return fmt.Sprintf("unknown (%q)", proves)
}

// DefaultSealLeaves is how many leaves a commit shows when nothing else is set.
const DefaultSealLeaves = 10

// MaxPieces limits the pieces that are added to a sector.
const MaxPieces = 1024

// Piece is a piece of data in a sector.
type Piece struct {
	// CID is the piece CID of version 1, as text.
	CID string
	// Size is that of the padded piece, Payload that of the bytes in it.
	Size, Payload events.Bytes
}

// SealContext is what a commit is about.
type SealContext struct {
	Ticket, Seed, CommD, CommR events.Hash
	// Pieces are those of the sector in order, as PreCommit1 was given them.
	Pieces []Piece
}

// Sealer is the port. A call answers context.Cause of its context when that ends, events.ErrDiskFull
// and events.ErrSectorDamaged from the disk, events.ErrSectorStep out of order, and
// events.ErrSealerAway when the sealer is elsewhere and does not answer. It is safe for concurrent
// use; calls for one sector wait for each other.
type Sealer interface {
	// Proves names what its proofs show: Possession, Simulated or Replication.
	Proves() string
	// AddPiece writes a piece into a sector, and verifies that the bytes are those of its
	// commitment: ErrPieceMismatch, ErrPieceRefused. Offset is a multiple of the piece's size. A
	// piece that is there already is success, without reading r, unless it was found damaged: then
	// it is written again. For a piece of zeros r may be nil.
	AddPiece(ctx context.Context, sector events.SectorRef, offset events.Bytes, piece Piece, r io.Reader) error
	// PreCommit1 is given all pieces in order, each at the next multiple of its size; what is not
	// theirs is zeros. Progress is told the part that is done, from 0 to 1, and may be nil.
	PreCommit1(ctx context.Context, sector events.SectorRef, ticket events.Hash, pieces []Piece,
		progress func(float64)) (out []byte, err error)
	// PreCommit2 is given what PreCommit1 answered.
	PreCommit2(ctx context.Context, sector events.SectorRef, out []byte,
		progress func(float64)) (commD, commR events.Hash, err error)
	// Commit makes the proof of the seal, both of its steps.
	Commit(ctx context.Context, sector events.SectorRef, c SealContext) (proof []byte, err error)
	// Finalize removes what only sealing needed.
	Finalize(ctx context.Context, sector events.SectorRef) error
	// Challenge makes the proof of possession for that randomness. It answers ErrSectorDamaged
	// when what it needs is damaged, and knows then which pieces are.
	Challenge(ctx context.Context, sector events.SectorRef, randomness events.Hash,
		leaves int) (proof []byte, err error)
	// Remove removes all of a sector. One that is not there is success.
	Remove(ctx context.Context, sector events.SectorRef) error
}

// Files is where a sealer keeps what it makes. Package storage/sectors has one, and says what each
// call means.
type Files interface {
	Open(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorReader, error)
	Edit(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorFile, error)
	Replace(events.SectorRef, events.SectorPart, events.Bytes, func(events.SectorFile) error) error
	Note(events.SectorRef, string) ([]byte, error)
	SetNote(events.SectorRef, string, []byte) error
	Remove(events.SectorRef, events.SectorPart) error
	RemoveSector(events.SectorRef) error
}

// roots are the pieces as package commd has them.
func roots(pieces []Piece) ([]commd.Piece, error) {
	list := make([]commd.Piece, len(pieces))
	for i, p := range pieces {
		root, err := commd.ParseCID(p.CID)
		if err != nil {
			return nil, fmt.Errorf("piece %d: %w: %w", i, err, events.ErrMalformed)
		}
		list[i] = commd.Piece{Root: root, Size: uint64(p.Size)}
	}
	return list, nil
}

// fill places pieces in a sector. It answers ErrPieceRefused.
func fill(sector events.SectorRef, pieces []Piece) ([]commd.Placed, error) {
	list, err := roots(pieces)
	if err != nil {
		return nil, err
	}
	placed, err := commd.Fill(uint64(sector.Size), list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", sector, err, events.ErrPieceRefused)
	}
	return placed, nil
}

// CommD is the data commitment of a sector with these pieces, computed from their own.
func CommD(sector events.SectorRef, pieces []Piece) (events.Hash, error) {
	list, err := roots(pieces)
	if err != nil {
		return events.Hash{}, err
	}
	commD, err := commd.CommD(uint64(sector.Size), list)
	if err != nil {
		return events.Hash{}, fmt.Errorf("%s: %w: %w", sector, err, events.ErrPieceRefused)
	}
	return events.Hash(commD), nil
}

// ErrNoVerifier: this host cannot verify what such proofs show.
var ErrNoVerifier = errors.New("no verifier on this host")

// CheckCommitments compares what PreCommit2 answered with what it must be: CommD follows from the
// pieces, and CommR from CommD, except for an outside prover that seals otherwise. It answers
// events.ErrSealerLies.
func CheckCommitments(
	proves string, sector events.SectorRef, ticket events.Hash, pieces []Piece, commD, commR events.Hash,
) error {
	want, err := CommD(sector, pieces)
	if err != nil {
		return err
	}
	if commD != want {
		return lie("%s: CommD is %s, by its pieces it is %s", sector, commD, want)
	}
	wantR := commR
	switch proves {
	case Possession:
		wantR = events.Hash(commd.CommR(sector.Provider, sector.Number, ticket, commd.Node(commD)))
	case Simulated:
		wantR = simCommR(commD)
	case Replication:
	default:
		return fmt.Errorf("proofs that show %q: %w", proves, ErrNoVerifier)
	}
	if commR != wantR {
		return lie("%s: CommR is %s, by definition it is %s", sector, commR, wantR)
	}
	return nil
}

func lie(format string, values ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, values...), events.ErrSealerLies)
}

// VerifySeal verifies what Commit answered; leaves is how many the contract asks for. It answers
// events.ErrSealerLies, or ErrNoVerifier for proofs of replication.
func VerifySeal(proves string, sector events.SectorRef, c SealContext, leaves int, proof []byte) error {
	switch proves {
	case Possession:
		return verify(sector, c.CommD, challenge(commd.Seal, sector, c.Ticket, c.Seed, leaves), proof)
	case Simulated:
		return same(sector, proof, simSeal(sector, c))
	}
	return fmt.Errorf("proofs that show %q: %w", proves, ErrNoVerifier)
}

// VerifyChallenge verifies what Challenge answered; of c the seed is not used.
func VerifyChallenge(
	proves string, sector events.SectorRef, c SealContext, randomness events.Hash, leaves int, proof []byte,
) error {
	switch proves {
	case Possession:
		return verify(sector, c.CommD, challenge(commd.Possession, sector, c.Ticket, randomness, leaves), proof)
	case Simulated:
		return same(sector, proof, simChallenge(sector, c.CommR, randomness, leaves))
	}
	return fmt.Errorf("proofs that show %q: %w", proves, ErrNoVerifier)
}

func challenge(domain commd.Domain, sector events.SectorRef, ticket, seed events.Hash, leaves int) commd.Challenge {
	return commd.Challenge{
		Domain: domain, Ticket: ticket, Seed: seed, Provider: sector.Provider, Number: sector.Number, Leaves: leaves,
	}
}

func verify(sector events.SectorRef, commD events.Hash, c commd.Challenge, proof []byte) error {
	if err := commd.Verify(commd.Node(commD), uint64(sector.Size), c, proof); err != nil {
		return lie("%s: %v", sector, err)
	}
	return nil
}

func same(sector events.SectorRef, proof, want []byte) error {
	if string(proof) != string(want) {
		return lie("%s: the simulated proof is another one", sector)
	}
	return nil
}
