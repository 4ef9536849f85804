package dataset

import (
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// TreeVerifier computes the root of a SHA-256 tree from its leaves in order, with
// memory for one path only. Package merkle builds the same tree in memory. It is
// not safe for concurrent use.
type TreeVerifier struct {
	count   uint64
	pending [64][32]byte // the left child of level i that waits for its right one
}

// Add appends a leaf.
func (v *TreeVerifier) Add(leaf [32]byte) {
	node, key := leaf, poseidon2.KeyBottom
	level := 0
	for at := v.count; at&1 == 1; at >>= 1 {
		node = merkle.CompressContent(v.pending[level], node, key)
		key = poseidon2.KeyInner
		level++
	}
	v.pending[level] = node
	v.count++
}

// Count is the number of leaves added.
func (v *TreeVerifier) Count() uint64 { return v.count }

// Root is the root over all leaves added so far. It returns merkle.ErrNoLeaves if there are none.
// More leaves can be added afterwards.
func (v *TreeVerifier) Root() ([32]byte, error) {
	if v.count == 0 {
		return [32]byte{}, merkle.ErrNoLeaves
	}
	var node [32]byte
	have := false // whether node is the last of its layer, without a full subtree
	key := poseidon2.KeyBottom
	for level, width := 0, v.count; ; level++ {
		switch {
		case have && width&1 == 0: // It is the right child of the pending one.
			node = merkle.CompressContent(v.pending[level], node, key)
		case have:
			node = merkle.CompressContent(node, [32]byte{}, key|poseidon2.KeyInnerSingle)
		case width&1 == 1: // The pending one never gets a right sibling.
			if width == 1 && level > 0 {
				return v.pending[level], nil
			}
			have = true
			node = merkle.CompressContent(
				v.pending[level], [32]byte{}, key|poseidon2.KeyInnerSingle)
		}
		key, width = poseidon2.KeyInner, (width+1)>>1
		if have && width == 1 {
			return node, nil
		}
	}
}
