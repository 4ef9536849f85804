package commd

import (
	"errors"
	"fmt"
	"math/bits"
)

// Sizes in bytes. Sizes of pieces and sectors are those of the padded form: powers of two.
const (
	// NodeSize is the size of a leaf and of a node.
	NodeSize = 32

	// MinPieceSize is the smallest piece: four leaves, 127 bytes of payload.
	MinPieceSize = 128

	// MinSectorSize is the smallest sector, 2 KiB.
	MinSectorSize = 2 << 10

	// MaxSectorSize is the largest sector and the largest piece, 64 GiB.
	MaxSectorSize = 64 << 30

	// MinPayload is the smallest payload that has a commitment.
	MinPayload = 65

	// MaxPayload is the largest payload of a piece.
	MaxPayload = MaxSectorSize / QuadPadded * QuadPayload

	// MaxDepth is the number of layers above the leaves of the largest sector.
	MaxDepth = 31
)

// Errors of input from callers or from outside.
var (
	// ErrSize: a size is no power of two, too small or too large.
	ErrSize = errors.New("impossible size")
	// ErrPayload: a payload is too small to have a commitment, or too large for a piece.
	ErrPayload = errors.New("impossible length of a payload")
	// ErrTooManyBytes: pieces do not fit into their sector, or bytes into their piece.
	ErrTooManyBytes = errors.New("does not fit")
	// ErrMalformed: a text or bytes do not have the required form.
	ErrMalformed = errors.New("malformed")
	// ErrProof: a proof does not show what it should.
	ErrProof = errors.New("the proof does not verify")
	// ErrDamaged: data or tree on disk are not what was written.
	ErrDamaged = errors.New("damaged on disk")
)

// Node is a leaf or a node of a tree; a tree's root is a commitment. Its two top bits, those of the
// last byte, are zero.
type Node [NodeSize]byte

// Valid reports whether the top bits are zero, as they are in every node.
func (n Node) Valid() bool { return n[NodeSize-1]&^topMask == 0 }

// CheckPieceSize returns ErrSize when a piece cannot have that size.
func CheckPieceSize(size uint64) error { return checkSize("piece", size, MinPieceSize) }

// CheckSectorSize returns ErrSize when a sector cannot have that size.
func CheckSectorSize(size uint64) error { return checkSize("sector", size, MinSectorSize) }

func checkSize(what string, size, least uint64) error {
	if size < least || size > MaxSectorSize || bits.OnesCount64(size) != 1 {
		return fmt.Errorf("%s of %d bytes, want a power of two from %d to %d: %w",
			what, size, least, uint64(MaxSectorSize), ErrSize)
	}
	return nil
}

// PieceSize is the size of the smallest piece that holds a payload of that many bytes.
func PieceSize(payload uint64) (uint64, error) {
	if payload < MinPayload || payload > MaxPayload {
		return 0, fmt.Errorf("payload of %d bytes, want %d to %d: %w",
			payload, MinPayload, uint64(MaxPayload), ErrPayload)
	}
	quads := (payload + QuadPayload - 1) / QuadPayload
	return 1 << bits.Len64(quads*QuadPadded-1), nil
}

// PayloadRoom is the number of bytes of payload that fit into a padded size.
func PayloadRoom(size uint64) uint64 { return size / QuadPadded * QuadPayload }

// Depth is the number of layers above the leaves of a piece or sector; size is a power of two.
func Depth(size uint64) int { return bits.TrailingZeros64(size / NodeSize) }
