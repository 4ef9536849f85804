package segment

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/prover/commd"
)

// Aggregate answers from the stored nodes, which are in memory or in a file.
type Aggregate struct {
	layout

	file io.ReaderAt
	// built is the file, if it was computed here. What is read from elsewhere is verified.
	built []byte
	root  commd.Node
}

// Build makes an aggregate of pieces, the largest first, in memory. Its errors are those of Place.
func Build(size uint64, pieces []Piece) (*Aggregate, error) {
	l, err := place(size, pieces)
	if err != nil {
		return nil, err
	}
	a := &Aggregate{layout: l, built: append(l.header(), make([]byte, l.length-headerSize)...)}
	a.file = bytes.NewReader(a.built)
	var offset uint64
	entries := l.entries[1]
	for _, p := range pieces {
		a.put(&entries, entryNode(p.Root, offset, p.Size))
		offset += p.Size
	}
	for level := 1; level <= l.depth; level++ {
		nodes, larger := l.pieces[level], uint64(len(pieces))-l.counts[level]
		for _, p := range pieces[larger:] {
			a.put(&nodes, p.Root)
		}
		pieces = pieces[:larger]
		if level > 1 {
			a.raise(level, nodes)
			a.raise(level, l.entries[level])
		}
	}
	return a, a.node(&a.root, l.depth, 0)
}

// put writes the first node of a run and leaves the rest of it.
func (a *Aggregate) put(r *run, n commd.Node) {
	copy(a.built[r.at:], n[:])
	*r = r.behind(1)
}

// putEntry writes an entry of the index. Its second half is a valid leaf, since the checksum has 126 bits.
func putEntry(dst []byte, root commd.Node, offset, size uint64) {
	e := (*[EntrySize]byte)(dst)
	copy(e[:], root[:])
	binary.LittleEndian.PutUint64(e[32:], offset)
	binary.LittleEndian.PutUint64(e[40:], size)
	clear(e[48:])
	sum := sha256.Sum256(e[:])
	sum[15] &= 0x3f
	copy(e[48:], sum[:])
}

// entryNode is the node over an entry, in layer 1.
func entryNode(root commd.Node, offset, size uint64) commd.Node {
	var e [EntrySize]byte
	putEntry(e[:], root, offset, size)
	return commd.Parent(commd.Node(e[:]), commd.Node(e[commd.NodeSize:]))
}

// raise computes a run of parents from the layer below.
func (a *Aggregate) raise(level int, parents run) {
	var children [2]commd.Node
	for parents.from < parents.to {
		for i := range children {
			_ = a.node(&children[i], level-1, 2*parents.from+uint64(i)) // In memory, nothing fails.
		}
		a.put(&parents, commd.Parent(children[0], children[1]))
	}
}

// Open reads header and root of an aggregate that was stored with WriteTo, whose file has that length. What it is asked
// later it reads then. It returns ErrMalformed. The root is the stored one: compare it with what is expected.
func Open(file io.ReaderAt, length int64) (*Aggregate, error) {
	if length < int64(headerSize) {
		return nil, fmt.Errorf("%d bytes are no aggregate: %w", length, ErrMalformed)
	}
	var header [headerSize]byte
	if err := read(file, header[:], 0); err != nil {
		return nil, fmt.Errorf("read the header of an aggregate: %w", err)
	}
	l, err := parseHeader(header[:])
	switch {
	case err != nil:
		return nil, err
	case uint64(length) != l.length: //nolint:gosec // Not negative.
		return nil, fmt.Errorf("%d bytes of an aggregate, want %d: %w", length, l.length, ErrMalformed)
	}
	a := &Aggregate{layout: l, file: file}
	return a, a.node(&a.root, l.depth, 0)
}

// Root is the aggregate's piece commitment.
func (a *Aggregate) Root() commd.Node { return a.root }

// Size is the aggregate's size in bytes, padded.
func (a *Aggregate) Size() uint64 { return a.size }

// Len is the number of pieces.
func (a *Aggregate) Len() int { return int(a.n) } //nolint:gosec // At most 2^19.

// WriteTo stores the aggregate: the same bytes for the same pieces.
func (a *Aggregate) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, io.NewSectionReader(a.file, 0, int64(a.length))) //nolint:gosec // Some MB.
}

// Piece is the piece at a position, without its payload, and its offset. It returns ErrNoPiece.
func (a *Aggregate) Piece(i int) (p Piece, offset uint64, err error) {
	if i < 0 || i >= a.Len() {
		return Piece{}, 0, fmt.Errorf("number %d of %d: %w", i, a.n, ErrNoPiece)
	}
	level, offset := a.locate(uint64(i))
	p.Size = nodeBytes(level)
	err = a.node(&p.Root, level, offset/p.Size)
	return p, offset, err
}

// Proof is the proof for the piece at a position, in constant time. It returns ErrNoPiece, and ErrDamaged when the
// stored nodes do not lead to the root: every proof that it returns verifies.
func (a *Aggregate) Proof(i int) (proof Proof, err error) {
	p, offset, err := a.Piece(i)
	if err != nil {
		return Proof{}, err
	}
	level := commd.Depth(p.Size)
	nodes := make([]commd.Node, 2*a.depth-level-1)
	proof.Subtree = Path{offset / p.Size, nodes[: a.depth-level : a.depth-level]}
	proof.Entry = Path{Room(a.size)/EntrySize + uint64(i), nodes[a.depth-level:]} //nolint:gosec // Not negative.
	if err = a.path(proof.Subtree, level); err == nil {
		err = a.path(proof.Entry, 1)
	}
	if err == nil && a.built == nil && proof.Verify(p, a.root, a.size) != nil {
		err = fmt.Errorf("piece %d, or its path: %w", i, ErrDamaged)
	}
	return proof, err
}

// path reads the siblings on the way from a node to the root.
func (a *Aggregate) path(p Path, level int) error {
	for i := range p.Nodes {
		if err := a.node(&p.Nodes[i], level+i, p.Index>>i^1); err != nil {
			return err
		}
	}
	return nil
}

func (a *Aggregate) node(n *commd.Node, level int, index uint64) error {
	at, ok := a.stored(level, index)
	if !ok {
		*n = commd.ZeroNode(level)
		return nil
	}
	if err := read(a.file, n[:], at); err != nil {
		return fmt.Errorf("read node %d of layer %d of an aggregate: %w", index, level, err)
	}
	return nil
}

// read fills b. A file that ends early is damaged.
func read(file io.ReaderAt, b []byte, at uint64) error {
	switch n, err := file.ReadAt(b, int64(at)); { //nolint:gosec // Some MB.
	case n == len(b):
		return nil
	case err == io.EOF:
		return fmt.Errorf("it ends at %d: %w", at+uint64(n), ErrDamaged) //nolint:gosec // Not negative.
	default:
		return err
	}
}
