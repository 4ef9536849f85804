package prover

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/frontend"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// SlotReader reads what is stored of a slot. A call of Prove uses it from one goroutine.
type SlotReader interface {
	// ReadBlock fills block, which has 65,536 bytes, with the bytes of a real block
	// of the slot. It is not called for padding blocks.
	ReadBlock(ctx context.Context, index uint64, block []byte) error
	// BlockPath returns the stored root of a block and its path in the slot tree, as
	// merkle.FieldTree.Path gives it. It is called for padding blocks too.
	BlockPath(ctx context.Context, index uint64) (root fr.Element, path []fr.Element, err error)
}

// Input is everything that a proof is made from.
type Input struct {
	// Challenge is the contract's answer to getChallenge for the slot.
	Challenge events.Challenge
	// DataSetRoot is the merkleRoot of the request.
	DataSetRoot fr.Element
	// SlotIndex is the slot's number in the dataset, from 0.
	SlotIndex uint64
	// SlotRoot is the root of the slot tree.
	SlotRoot fr.Element
	// NSlots is the number of slots of the dataset.
	NSlots uint64
	// SlotProof is the path of the slot in the tree over all slot roots.
	SlotProof []fr.Element
	// Blocks is the number of real blocks of the slot, without padding.
	Blocks uint64
	// Slot reads the stored data.
	Slot SlotReader
}

// Public are the public inputs of a proof; the contract computes them itself.
type Public struct {
	Entropy     fr.Element
	DataSetRoot fr.Element
	SlotIndex   uint64
}

// Public returns the public inputs of in.
func (in Input) Public() Public {
	return Public{
		Entropy:     Entropy(in.Challenge),
		DataSetRoot: in.DataSetRoot,
		SlotIndex:   in.SlotIndex,
	}
}

// paddedBlocks is the number of leaves of the slot tree; check has refused an input that has none.
func (in Input) paddedBlocks() uint64 {
	blocks, _ := merkle.PaddedBlocks(in.Blocks)
	return blocks
}

// check returns ErrInput for anything that no proof can be made from.
func (in Input) check(p Params) error {
	if in.Slot == nil {
		return fmt.Errorf("no slot reader: %w", ErrInput)
	}
	blocks, err := merkle.PaddedBlocks(in.Blocks)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	if limit := uint64(1) << p.slotLevels(); blocks > limit {
		return fmt.Errorf("slot of %d blocks, the circuit takes %d: %w", blocks, limit, ErrInput)
	}
	if limit := uint64(1) << p.MaxLog2NSlots; in.NSlots > limit {
		return fmt.Errorf("dataset of %d slots, the circuit takes %d: %w",
			in.NSlots, limit, ErrInput)
	}
	if !merkle.Verify(in.DataSetRoot, in.SlotRoot, in.SlotIndex, in.NSlots, in.SlotProof) {
		return fmt.Errorf("slot %d of %d does not lead to the dataset root: %w",
			in.SlotIndex, in.NSlots, ErrInput)
	}
	return nil
}

// sample is one sampled cell with its whole path, beginning with the part in the block tree.
type sample struct {
	cell []fr.Element
	path []fr.Element
}

// gather reads the sampled blocks and checks each against the stored tree, so that a damaged disk
// is found before computing a proof.
func gather(ctx context.Context, p Params, in Input) ([]sample, error) {
	cells := in.paddedBlocks() * merkle.CellsPerBlock
	indices, err := SampleCells(Entropy(in.Challenge), in.SlotRoot, cells, p.Samples)
	if err != nil {
		return nil, err
	}
	buffer := make([]byte, merkle.BlockSize)
	samples := make([]sample, 0, len(indices))
	for _, index := range indices {
		s, err := gatherOne(ctx, in, index, buffer)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

func gatherOne(ctx context.Context, in Input, cell uint64, block []byte) (sample, error) {
	if err := ctx.Err(); err != nil {
		return sample{}, fmt.Errorf("read sampled cells: %w", err)
	}
	index := cell / merkle.CellsPerBlock
	if index < in.Blocks {
		if err := in.Slot.ReadBlock(ctx, index, block); err != nil {
			return sample{}, fmt.Errorf("read block %d: %w", index, err)
		}
	} else {
		clear(block)
	}
	stored, slotPath, err := in.Slot.BlockPath(ctx, index)
	if err != nil {
		return sample{}, fmt.Errorf("read path of block %d: %w", index, err)
	}
	if !merkle.Verify(in.SlotRoot, stored, index, in.paddedBlocks(), slotPath) {
		return sample{}, &DamagedBlockError{Block: index, Tree: true}
	}
	tree, _ := merkle.NewBlockTree(block) // gather made it of the one length that there is.
	if root := tree.Root(); root != stored {
		return sample{}, &DamagedBlockError{Block: index, Stored: stored, Computed: root}
	}
	inBlock := cell % merkle.CellsPerBlock
	path, _ := tree.Path(int(inBlock)) // Every cell of a block has one.
	data := block[inBlock*merkle.CellSize : (inBlock+1)*merkle.CellSize]
	return sample{
		cell: poseidon2.Pack(make([]fr.Element, 0, elementsPerCell), data),
		path: append(path, slotPath...),
	}, nil
}

// assign fills a circuit with the values of a proof. Paths are padded with zeros.
func assign(p Params, in Input, samples []sample) *circuit {
	c := newCircuit(p)
	c.Entropy = Entropy(in.Challenge)
	c.DataSetRoot = in.DataSetRoot
	c.SlotIndex = in.SlotIndex
	c.SlotRoot = in.SlotRoot
	c.NCellsPerSlot = in.paddedBlocks() * merkle.CellsPerBlock
	c.NSlotsPerDataSet = in.NSlots
	fill(c.SlotProof, in.SlotProof)
	for i, s := range samples {
		fill(c.CellData[i], s.cell)
		fill(c.MerklePaths[i], s.path)
	}
	return c
}

// fill copies values and sets the remaining variables to zero.
func fill(variables []frontend.Variable, values []fr.Element) {
	for i := range variables {
		if i < len(values) {
			variables[i] = values[i]
		} else {
			variables[i] = 0
		}
	}
}
