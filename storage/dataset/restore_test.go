package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/prover/merkle"
)

// ErrWrongData: the restored data is not what the manifest names.
var ErrWrongData = errors.New("restored data is not what the manifest names")

// Restore writes the original data to out, from any K slots of the dataset. slots has an entry for
// each slot, nil for a missing one; each reads the real blocks of its slot, one after the other.
// Memory is bounded as in Prepare. The result is checked against the original tree of the manifest;
// out must not be used when Restore fails. It returns ErrManifest, ErrTooFewSlots and ErrWrongData.
func Restore(ctx context.Context, m Manifest, slots []io.ReaderAt, out io.WriterAt) error {
	layout, err := m.Layout()
	if err != nil {
		return err
	}
	present := 0
	for _, slot := range slots {
		if slot != nil {
			present++
		}
	}
	if len(slots) != layout.Slots() || present < layout.K {
		return fmt.Errorf("%d slots of %d, %d are needed: %w",
			present, layout.Slots(), layout.K, ErrTooFewSlots)
	}
	digests := make([][32]byte, layout.Blocks)
	width := batchWidth(layout)
	for step := uint64(0); step < layout.Steps; step += width {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("restore dataset: %w", err)
		}
		shards, err := readShards(layout, slots, step, min(width, layout.Steps-step))
		if err != nil {
			return err
		}
		if err := writeOriginal(layout, shards, step, digests, out); err != nil {
			return err
		}
	}
	root, err := merkle.ContentRoot(digests)
	if err != nil || TreeCID(root) != m.Erasure.OriginalTree {
		return fmt.Errorf("tree %s, want %s; a slot is damaged: %w",
			TreeCID(root), m.Erasure.OriginalTree, ErrWrongData)
	}
	return nil
}

// readShards reads K slots and computes the missing data shards.
func readShards(l Layout, slots []io.ReaderAt, step, width uint64) ([][]byte, error) {
	shards := make([][]byte, len(slots))
	read := 0
	for i, slot := range slots {
		if slot == nil || read == l.K {
			continue
		}
		shards[i] = make([]byte, width*BlockSize)
		n, err := slot.ReadAt(shards[i], int64(step*BlockSize))
		if n != len(shards[i]) {
			return nil, fmt.Errorf("read slot %d: %w", i, err)
		}
		read++
	}
	encoder, err := newEncoder(l.Params)
	if err != nil {
		return nil, err
	}
	if err := encoder.ReconstructData(shards); err != nil {
		return nil, fmt.Errorf("reconstruct: %w: %w", err, ErrTooFewSlots)
	}
	return shards, nil
}

func writeOriginal(
	l Layout, shards [][]byte, step uint64, digests [][32]byte, out io.WriterAt,
) error {
	for slot := range l.K {
		for i := range uint64(len(shards[slot])) / BlockSize {
			index := l.Block(slot, step+i)
			if index >= l.Blocks {
				break
			}
			block := shards[slot][i*BlockSize : (i+1)*BlockSize]
			digests[index] = sha256.Sum256(block)
			offset := index * BlockSize
			count := min(BlockSize, l.Size-offset)
			if _, err := out.WriteAt(block[:count], int64(offset)); err != nil {
				return fmt.Errorf("write restored data: %w", err)
			}
		}
	}
	return nil
}
