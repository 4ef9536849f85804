package commd

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// maskNodes clears the two top bits of each node.
func maskNodes(nodes []byte) {
	for i := NodeSize - 1; i < len(nodes); i += NodeSize {
		nodes[i] &= topMask
	}
}

// Parent is the node over two.
func Parent(left, right Node) Node {
	var b [2 * NodeSize]byte
	copy(b[:], left[:])
	copy(b[NodeSize:], right[:])
	n := Node(sha256.Sum256(b[:]))
	n[NodeSize-1] &= topMask
	return n
}

// zeros are the roots of trees of zeros, by depth.
var zeros = func() (z [MaxDepth + 1]Node) {
	for i := 1; i < len(z); i++ {
		z[i] = Parent(z[i-1], z[i-1])
	}
	return z
}()

// ZeroNode is the root of a tree of zeros with that many layers above its leaves, at most MaxDepth.
func ZeroNode(depth int) Node { return zeros[depth] }

// ZeroCommitment is the root of a piece or sector of zeros.
func ZeroCommitment(size uint64) (Node, error) {
	if err := CheckPieceSize(size); err != nil {
		return Node{}, err
	}
	return zeros[Depth(size)], nil
}

// batchSize is the number of bytes of a layer that are hashed together: 512 nodes, which fit the
// first-level cache.
const batchSize = 512 * NodeSize

// Hasher builds the tree over bytes that are written to it, from the left. It keeps only the nodes
// that have no parent yet, and does not hash runs of zeros.
type Hasher struct {
	// emit, if set, is called with the nodes of layers from base up, in order within a layer.
	emit func(level int, first uint64, nodes []byte) error
	base int

	layers [MaxDepth + 1]layer
	size   uint64 // bytes written
	err    error
}

// layer is the part of a layer without parents.
type layer struct {
	pending []byte
	count   uint64 // nodes added so far
}

// NewHasher returns a Hasher for at most MaxSectorSize bytes.
func NewHasher() *Hasher { return &Hasher{} }

// Size is the number of bytes written.
func (h *Hasher) Size() uint64 { return h.size }

// Write adds padded bytes, in parts of any length. It returns ErrTooManyBytes.
func (h *Hasher) Write(p []byte) (int, error) {
	if uint64(len(p)) > MaxSectorSize-h.size {
		h.err = fmt.Errorf("more than %d bytes: %w", uint64(MaxSectorSize), ErrTooManyBytes)
	}
	if h.err != nil {
		return 0, h.err
	}
	h.size += uint64(len(p))
	leaves := &h.layers[0]
	for rest := p; len(rest) > 0; {
		if len(leaves.pending) == 0 && len(rest) >= batchSize {
			h.raise(0, rest[:batchSize]) // Without copying.
			rest = rest[batchSize:]
			continue
		}
		took := min(len(rest), batchSize-len(leaves.pending))
		leaves.pending = append(leaves.pending, rest[:took]...)
		rest = rest[took:]
		h.raiseFull(0)
	}
	return len(p), h.err
}

// raiseFull computes the parents of a layer that has a full batch.
func (h *Hasher) raiseFull(level int) {
	if l := &h.layers[level]; len(l.pending) == batchSize {
		h.raise(level, l.pending)
		l.pending = l.pending[:0]
	}
}

// raise adds the parents of nodes to the layer above. They fit: a full batch has half a batch of
// parents, and only the last one of a layer has fewer.
func (h *Hasher) raise(level int, nodes []byte) {
	l := &h.layers[level+1]
	if l.pending == nil {
		l.pending = make([]byte, 0, len(nodes)) // With room for the next parents, which mostly come.
	}
	at := len(l.pending)
	l.pending = slices.Grow(l.pending, len(nodes)/2)[:at+len(nodes)/2]
	parents := l.pending[at:]
	if bytes.Equal(nodes[:NodeSize], zeros[level][:]) && bytes.Equal(nodes[NodeSize:], nodes[:len(nodes)-NodeSize]) {
		for i := 0; i < len(parents); i += NodeSize {
			copy(parents[i:], zeros[level+1][:])
		}
	} else {
		hashPairs(parents, nodes)
	}
	h.tell(level+1, l.count, parents)
	l.count += uint64(len(parents)) / NodeSize
	h.raiseFull(level + 1)
}

func (h *Hasher) tell(level int, first uint64, nodes []byte) {
	if h.emit != nil && level >= h.base && h.err == nil {
		h.err = h.emit(level, first, nodes)
	}
}

// Root pads with zeros to a size and returns the root. Nothing may be written afterwards.
func (h *Hasher) Root(size uint64) (Node, error) {
	switch err := CheckPieceSize(size); {
	case h.err != nil:
		return Node{}, h.err
	case err != nil:
		return Node{}, err
	case h.size > size:
		return Node{}, fmt.Errorf("%d bytes in a piece of %d: %w", h.size, size, ErrTooManyBytes)
	}
	if h.size == 0 {
		return zeros[Depth(size)], nil
	}
	if rest := h.size % NodeSize; rest > 0 {
		h.layers[0].pending = append(h.layers[0].pending, make([]byte, NodeSize-rest)...)
	}
	for level := range Depth(size) {
		l := &h.layers[level]
		if (len(l.pending)/NodeSize)%2 == 1 {
			l.pending = append(l.pending, zeros[level][:]...)
		}
		if len(l.pending) > 0 {
			h.raise(level, l.pending)
			l.pending = l.pending[:0]
		}
	}
	root := Node(h.layers[Depth(size)].pending)
	h.err = errFinished
	return root, nil
}

// errFinished is the error of a write after Root.
var errFinished = fmt.Errorf("after the root was computed: %w", ErrTooManyBytes)
