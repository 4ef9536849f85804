package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hostnode/hostnode/prover/commd"
)

// Errors of input from callers or from outside.
var (
	// ErrSize: no aggregate has this size.
	ErrSize = errors.New("impossible size of an aggregate")
	// ErrTooManyPieces: the index has not as many entries.
	ErrTooManyPieces = errors.New("too many pieces")
	// ErrTooLarge: the pieces leave no room for the index.
	ErrTooLarge = errors.New("the pieces do not fit")
	// ErrPieceTooLarge: a piece is larger than half of the aggregate, so that no index fits beside it.
	ErrPieceTooLarge = errors.New("the piece is too large")
	// ErrPiece: size, root or payload of a piece are impossible.
	ErrPiece = errors.New("impossible piece")
	// ErrSamePiece: a piece is there twice; a proof could be for either.
	ErrSamePiece = errors.New("the same piece twice")
	// ErrOrder: the pieces are not the largest first.
	ErrOrder = errors.New("the pieces are not in order")
	// ErrNoPiece: the aggregate has no such piece.
	ErrNoPiece = errors.New("no such piece")
	// ErrMalformed: bytes do not have the required form.
	ErrMalformed = errors.New("malformed")
	// ErrProof: a proof does not show what it should.
	ErrProof = errors.New("the proof does not verify")
	// ErrDamaged: what is stored is not what was written.
	ErrDamaged = errors.New("damaged on disk")
	// ErrPayload: what was read of a piece is shorter or longer than its payload.
	ErrPayload = errors.New("the payload has another length")
)

const (
	// EntrySize is the size of an entry of the index.
	EntrySize = 2 * commd.NodeSize
	// MinSize is the smallest aggregate, with room for two pieces of 128 bytes; the largest is the largest sector.
	MinSize = 512

	// pieceLevel and topLevel are the lowest and the highest layer in which roots of pieces can be.
	pieceLevel = 2
	topLevel   = commd.MaxDepth - 1

	magic      = "hostnode/aggr/1\n"
	headerSize = uint64(len(magic)) + 8 + (topLevel-pieceLevel+1)*8
)

// Piece is a piece of an aggregate.
type Piece struct {
	Root commd.Node
	// Size is in bytes, padded.
	Size uint64
	// Payload is the number of bytes without the padding. Only an Object needs it.
	Payload uint64
}

func (p Piece) check() error {
	err := commd.CheckPieceSize(p.Size)
	if err == nil && (p.Root == commd.Node{} || !p.Root.Valid()) {
		err = errors.New("no commitment")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPiece, err)
	}
	return nil
}

// Entries is the number of entries in the index of an aggregate, which limits its pieces.
func Entries(size uint64) uint64 {
	entries := size / 2048 / EntrySize
	if entries <= 4 {
		return 4
	}
	return 1 << bits.Len64(entries-1)
}

// Room is the number of bytes, padded, in which the pieces of an aggregate must fit.
func Room(size uint64) uint64 { return size - EntrySize*Entries(size) }

// CheckSize returns ErrSize when an aggregate cannot have that size.
func CheckSize(size uint64) error {
	if size < MinSize || size > commd.MaxSectorSize || bits.OnesCount64(size) != 1 {
		return fmt.Errorf("aggregate of %d bytes, want a power of two from %d to %d: %w",
			size, MinSize, uint64(commd.MaxSectorSize), ErrSize)
	}
	return nil
}

// Order returns pieces largest first, and those of one size by the bytes of their root. So the same pieces make
// the same aggregate, and no byte is lost between them.
func Order(pieces []Piece) []Piece { return slices.SortedFunc(slices.Values(pieces), compare) }

func compare(a, b Piece) int {
	return cmp.Or(cmp.Compare(b.Size, a.Size), bytes.Compare(a.Root[:], b.Root[:]))
}

// Place checks that an aggregate can have these pieces, the largest first, and returns their offsets, padded: each
// begins where the one before it ends. Its errors are all of this package's about sizes and pieces.
func Place(size uint64, pieces []Piece) (offsets []uint64, err error) {
	var end uint64
	for _, p := range pieces {
		offsets = append(offsets, end)
		end += p.Size
	}
	_, err = place(size, pieces)
	return offsets, err
}

// run is a row of nodes of a layer that are stored.
type run struct {
	from, to uint64 // indices
	at       uint64 // offset of the first in the file
}

// behind is the rest of a run behind so many nodes.
func (r run) behind(nodes uint64) run { return run{r.from + nodes, r.to, r.at + nodes*commd.NodeSize} }

func (r run) has(index uint64) bool { return r.from <= index && index < r.to }

