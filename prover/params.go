package prover

import (
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// ErrParams says that circuit parameters are outside their limits.
var ErrParams = errors.New("invalid circuit parameters")

// Limits of Params. They bound memory and time of a set-up; making keys for 100 samples needs about
// 3 GB.
const (
	MaxSamples        = 1000
	LimitDepth        = 32 // levels: 2^32 cells of 2 KiB are 8 TiB
	LimitLog2NSlots   = 8  // levels: 256 slots
	elementsPerCell   = poseidon2.ElementsPerCell
	publicInputsCount = 3
)

// Params are the sizes of the circuit. Other sizes mean another circuit with other keys.
type Params struct {
	// MaxDepth is the length of a cell's path, including the block tree: a slot has at most
	// 2^MaxDepth cells. From BlockTreeDepth+1 to 32.
	MaxDepth int `json:"maxDepth"`
	// MaxLog2NSlots is the length of a slot's path: a dataset has at most
	// 2^MaxLog2NSlots slots. From 1 to 8.
	MaxLog2NSlots int `json:"maxLog2NSlots"`
	// BlockTreeDepth is the depth of the tree inside a block, always 5.
	BlockTreeDepth int `json:"blockTreeDepth"`
	// FieldElementsPerCell is always 67, a cell of 2048 bytes.
	FieldElementsPerCell int `json:"fieldElementsPerCell"`
	// Samples is the number of cells per proof, from 1 to 1000.
	Samples int `json:"samples"`
}

// NetworkParams returns the sizes that all deployed networks use.
func NetworkParams() Params {
	return Params{
		MaxDepth:             LimitDepth,
		MaxLog2NSlots:        LimitLog2NSlots,
		BlockTreeDepth:       merkle.BlockTreeDepth,
		FieldElementsPerCell: elementsPerCell,
		Samples:              5,
	}
}

// Validate returns ErrParams when a size is outside its limits.
func (p Params) Validate() error {
	switch {
	case p.BlockTreeDepth != merkle.BlockTreeDepth:
		return fmt.Errorf("block tree depth %d, the stored blocks have %d: %w",
			p.BlockTreeDepth, merkle.BlockTreeDepth, ErrParams)
	case p.FieldElementsPerCell != elementsPerCell:
		return fmt.Errorf("%d field elements per cell, the stored cells have %d: %w",
			p.FieldElementsPerCell, elementsPerCell, ErrParams)
	case p.MaxDepth <= p.BlockTreeDepth || p.MaxDepth > LimitDepth:
		return fmt.Errorf("max depth %d, want %d to %d: %w",
			p.MaxDepth, p.BlockTreeDepth+1, LimitDepth, ErrParams)
	case p.MaxLog2NSlots < 1 || p.MaxLog2NSlots > LimitLog2NSlots:
		return fmt.Errorf("max log2 of slots %d, want 1 to %d: %w",
			p.MaxLog2NSlots, LimitLog2NSlots, ErrParams)
	case p.Samples < 1 || p.Samples > MaxSamples:
		return fmt.Errorf("%d samples, want 1 to %d: %w", p.Samples, MaxSamples, ErrParams)
	}
	return nil
}

// slotLevels is the number of levels of the slot tree in the circuit.
func (p Params) slotLevels() int { return p.MaxDepth - p.BlockTreeDepth }
