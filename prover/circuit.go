package prover

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
)

// circuit is the statement "I hold this slot": the sampled cells are in a slot whose root is number
// SlotIndex in the dataset. It is static: it always computes all levels of all trees and compares
// at the level where the tree ends, so that entries of the paths beyond the real depth do not
// matter.
//
// It checks two things that the published description leaves open and that honest data always
// fulfils: SlotIndex is below NSlotsPerDataSet, and a slot has at least the cells of one block
// (otherwise the prover of a one-block slot could choose to be asked for its first two cells only).
type circuit struct {
	Entropy     frontend.Variable `gnark:"entropy,public"`
	DataSetRoot frontend.Variable `gnark:"dataSetRoot,public"`
	SlotIndex   frontend.Variable `gnark:"slotIndex,public"`

	SlotRoot         frontend.Variable     `gnark:"slotRoot"`
	NCellsPerSlot    frontend.Variable     `gnark:"nCellsPerSlot"`
	NSlotsPerDataSet frontend.Variable     `gnark:"nSlotsPerDataSet"`
	SlotProof        []frontend.Variable   `gnark:"slotProof"`
	CellData         [][]frontend.Variable `gnark:"cellData"`
	MerklePaths      [][]frontend.Variable `gnark:"merklePaths"`

	params Params
}

// newCircuit returns a circuit of the given sizes without values.
func newCircuit(p Params) *circuit {
	c := &circuit{params: p, SlotProof: make([]frontend.Variable, p.MaxLog2NSlots)}
	for range p.Samples {
		c.CellData = append(c.CellData, make([]frontend.Variable, p.FieldElementsPerCell))
		c.MerklePaths = append(c.MerklePaths, make([]frontend.Variable, p.MaxDepth))
	}
	return c
}

// compile makes the constraint system. It refuses one with commitments: the verifier on chain
// checks the plain equation with exactly three inputs.
func compile(p Params) (constraint.ConstraintSystem, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	silence()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, newCircuit(p))
	if err != nil {
		return nil, fmt.Errorf("compile circuit: %w", err)
	}
	if err := refuseCommitments(ccs); err != nil {
		return nil, fmt.Errorf("compile circuit: %w", err)
	}
	return ccs, nil
}

func refuseCommitments(ccs constraint.ConstraintSystem) error {
	if n := len(ccs.GetCommitments().CommitmentIndexes()); n != 0 {
		return fmt.Errorf("circuit has %d commitments: %w", n, ErrCommitments)
	}
	if n := ccs.GetNbPublicVariables() - 1; n != publicInputsCount { // One of them is the constant.
		return fmt.Errorf("circuit has %d public inputs, want %d: %w",
			n, publicInputsCount, ErrCommitments)
	}
	return nil
}

// Define writes the constraints; the compiler calls it.
func (c *circuit) Define(api frontend.API) error {
	h := newHasher(api)
	c.defineDataset(h)
	size := c.defineSlotSize(h)

	// Absorbing entropy and slot root is the same for all samples.
	seed := h.absorb(h.newSponge(), c.Entropy, c.SlotRoot)
	for i := range c.CellData {
		digest := h.absorb(seed, i+1, 1)[0]
		// ToBinary also checks that the bits are below the order of the field, so that one hash
		// gives only one index.
		bits := api.ToBinary(digest)
		c.defineSample(h, size, bits, c.CellData[i], c.MerklePaths[i])
	}
	return nil
}

// defineDataset states that SlotRoot is leaf SlotIndex of the dataset tree.
func (c *circuit) defineDataset(h *hasher) {
	api, levels := h.api, c.params.MaxLog2NSlots
	index := api.ToBinary(c.SlotIndex, levels)
	last := api.ToBinary(api.Sub(c.NSlotsPerDataSet, 1), levels)

	// From the top: equal[i] says that index and last agree in the bits from i on, so that at level
	// i the node is the last one; ended[i] says that last has no bits from i on, so that the tree
	// has at most i levels.
	equal := make([]frontend.Variable, levels+1)
	ended := make([]frontend.Variable, levels+1)
	equal[levels], ended[levels] = 1, 1
	for i := levels - 1; i >= 0; i-- {
		both := api.Mul(index[i], last[i])
		// Where all higher bits are equal, index must not have a bit that last lacks.
		api.AssertIsEqual(api.Mul(equal[i+1], api.Sub(index[i], both)), 0)
		differ := api.Sub(api.Add(index[i], last[i]), api.Mul(both, 2))
		equal[i] = api.Mul(equal[i+1], api.Sub(1, differ))
		ended[i] = api.Mul(ended[i+1], api.Sub(1, last[i]))
	}
	ended[0] = 0 // A tree has at least one level, even over a single leaf.

	node := c.SlotRoot
	for i := range levels {
		key := api.Mul(equal[i], api.Sub(1, index[i]), 2) // An only child: the last one, on the left.
		if i == 0 {
			key = api.Add(key, 1)
		}
		left, right := h.ordered(node, c.SlotProof[i], index[i])
		node = h.compress(left, right, key)
		here := api.Sub(ended[i+1], ended[i])
		api.AssertIsEqual(api.Mul(api.Sub(node, c.DataSetRoot), here), 0)
	}
}

// slotSize is the size of a slot in two forms, both linear in the same bits.
type slotSize struct {
	// depth[d] is one when the slot has 2^d blocks, for d up to the slot levels.
	depth []frontend.Variable
	// deeper[i] is one when the slot tree has a node pair at level i: depth > i.
	deeper []frontend.Variable
}

// defineSlotSize states that NCellsPerSlot is a power of two, at least a block's
// cells and at most 2^MaxDepth.
func (c *circuit) defineSlotSize(h *hasher) slotSize {
	api, levels := h.api, c.params.slotLevels()
	perBlock := new(big.Int).Lsh(big.NewInt(1), uint(c.params.BlockTreeDepth))
	inverse := perBlock.ModInverse(perBlock, api.Compiler().Field())
	size := slotSize{deeper: make([]frontend.Variable, levels)}
	size.depth = api.ToBinary(api.Mul(c.NCellsPerSlot, inverse), levels+1)
	sum := frontend.Variable(0)
	for d := levels; d > 0; d-- {
		sum = api.Add(sum, size.depth[d])
		size.deeper[d-1] = sum
	}
	api.AssertIsEqual(api.Add(sum, size.depth[0]), 1)
	return size
}

// defineSample states that the cell with the index in bits is in the slot. The block tree is full,
// so its keys are constants; so is the slot tree, unless it is a single block.
func (c *circuit) defineSample(
	h *hasher, size slotSize, bits, cell, path []frontend.Variable,
) {
	api := h.api
	node := h.hashCell(cell)
	for i := range c.params.BlockTreeDepth {
		left, right := h.ordered(node, path[i], bits[i])
		node = h.compress(left, right, bottomKey(i))
	}
	bits, path = bits[c.params.BlockTreeDepth:], path[c.params.BlockTreeDepth:]
	for i := range c.params.slotLevels() {
		var key frontend.Variable = bottomKey(i)
		here := size.depth[i+1] // The tree ends above this level.
		if i == 0 {
			key = api.Add(key, api.Mul(size.depth[0], 2))
			here = api.Add(here, size.depth[0])
		}
		left, right := h.ordered(node, path[i], api.Mul(size.deeper[i], bits[i]))
		node = h.compress(left, right, key)
		api.AssertIsEqual(api.Mul(api.Sub(node, c.SlotRoot), here), 0)
	}
}

// bottomKey is the key of a node with two children at level i of a tree.
func bottomKey(i int) int {
	if i == 0 {
		return 1
	}
	return 0
}
