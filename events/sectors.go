package events

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// This file holds what sealers, the store of their files, and their callers say of a sector. It
// stands here, not beside any of them, because none imports another.

// SectorRef names a sector and says how large it is.
type SectorRef struct {
	Provider Address
	// Number is given once per host, from 1, and never again.
	Number uint64
	// Size is the padded size: a power of two from 2 KiB to 64 GiB.
	Size Bytes
}

func (r SectorRef) String() string { return fmt.Sprintf("sector %d of %s", r.Number, r.Provider) }

// SectorPiece is a piece of data in a sector.
type SectorPiece struct {
	// CID is that of its commitment, of version 1, as text: baga6ea4seaq…
	CID string
	// Size is padded, a power of two; Payload is the bytes of data in it, 0 for zeros
	// that fill a gap.
	Size, Payload Bytes
}

// SealContext is what a seal and its proof are about.
type SealContext struct {
	Ticket Hash
	// Seed is what a proof answers; a seal without a proof has none.
	Seed         Hash
	CommD, CommR Hash
	// Pieces are those of the sector in their order, fillers too; a gap before a piece,
	// which is aligned to its size, is zeros.
	Pieces []SectorPiece
}

// SectorProgress is told how much of a step is done, from 0 to 1, and never less than before. It
// must not block. Nil: nobody wants to know.
type SectorProgress func(done float64)

// SectorPart is one of the files of a sector. Each is made, measured and released on its own.
type SectorPart uint8

// The parts of a sector.
const (
	// SectorUnsealed is the data of the pieces, in FR32 form.
	SectorUnsealed SectorPart = iota
	// SectorSealed is what a sealer makes of the data, if it makes something.
	SectorSealed
	// SectorTree is the Merkle tree over the data.
	SectorTree
	// SectorScratch is what a sealer needs only while it works.
	SectorScratch
)

// SectorParts returns all parts, in the order in which a sector gets them.
func SectorParts() [4]SectorPart {
	return [...]SectorPart{SectorUnsealed, SectorSealed, SectorTree, SectorScratch}
}

// String is the name of a part, and of its file.
func (p SectorPart) String() string {
	return NameOf(p, "part %d", "unsealed", "sealed", "tree", "scratch")
}

// SectorUsage is what a sector occupies on disk, measured.
type SectorUsage struct {
	Sector SectorRef
	// Parts are by SectorPart; a missing part occupies nothing.
	Parts [4]Bytes
	// Notes is everything else: what sealer and store write down, and the directory.
	Notes Bytes
}

// SectorScrub is how far the scrub of sectors has come, which reads all data at rest again and again.
// Points in time are by the machine's clock.
type SectorScrub struct {
	// Began is when the running pass began; zero: none runs. The pass has come to Offset of the
	// data of the sector with that number; sectors are read in the order of their numbers.
	Began  time.Time
	Sector uint64
	Offset Bytes
	// LastBegan and LastEnded are those of the last complete pass; zero: there was none.
	LastBegan, LastEnded time.Time
}

// SectorReader is an open part of a sector. ReadAt is safe for concurrent use.
type SectorReader interface {
	io.ReaderAt
	io.Closer
}

// SectorFile is a part of a sector that is being written. A write returns ErrDiskFull when this
// machine has no room; what was written is durable after Sync.
type SectorFile interface {
	SectorReader
	io.WriterAt
	Sync() error
}

// The errors of sealers and of the store of their files.
var (
	// ErrNoSectorPart: this part of a sector, or the sector, is not stored here.
	ErrNoSectorPart = errors.New("part of the sector is not stored here")
	// ErrSectorDamaged: the stored sector is not what was written.
	ErrSectorDamaged = errors.New("sector is damaged on disk")
	// ErrPieceMismatch: the bytes of a piece do not match its commitment, or there are too
	// few or too many. The same bytes will fail again.
	ErrPieceMismatch = errors.New("piece is not what its commitment says")
	// ErrPieceRefused: a piece cannot be put at this offset of the sector: it is too large,
	// another piece is there, or the offset is impossible.
	ErrPieceRefused = errors.New("piece does not fit")
	// ErrSectorStep: the sector is not ready for this step, or the step has other values than
	// those before it. Another try will fail as well.
	ErrSectorStep = errors.New("sector is not ready for this step")
	// ErrSealerLies: what a sealer answered cannot be true.
	ErrSealerLies = errors.New("sealer gives a wrong result")
	// ErrNoVerifier: nothing on this host can verify what such proofs show.
	ErrNoVerifier = errors.New("no verifier on this host")
	// ErrNoSuchPiece: the source of pieces does not have it.
	ErrNoSuchPiece = errors.New("no such piece")
	// ErrSealerAway: the outside sealer does not answer. What was asked may have begun; asking
	// again is safe.
	ErrSealerAway = errors.New("sealer does not answer")
	// ErrNoProver: what answers in the place of the outside sealer refuses this host, or is no sealer. It says nothing
	// about a sector: it is an ErrSealerAway, which an operator has to correct.
	ErrNoProver = errors.New("the outside prover does no work for this host")
)