// layout is where everything is in an aggregate and in its file.
type layout struct {
	size    uint64
	depth   int
	counts  [commd.MaxDepth + 1]uint64 // pieces by the layer of their root
	n       uint64                     // pieces
	used    uint64                     // bytes
	pieces  [commd.MaxDepth + 1]run
	entries [commd.MaxDepth + 1]run
	length  uint64 // of the file
}

// place is the layout of an aggregate of pieces.
func place(size uint64, pieces []Piece) (layout, error) {
	var counts [commd.MaxDepth + 1]uint64
	seen := make(map[commd.Node]bool, len(pieces))
	for i, p := range pieces {
		err := p.check()
		if seen[p.Root] {
			err = cmp.Or(err, ErrSamePiece)
		} else if i > 0 && pieces[i-1].Size < p.Size {
			err = cmp.Or(err, ErrOrder)
		}
		if err != nil {
			return layout{}, fmt.Errorf("piece %d, %s: %w", i, commd.CID(p.Root), err)
		}
		seen[p.Root] = true
		counts[commd.Depth(p.Size)]++
	}
	return newLayout(size, counts)
}

// newLayout returns ErrSize, ErrTooManyPieces, ErrPieceTooLarge and ErrTooLarge.
func newLayout(size uint64, counts [commd.MaxDepth + 1]uint64) (layout, error) {
	if err := CheckSize(size); err != nil {
		return layout{}, err
	}
	l := layout{size: size, depth: commd.Depth(size), counts: counts, length: headerSize}
	for level, count := range counts {
		if count > Entries(size)-l.n {
			return layout{}, fmt.Errorf("more than %d pieces in an aggregate of %d bytes: %w",
				Entries(size), size, ErrTooManyPieces)
		}
		if count > 0 && level >= l.depth {
			return layout{}, fmt.Errorf("%d bytes in an aggregate of %d, at most half of it: %w",
				nodeBytes(level), size, ErrPieceTooLarge)
		}
		l.n += count
		l.used += count * nodeBytes(level) // At most 2^20 times 2^35.
	}
	if l.used > Room(size) {
		return layout{}, fmt.Errorf("%d bytes in an aggregate of %d, which has room for %d: %w",
			l.used, size, Room(size), ErrTooLarge)
	}
	larger := l.used // bytes of pieces whose roots are above the layer
	for level := 1; level <= l.depth; level++ {
		node := nodeBytes(level)
		larger -= counts[level] * node
		p := run{from: larger / node, to: (l.used + node - 1) / node, at: l.length}
		l.length += (p.to - p.from) * commd.NodeSize
		e := run{from: max(p.to, Room(size)/node), at: l.length}
		e.to = max(e.from, (Room(size)+EntrySize*l.n+node-1)/node)
		l.length += (e.to - e.from) * commd.NodeSize
		l.pieces[level], l.entries[level] = p, e
	}
	return l, nil
}

// nodeBytes is the number of bytes under a node of a layer.
func nodeBytes(level int) uint64 { return commd.NodeSize << level }

// locate is where a piece is: the layer of its root, and its offset.
func (l *layout) locate(i uint64) (level int, offset uint64) {
	for level = l.depth; i >= l.counts[level]; level-- {
		i -= l.counts[level]
		offset += l.counts[level] * nodeBytes(level)
	}
	return level, offset + i*nodeBytes(level)
}

// at is the piece that covers an offset below used, with the offset and size of that piece.
func (l *layout) at(offset uint64) (i, begin, size uint64) {
	level := l.depth
	for ; offset-begin >= l.counts[level]*nodeBytes(level); level-- {
		i += l.counts[level]
		begin += l.counts[level] * nodeBytes(level)
	}
	size = nodeBytes(level)
	k := (offset - begin) / size
	return i + k, begin + k*size, size
}

// stored is the offset of a node in the file; otherwise it is the root of zeros.
func (l *layout) stored(level int, index uint64) (at uint64, ok bool) {
	r := l.pieces[level]
	if !r.has(index) {
		r = l.entries[level]
	}
	return r.behind(index - r.from).at, r.has(index)
}

func (l *layout) header() []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.BigEndian.AppendUint64(b, l.size)
	for _, count := range l.counts[pieceLevel : topLevel+1] {
		b = binary.BigEndian.AppendUint64(b, count)
	}
	return b
}

func parseHeader(b []byte) (layout, error) {
	var counts [commd.MaxDepth + 1]uint64
	for level := pieceLevel; level <= topLevel; level++ {
		counts[level] = binary.BigEndian.Uint64(b[len(magic)+8*(1+level-pieceLevel):])
	}
	l, err := newLayout(binary.BigEndian.Uint64(b[len(magic):]), counts)
	if err == nil && !bytes.Equal(l.header(), b) {
		err = fmt.Errorf("it does not begin with %q", magic)
	}
	if err != nil {
		return layout{}, fmt.Errorf("header of an aggregate: %w: %w", err, ErrMalformed)
	}
	return l, nil
}
