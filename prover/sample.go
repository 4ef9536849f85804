package prover

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// Entropy returns the field element that a challenge stands for: its first 31 bytes as a
// little-endian number. Without the last byte, every challenge has one.
func Entropy(challenge events.Challenge) fr.Element {
	challenge[fr.Bytes-1] = 0
	// The field has all numbers below 2^248.
	entropy, _ := fr.LittleEndian.Element((*[fr.Bytes]byte)(&challenge))
	return entropy
}

// SampleCells returns the indices of the cells that a challenge selects, in the order of the
// samples, which count from 1. Indices may repeat. The number of cells must be a power of two from
// 32 to 2^32; otherwise it returns ErrInput.
func SampleCells(entropy, slotRoot fr.Element, cells uint64, samples int) ([]uint64, error) {
	if cells < merkle.CellsPerBlock || cells > 1<<LimitDepth || bits.OnesCount64(cells) != 1 {
		return nil, fmt.Errorf("slot of %d cells, want a power of two from %d to 2^%d: %w",
			cells, merkle.CellsPerBlock, LimitDepth, ErrInput)
	}
	if samples < 1 || samples > MaxSamples {
		return nil, fmt.Errorf("%d samples, want 1 to %d: %w", samples, MaxSamples, ErrInput)
	}
	indices := make([]uint64, samples)
	for i := range indices {
		counter := fr.NewElement(uint64(i + 1))
		digest := poseidon2.HashElements(entropy, slotRoot, counter)
		indices[i] = digest.Bits()[0] & (cells - 1)
	}
	return indices, nil
}
