package dataset

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

// Limits of datasets.
const (
	// MaxSlots is the most slots of a dataset: the circuit's slot path has 8 levels.
	MaxSlots = 256
	// BlockSize is the size of a block in bytes.
	BlockSize = merkle.BlockSize
	// MaxDatasetBlocks limits the original blocks: 2^36 blocks are 4 PiB.
	MaxDatasetBlocks = 1 << 36
)

// Errors of Layout and Prepare.
var (
	// ErrParams: the numbers of slots are outside their limits.
	ErrParams = errors.New("invalid erasure code parameters")
	// ErrEmpty: the file is empty.
	ErrEmpty = errors.New("file is empty")
	// ErrTooSmall: the file has fewer blocks than data slots.
	ErrTooSmall = errors.New("file is too small for this number of slots")
	// ErrTooLarge: the slots would be larger than a proof can cover.
	ErrTooLarge = errors.New("file is too large for this number of slots")
)

// Params are the numbers of an erasure code: the data can be restored from any K of the K+M slots.
// In a storage request M is the tolerance and K+M the nodes.
type Params struct {
	K int // data slots, at least 2
	M int // parity slots, from 1 to K
}

// Validate returns ErrParams for numbers outside their limits (spec/proofs.md §11.1).
func (p Params) Validate() error {
	switch {
	case p.K < 2:
		return fmt.Errorf("K is %d, choose at least 2 data slots: %w", p.K, ErrParams)
	case p.M < 1:
		return fmt.Errorf("M is %d, choose at least 1 parity slot: %w", p.M, ErrParams)
	case p.M > p.K:
		return fmt.Errorf("M is %d and K is %d, choose no more parity than data slots: %w",
			p.M, p.K, ErrParams)
	case p.K > MaxSlots || p.K+p.M > MaxSlots:
		return fmt.Errorf("K + M is %d, a dataset has at most %d slots: %w",
			p.K+p.M, MaxSlots, ErrParams)
	}
	return nil
}

// Layout says where each block of a coded dataset lies (spec/proofs.md §11). It is a pure function
// of the original size and Params.
//
// Codeword s consists of the blocks s, s+Steps, s+2*Steps and so on; slot i of the blocks i*Steps
// to (i+1)*Steps-1. So each slot has one block of every codeword.
type Layout struct {
	Params
	// Size is the number of bytes of the original data.
	Size uint64
	// Blocks is the number of original blocks.
	Blocks uint64
	// Steps is the number of codewords, and of real blocks per slot.
	Steps uint64
	// PaddedBlocks is the number of blocks per slot that are hashed: the next
	// power of two above Steps.
	PaddedBlocks uint64
}

// NewLayout computes the layout of size bytes. It returns ErrParams, ErrEmpty, ErrTooSmall and
// ErrTooLarge.
func NewLayout(size uint64, p Params) (Layout, error) {
	if err := p.Validate(); err != nil {
		return Layout{}, err
	}
	if size == 0 {
		return Layout{}, fmt.Errorf("nothing to store: %w", ErrEmpty)
	}
	blocks := (size-1)/BlockSize + 1
	k := uint64(p.K)
	if blocks < k {
		return Layout{}, fmt.Errorf("%d bytes are %d blocks, K = %d needs at least %d bytes "+
			"(K × 65,536); choose fewer slots or a larger file: %w",
			size, blocks, k, k*BlockSize, ErrTooSmall)
	}
	if blocks > MaxDatasetBlocks {
		return Layout{}, fmt.Errorf("%d blocks, at most %d: %w",
			blocks, uint64(MaxDatasetBlocks), ErrTooLarge)
	}
	steps := (blocks-1)/k + 1
	padded, err := merkle.PaddedBlocks(steps)
	if err != nil {
		return Layout{}, fmt.Errorf("%d blocks per slot, choose more slots: %w: %w",
			steps, err, ErrTooLarge)
	}
	return Layout{Params: p, Size: size, Blocks: blocks, Steps: steps, PaddedBlocks: padded}, nil
}

// Slots is the number of slots, K+M.
func (l Layout) Slots() int { return l.K + l.M }

// Rounded is the number of data blocks, including the empty ones that complete the last codewords.
func (l Layout) Rounded() uint64 { return l.Steps * uint64(l.K) }

// Total is the number of blocks of the coded dataset.
func (l Layout) Total() uint64 { return l.Steps * uint64(l.Slots()) }

// SlotSize is what the request calls slotSize: padding included.
func (l Layout) SlotSize() events.Bytes { return events.Bytes(l.PaddedBlocks) * BlockSize }

// CodedSize is the datasetSize of the manifest: padding not included.
func (l Layout) CodedSize() uint64 { return l.Total() * BlockSize }

// Block is the index in the dataset of block step of a slot.
func (l Layout) Block(slot int, step uint64) uint64 { return uint64(slot)*l.Steps + step }

// Empty reports whether a block of the dataset is one of the empty blocks
// between data and parity.
func (l Layout) Empty(block uint64) bool { return block >= l.Blocks && block < l.Rounded() }

// Strategy is a way to divide a range of indices into groups. In manifests it says how a dataset is
// divided into codewords and slots.
type Strategy uint32

// The strategies of the network.
const (
	Linear  Strategy = 0 // neighbours stay together: slots
	Stepped Strategy = 1 // every groups-th: codewords
)

// nextPowerOfTwo is the smallest power of two that is at least n; n is positive.
func nextPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
