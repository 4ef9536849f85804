package merkle

import (
	"crypto/sha256"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/prover/poseidon2"
)

const (
	// BlockSize is the size of a block, the unit of network and storage, in bytes.
	BlockSize = 65536

	// CellSize is the size of a cell, the unit of sampling, in bytes.
	CellSize = poseidon2.CellSize

	// CellsPerBlock is the number of cells of a block.
	CellsPerBlock = BlockSize / CellSize

	// BlockTreeDepth is the length of a cell's path inside its block.
	BlockTreeDepth = 5

	// MaxSlotBlocks limits the blocks of a slot, including padding: a slot has at most 2^32 cells.
	MaxSlotBlocks = 1 << 32 / CellsPerBlock
)

// FieldTree is a tree of Poseidon2 hashes: a block, slot or dataset tree.
type FieldTree = Tree[fr.Element]

// NewTree builds the Poseidon2 tree over leaves, without padding.
func NewTree(leaves []fr.Element) (*FieldTree, error) {
	return Build(leaves, poseidon2.Compress)
}

// Root returns the root of the Poseidon2 tree over leaves, without padding.
func Root(leaves []fr.Element) (fr.Element, error) {
	return RootOf(leaves, poseidon2.Compress)
}

// Verify reports whether path leads from leaf to root in a Poseidon2 tree.
func Verify(root, leaf fr.Element, index, leaves uint64, path []fr.Element) bool {
	return VerifyPath(root, leaf, index, leaves, path, poseidon2.Compress)
}

// NewBlockTree builds the tree over the 32 cells of a block, which must have
// BlockSize bytes.
func NewBlockTree(block []byte) (*FieldTree, error) {
	cells, err := cellHashes(block)
	if err != nil {
		return nil, err
	}
	return NewTree(cells[:])
}

// BlockRoot returns the root over the 32 cells of a block, which must have BlockSize bytes. It is a
// leaf of the slot tree. It allocates nothing.
func BlockRoot(block []byte) (fr.Element, error) {
	cells, err := cellHashes(block)
	if err != nil {
		return fr.Element{}, err
	}
	return fold(cells[:], poseidon2.Compress), nil
}

func cellHashes(block []byte) ([CellsPerBlock]fr.Element, error) {
	var cells [CellsPerBlock]fr.Element
	if len(block) != BlockSize {
		return cells, fmt.Errorf("block of %d bytes, want %d: %w",
			len(block), BlockSize, poseidon2.ErrLength)
	}
	for i := range cells {
		cells[i] = poseidon2.HashBytes(block[i*CellSize : (i+1)*CellSize])
	}
	return cells, nil
}

// ZeroBlockRoot returns the root of a block of zeros, the leaf of every padding
// block.
func ZeroBlockRoot() fr.Element { return zeroBlockRoot }

// zeroBlockRoot is in Montgomery form; a test computes it.
var zeroBlockRoot = fr.Element{
	0x61fe79c86adbb370, 0xd1e8bdeea8c0403d, 0x1ec807ed3a917b5c, 0x06bbb09daa1f15c4,
}

// PaddedBlocks returns the number of leaves of the slot tree over that many real blocks: the next
// power of two. It returns ErrNoLeaves for none and ErrIndex beyond MaxSlotBlocks.
func PaddedBlocks(blocks uint64) (uint64, error) {
	switch {
	case blocks == 0:
		return 0, ErrNoLeaves
	case blocks > MaxSlotBlocks:
		return 0, fmt.Errorf("slot of %d blocks, at most %d: %w",
			blocks, uint64(MaxSlotBlocks), ErrIndex)
	}
	return 1 << bits.Len64(blocks-1), nil
}

// NewSlotTree builds the tree over the roots of a slot's real blocks, padded with blocks of zeros
// to a power of two.
func NewSlotTree(blockRoots []fr.Element) (*FieldTree, error) {
	leaves, err := padded(blockRoots)
	if err != nil {
		return nil, err
	}
	return NewTree(leaves)
}

// SlotRoot is the root of NewSlotTree, without building the tree.
func SlotRoot(blockRoots []fr.Element) (fr.Element, error) {
	leaves, err := padded(blockRoots)
	if err != nil {
		return fr.Element{}, err
	}
	return fold(leaves, poseidon2.Compress), nil
}

// padded copies the block roots and adds the padding.
func padded(blockRoots []fr.Element) ([]fr.Element, error) {
	count, err := PaddedBlocks(uint64(len(blockRoots)))
	if err != nil {
		return nil, err
	}
	leaves := make([]fr.Element, count)
	for i := copy(leaves, blockRoots); i < len(leaves); i++ {
		leaves[i] = zeroBlockRoot
	}
	return leaves, nil
}

// DatasetRoot returns the root over the slot roots in slot order, the "verify root"
// of a manifest and the merkleRoot of a request.
func DatasetRoot(slotRoots []fr.Element) (fr.Element, error) { return Root(slotRoots) }

// ContentRoot is the root of the SHA-256 tree over the digests of a dataset's blocks; it
// names the dataset (treeCid).
func ContentRoot(digests [][32]byte) ([32]byte, error) {
	return RootOf(digests, CompressContent)
}

// CompressContent is a node of a content tree: the SHA-256 of both digests and one byte of key.
func CompressContent(left, right [32]byte, key poseidon2.Key) [32]byte {
	var b [65]byte
	copy(b[:32], left[:])
	copy(b[32:64], right[:])
	b[64] = byte(key)
	return sha256.Sum256(b[:])
}
