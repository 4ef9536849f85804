package segment

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/hostnode/hostnode/prover/commd"
)

// Path leads from a node of a tree to its root.
type Path struct {
	// Index is the node's number in its layer.
	Index uint64
	// Nodes are the siblings on the way, from below.
	Nodes []commd.Node
}

// Proof shows that a piece is in an aggregate.
type Proof struct {
	// Subtree is the path of the piece's root.
	Subtree Path
	// Entry is the path of the node over the piece's entry in the index.
	Entry Path
}

// maxPath is the length of the longest path: that of an entry in the largest aggregate.
const maxPath = commd.MaxDepth - 1

// Aggregate is what the proof is for: the root and size of the only aggregate that it fits. Compare both with the deal.
// It returns ErrProof when it is a proof for nothing, and ErrPiece.
func (p Proof) Aggregate(piece Piece) (root commd.Node, size uint64, err error) {
	if err := piece.check(); err != nil {
		return commd.Node{}, 0, err
	}
	above, below := len(p.Subtree.Nodes), commd.Depth(piece.Size)
	if above < 1 || above+below > commd.MaxDepth || len(p.Entry.Nodes) != above+below-1 {
		return commd.Node{}, 0, fmt.Errorf("paths of %d and %d nodes do not end in one aggregate "+
			"with a piece of %d bytes: %w", above, len(p.Entry.Nodes), piece.Size, ErrProof)
	}
	size = piece.Size << above
	index := Room(size)
	if CheckSize(size) != nil || p.Subtree.Index >= index/piece.Size ||
		p.Entry.Index < index/EntrySize || p.Entry.Index >= size/EntrySize {
		return commd.Node{}, 0, fmt.Errorf("node %d for the piece and %d for its entry are not where they are "+
			"in an aggregate of %d bytes: %w", p.Subtree.Index, p.Entry.Index, size, ErrProof)
	}
	root, err = p.Subtree.root(piece.Root)
	again, entryErr := p.Entry.root(entryNode(piece.Root, p.Subtree.Index*piece.Size, piece.Size))
	if err = cmp.Or(err, entryErr); err == nil && again != root {
		err = fmt.Errorf("the paths lead to different roots: %w", ErrProof)
	}
	if err != nil {
		return commd.Node{}, 0, err
	}
	return root, size, nil
}

// Verify checks that a piece is in the aggregate of that root and size. It returns ErrProof if not, and ErrPiece.
func (p Proof) Verify(piece Piece, root commd.Node, size uint64) error {
	gotRoot, gotSize, err := p.Aggregate(piece)
	if err == nil && (gotRoot != root || gotSize != size) {
		err = fmt.Errorf("it is for %s of %d bytes, not for %s of %d: %w",
			commd.CID(gotRoot), gotSize, commd.CID(root), size, ErrProof)
	}
	return err
}

func (p Path) root(node commd.Node) (commd.Node, error) {
	for i, sibling := range p.Nodes {
		if !sibling.Valid() {
			return commd.Node{}, fmt.Errorf("a node of a path has its top bits set: %w", ErrProof)
		}
		if p.Index>>i&1 == 1 {
			node, sibling = sibling, node
		}
		node = commd.Parent(node, sibling)
	}
	return node, nil
}

// In CBOR, a proof is an array of its two paths, a path one of the index and the nodes, and a node a byte string.
const (
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborNode  = 2 + commd.NodeSize // with its head
	cborMost  = 3 + 2*(9+2) + (2*maxPath-1)*cborNode
)

// Encode is the proof in CBOR, as go-data-segment's InclusionProof.
func (p Proof) Encode() []byte {
	b := append(make([]byte, 0, cborMost), cborArray|2)
	for _, path := range [2]Path{p.Subtree, p.Entry} {
		b = append(b, cborArray|2)
		b = AppendHead(b, 0, path.Index)
		b = AppendHead(b, cborArray, uint64(len(path.Nodes)))
		for _, n := range path.Nodes {
			b = append(AppendHead(b, cborBytes, commd.NodeSize), n[:]...)
		}
	}
	return b
}

// AppendHead appends the head of a CBOR value, its major type with a number, in the shortest form.
func AppendHead(b []byte, major byte, n uint64) []byte {
	if n < 24 {
		return append(b, major|byte(n))
	}
	width := 0 // of the number: 1<<width bytes
	for n>>(8<<width) > 0 {
		width++
	}
	b = append(b, major|24+byte(width))
	for shift := 8<<width - 8; shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

// cutHead returns the number after the major type of a value, and what comes behind it; nothing if it is cut.
func cutHead(b []byte) (n uint64, rest []byte) {
	if len(b) == 0 {
		return 0, nil
	}
	low, b := b[0]&0x1f, b[1:]
	if low < 24 {
		return uint64(low), b
	}
	width := 1 << (low - 24)
	if len(b) < width {
		return 0, nil
	}
	for _, next := range b[:width] {
		n = n<<8 | uint64(next)
	}
	return n, b[width:]
}

// DecodeProof reads what Encode writes, and nothing else. It returns ErrMalformed. What it returns is not verified.
func DecodeProof(b []byte) (p Proof, err error) {
	_, rest := cutHead(b)
	for _, path := range [2]*Path{&p.Subtree, &p.Entry} {
		_, rest = cutHead(rest)
		path.Index, rest = cutHead(rest)
		var count uint64
		count, rest = cutHead(rest)
		for range min(count, maxPath, uint64(len(rest))/cborNode) {
			path.Nodes = append(path.Nodes, commd.Node(rest[cborNode-commd.NodeSize:]))
			rest = rest[cborNode:]
		}
	}
	// Types, heads that are longer than they need be, and what is cut or added, are all seen here.
	if !bytes.Equal(p.Encode(), b) {
		return Proof{}, fmt.Errorf("%d bytes are no proof of inclusion: %w", len(b), ErrMalformed)
	}
	return p, nil
}
