package merkle

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hostnode/hostnode/prover/poseidon2"
)

// ErrNoLeaves says that a tree has no leaves.
var ErrNoLeaves = errors.New("a tree needs at least one leaf")

// ErrIndex says that a leaf index is outside the tree.
var ErrIndex = errors.New("leaf index out of range")

// Compressor computes the parent of two children. If there is only one child, right is the zero
// value and the key says so.
type Compressor[D any] func(left, right D, key poseidon2.Key) D

// Tree is a Merkle tree with all its layers in memory. It is safe for concurrent
// reading.
type Tree[D any] struct {
	layers [][]D // from the leaves to the root
}

// Build builds the tree over a copy of leaves. It returns ErrNoLeaves for none.
func Build[D any](leaves []D, compress Compressor[D]) (*Tree[D], error) {
	if len(leaves) == 0 {
		return nil, ErrNoLeaves
	}
	layer := append([]D(nil), leaves...)
	layers := [][]D{layer}
	for key := poseidon2.KeyBottom; len(layer) > 1 || key == poseidon2.KeyBottom; {
		next := make([]D, (len(layer)+1)/2)
		compressLayer(next, layer, key, compress)
		layers = append(layers, next)
		layer, key = next, poseidon2.KeyInner
	}
	return &Tree[D]{layers: layers}, nil
}

// RootOf computes the root over leaves without keeping the tree. It returns ErrNoLeaves for none.
func RootOf[D any](leaves []D, compress Compressor[D]) (D, error) {
	if len(leaves) == 0 {
		var none D
		return none, ErrNoLeaves
	}
	return fold(slices.Clone(leaves), compress), nil
}

// fold computes the root in place and overwrites the leaves.
func fold[D any](layer []D, compress Compressor[D]) D {
	for key := poseidon2.KeyBottom; len(layer) > 1 || key == poseidon2.KeyBottom; {
		next := layer[:(len(layer)+1)/2]
		compressLayer(next, layer, key, compress)
		layer, key = next, poseidon2.KeyInner
	}
	return layer[0]
}

// compressLayer writes the nodes above layer to next. The two may share memory, because a node is
// written after its children are read.
func compressLayer[D any](next, layer []D, key poseidon2.Key, compress Compressor[D]) {
	for i := range len(layer) / 2 {
		next[i] = compress(layer[2*i], layer[2*i+1], key)
	}
	if len(layer)%2 == 1 {
		var zero D
		next[len(next)-1] = compress(layer[len(layer)-1], zero, key|poseidon2.KeyInnerSingle)
	}
}

// Root returns the root.
func (t *Tree[D]) Root() D { return t.layers[len(t.layers)-1][0] }

// Leaves returns the number of leaves.
func (t *Tree[D]) Leaves() int { return len(t.layers[0]) }

// Depth returns the length of a path: the number of compressions from leaf to root.
func (t *Tree[D]) Depth() int { return len(t.layers) - 1 }

// Leaf returns leaf i, or ErrIndex.
func (t *Tree[D]) Leaf(i int) (D, error) {
	if i < 0 || i >= t.Leaves() {
		var none D
		return none, fmt.Errorf("leaf %d of %d: %w", i, t.Leaves(), ErrIndex)
	}
	return t.layers[0][i], nil
}

// Path returns the siblings on the way from leaf i to the root, the leaf's own first; where there
// is no sibling the entry is zero. It returns ErrIndex for i outside the tree.
func (t *Tree[D]) Path(i int) ([]D, error) {
	if i < 0 || i >= t.Leaves() {
		return nil, fmt.Errorf("path of leaf %d of %d: %w", i, t.Leaves(), ErrIndex)
	}
	path := make([]D, t.Depth())
	for level := range path {
		if sibling := i ^ 1; sibling < len(t.layers[level]) {
			path[level] = t.layers[level][sibling]
		}
		i >>= 1
	}
	return path, nil
}

// Layers returns the layers from the leaves to the root, for storing a tree. The caller must not
// change them.
func (t *Tree[D]) Layers() [][]D { return t.layers }

// PathLength returns the length of a path in a tree of that many leaves, and 0 for
// none.
func PathLength(leaves uint64) int {
	if leaves == 0 {
		return 0
	}
	return max(1, bits.Len64(leaves-1))
}

// VerifyPath reports whether path leads from the leaf at index to root in a tree of that many
// leaves. For wrong lengths and indices it returns false.
func VerifyPath[D comparable](
	root, leaf D, index, leaves uint64, path []D, compress Compressor[D],
) bool {
	if index >= leaves || len(path) != PathLength(leaves) {
		return false
	}
	var none D
	hash, key := leaf, poseidon2.KeyBottom
	for _, sibling := range path {
		switch {
		case index%2 == 1:
			hash = compress(sibling, hash, key)
		case index == leaves-1:
			hash = compress(hash, none, key|poseidon2.KeyInnerSingle)
		default:
			hash = compress(hash, sibling, key)
		}
		index, leaves, key = index>>1, (leaves+1)>>1, poseidon2.KeyInner
	}
	return hash == root
}
