package contracts_test

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// A second implementation of what the contract checks, written from its description and not from
// its source: trees, tickets, challenges and proofs.

type bytes32 = [32]byte

// masked clears the two top bits of the last byte.
func masked(n bytes32) bytes32 {
	n[31] &= 0x3f
	return n
}

func parent(left, right bytes32) bytes32 {
	return masked(sha256.Sum256(append(left[:], right[:]...)))
}

func commR(provider common.Address, number uint64, ticket, commD bytes32) bytes32 {
	data := append([]byte("hostnode/commd/1"), provider[:]...)
	data = binary.BigEndian.AppendUint64(data, number)
	data = append(append(data, ticket[:]...), commD[:]...)
	return masked(sha256.Sum256(data))
}

func ticketOf(blockHash bytes32, provider common.Address, number uint64) bytes32 {
	data := append(blockHash[:], provider[:]...)
	data = append(binary.BigEndian.AppendUint64(data, number), "ticket"...)
	return crypto.Keccak256Hash(data)
}

// challenge is what a proof answers.
type challenge struct {
	domain       string
	ticket, seed bytes32
	provider     common.Address
	number       uint64
}

// index is the leaf that the i-th path of a proof begins at, in a tree of that depth.
func (c challenge) index(i uint32, depth int) uint64 {
	data := append([]byte(c.domain), c.ticket[:]...)
	data = append(append(data, c.seed[:]...), c.provider[:]...)
	data = binary.BigEndian.AppendUint64(data, c.number)
	data = binary.BigEndian.AppendUint32(data, i)
	hash := sha256.Sum256(data)
	return binary.BigEndian.Uint64(hash[:8]) % (1 << depth)
}

// tree is a Merkle tree most of whose leaves are equal, so that one with 2^31 leaves fits into
// memory: level 0 holds the leaves that differ.
type tree struct {
	depth  int
	alike  []bytes32 // at each level, the node above equal leaves
	levels []map[uint64]bytes32
}

func newTree(depth int, alike bytes32, leaves map[uint64]bytes32) *tree {
	t := &tree{depth: depth, alike: []bytes32{alike}, levels: []map[uint64]bytes32{leaves}}
	for level := range depth {
		above := map[uint64]bytes32{}
		t.levels = append(t.levels, above)
		t.alike = append(t.alike, parent(t.alike[level], t.alike[level]))
		for i := range t.levels[level] {
			above[i/2] = parent(t.node(level, i&^1), t.node(level, i|1))
		}
	}
	return t
}

// fullTree has leaves that all differ, derived from a name.
func fullTree(depth int, name string) *tree {
	leaves := map[uint64]bytes32{}
	for i := range uint64(1) << depth {
		leaves[i] = masked(sha256.Sum256(binary.BigEndian.AppendUint64([]byte(name), i)))
	}
	return newTree(depth, bytes32{}, leaves)
}

func (t *tree) node(level int, i uint64) bytes32 {
	if n, differs := t.levels[level][i]; differs {
		return n
	}
	return t.alike[level]
}

func (t *tree) root() bytes32 { return t.node(t.depth, 0) }
func (t *tree) size() uint64  { return 32 << t.depth }

// path is a leaf and its siblings from the bottom up.
func (t *tree) path(i uint64) []byte {
	leaf := t.node(0, i)
	path := slices.Clone(leaf[:])
	for level := range t.depth {
		sibling := t.node(level, i^1)
		path = append(path, sibling[:]...)
		i /= 2
	}
	return path
}

func (t *tree) prove(c challenge, leaves uint32) []byte {
	var proof []byte
	for i := range leaves {
		proof = append(proof, t.path(c.index(i, t.depth))...)
	}
	return proof
}

// The commitments of empty sectors are published: each is the parent of two copies of the one
// before.
func TestRootsOfZeroesAreThoseOfFilecoin(t *testing.T) {
	for size, want := range map[uint64]string{ // For 2 KiB and 32 GiB.
		2 << 10:  "fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833",
		32 << 30: "077e5fde35c50a9303a55009e3498a4ebedff39c42b710b730d8ec7ac7afa63e",
	} {
		depth := 0
		for uint64(32)<<depth < size {
			depth++
		}
		root := newTree(depth, bytes32{}, nil).root()
		if got := common.Bytes2Hex(root[:]); got != want {
			t.Fatalf("%d bytes: %s, want %s", size, got, want)
		}
	}
}
