package commd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Proves says what a proof of this package shows; it is displayed with every proof.
const Proves = "possession, not replication"

// Domain is the purpose of a challenge, so that no proof serves two purposes.
type Domain string

// The domains of challenges, as they are hashed.
const (
	// Seal is the domain of a sector's commit.
	Seal Domain = "seal"
	// Possession is the domain of a proving period.
	Possession Domain = "possession"
)

// MaxLeaves limits the leaves of a challenge. In the largest sector, a proof of as many has one
// MiB.
const MaxLeaves = 1024

// Challenge selects leaves of a sector. The contract computes the same.
type Challenge struct {
	Domain Domain
	// Ticket is the sector's own, from a block before its precommit.
	Ticket [32]byte
	// Seed is from a block after the precommit, or from the proving period.
	Seed     [32]byte
	Provider [20]byte
	Number   uint64
	// Leaves is the number of leaves, from 1 to MaxLeaves; they may repeat.
	Leaves int
}

func (c Challenge) check(sector uint64) error {
	if err := CheckSectorSize(sector); err != nil {
		return err
	}
	if c.Leaves < 1 || c.Leaves > MaxLeaves {
		return fmt.Errorf("challenge of %d leaves, want 1 to %d: %w", c.Leaves, MaxLeaves, ErrSize)
	}
	return nil
}

// index is the i-th leaf: the first 8 bytes, big-endian, of SHA-256 over domain, ticket, seed,
// provider, number (8 bytes) and i (4 bytes), modulo the number of leaves.
func (c Challenge) index(i int, leaves uint64) uint64 {
	sum := sha256.Sum256(c.appendTo(make([]byte, 0, 128), i))
	return binary.BigEndian.Uint64(sum[:]) % leaves
}

// appendTo appends what is hashed of a challenge, with a number from 0 to MaxLeaves behind it.
func (c Challenge) appendTo(b []byte, n int) []byte {
	b = append(b, c.Domain...)
	b = append(b, c.Ticket[:]...)
	b = append(b, c.Seed[:]...)
	b = append(b, c.Provider[:]...)
	b = binary.BigEndian.AppendUint64(b, c.Number)
	return binary.BigEndian.AppendUint32(b, uint32(n)) //nolint:gosec // At most MaxLeaves.
}

// Indices are the leaves of a sector that a challenge selects, in the order of its proof.
func (c Challenge) Indices(sector uint64) ([]uint64, error) {
	if err := c.check(sector); err != nil {
		return nil, err
	}
	indices := make([]uint64, c.Leaves)
	for i := range indices {
		indices[i] = c.index(i, sector/NodeSize)
	}
	return indices, nil
}

// ProofSize is the number of bytes of a proof with that many leaves: for each, the leaf and its
// siblings from the lowest layer up. The index of a leaf follows from the challenge and is not
// included.
func ProofSize(sector uint64, leaves int) int { return leaves * NodeSize * (Depth(sector) + 1) }

// Prove answers a challenge from the data and its tree on disk. It returns ErrDamaged when they do
// not lead to the tree's root, so every proof that it returns verifies against that root.
func Prove(t *Tree, data io.ReaderAt, c Challenge) ([]byte, error) {
	indices, err := c.Indices(t.sector)
	if err != nil {
		return nil, err
	}
	proof := make([]byte, 0, ProofSize(t.sector, c.Leaves))
	for _, leaf := range indices {
		begin := len(proof)
		if proof, err = t.branch(proof, data, leaf); errors.Is(err, ErrMalformed) {
			return nil, fmt.Errorf("%w: %w", err, ErrDamaged)
		} else if err != nil {
			return nil, err
		}
		if err := verifyBranch(t.root, leaf, proof[begin:]); err != nil {
			return nil, fmt.Errorf("leaf %d, at %d of the sector, or its path: %w", leaf, leaf*NodeSize, ErrDamaged)
		}
	}
	return proof, nil
}

// Verify checks that a proof answers a challenge to a sector with that CommD. It returns ErrProof
// if not, and ErrMalformed for what is no proof of such a sector.
func Verify(commD Node, sector uint64, c Challenge, proof []byte) error {
	indices, err := c.Indices(sector)
	if err != nil {
		return err
	}
	if want := ProofSize(sector, c.Leaves); len(proof) != want {
		return fmt.Errorf("proof of %d bytes, want %d for %d leaves: %w", len(proof), want, c.Leaves, ErrMalformed)
	}
	length := ProofSize(sector, 1)
	for i, leaf := range indices {
		if err := verifyBranch(commD, leaf, proof[i*length:(i+1)*length]); err != nil {
			return fmt.Errorf("leaf %d, the proof's number %d: %w", leaf, i, err)
		}
	}
	return nil
}

func verifyBranch(root Node, leaf uint64, branch []byte) error {
	if badLeaf(branch) >= 0 {
		return fmt.Errorf("a node has its top bits set: %w", ErrProof)
	}
	node := Node(branch)
	for siblings := branch[NodeSize:]; len(siblings) > 0; siblings = siblings[NodeSize:] {
		if leaf&1 == 0 {
			node = Parent(node, Node(siblings))
		} else {
			node = Parent(Node(siblings), node)
		}
		leaf >>= 1
	}
	if node != root {
		return fmt.Errorf("the path leads to another root: %w", ErrProof)
	}
	return nil
}

// CommR stands in for the CommR of a sealed sector: it is a commitment to the stored form, the data
// in FR32 and its tree, under the name of one sector. There is no replica: it is computed from
// CommD alone, and shows nothing that CommD does not. It is SHA-256 over "hostnode/commd/1",
// provider, number (8 bytes, big-endian), ticket and CommD, with the two top bits of the last byte
// cleared.
func CommR(provider [20]byte, number uint64, ticket [32]byte, commD Node) Node {
	return named("hostnode/commd/1", provider, number, ticket, commD)
}

// named is a name of data, in one form of storage.
func named(form string, provider [20]byte, number uint64, ticket [32]byte, commD Node) Node {
	b := append(make([]byte, 0, 128), form...)
	b = append(b, provider[:]...)
	b = binary.BigEndian.AppendUint64(b, number)
	b = append(b, ticket[:]...)
	b = append(b, commD[:]...)
	n := Node(sha256.Sum256(b))
	n[NodeSize-1] &= topMask
	return n
}

// simulated is in all that is only simulated.
const simulated = "simulated"

// SimulatedCommR is the CommR of a simulated sector: that of CommR, with "simulated" instead of its first word.
func SimulatedCommR(provider [20]byte, number uint64, ticket [32]byte, commD Node) Node {
	return named(simulated, provider, number, ticket, commD)
}

// Simulated is the only simulated proof that answers a challenge. It shows nothing: SHA-256 over "simulated", domain,
// ticket, seed, provider, number (8 bytes, big-endian), leaves (4) and CommR, and "simulated" once more.
func Simulated(c Challenge, commR Node) []byte {
	b := c.appendTo(append(make([]byte, 0, 256), simulated...), c.Leaves)
	sum := sha256.Sum256(append(b, commR[:]...))
	return append(sum[:], simulated...)
}
