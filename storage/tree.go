package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// The file tree holds the layers of the slot tree from groupDepth up to the root, one after the
// other, 32 bytes per node. The layers below are computed from the 16 block roots of a group: 15
// compressions cost nothing compared with a proof.
const (
	groupDepth = 4
	groupSize  = 1 << groupDepth
	nodeSize   = poseidon2.ElementSize
)

// paddedBlocks is the number of leaves of the slot tree; blocks is within its limits.
func paddedBlocks(blocks uint64) uint64 {
	padded, _ := merkle.PaddedBlocks(blocks)
	return padded
}

// treeSize is the length of the file tree in bytes, 0 for slots of fewer than 16
// blocks: padded/16 nodes, half as many above them, and so on to one.
func treeSize(padded uint64) int64 {
	if padded < groupSize {
		return 0
	}
	return int64((2*(padded>>groupDepth) - 1) * nodeSize)
}

// nodeOffset is the offset in the file of a node of a level (from groupDepth on).
func nodeOffset(padded uint64, level int, index uint64) int64 {
	before := 2*(padded>>groupDepth) - 2*(padded>>level) // In the layers below it.
	return int64((before + index) * nodeSize)
}

// encodeTree returns the file tree.
func encodeTree(tree *merkle.FieldTree) []byte {
	var b []byte
	if tree.Leaves() < groupSize {
		return b
	}
	for _, layer := range tree.Layers()[groupDepth:] {
		for _, node := range layer {
			encoded := poseidon2.Encode(node)
			b = append(b, encoded[:]...)
		}
	}
	return b
}

// readRoots reads all block roots of a slot. A damaged entry is computed again from its block;
// missing are those that were never written.
func (r *Repo) readRoots(e *entry, blocks uint64) (roots []fr.Element, missing uint64, err error) {
	f, err := r.disk.Open(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return nil, 0, fmt.Errorf("read roots: %w", err)
	}
	roots = make([]fr.Element, blocks)
	var torn []uint64
	err = readRootEntries(f, 0, blocks, func(index uint64, m rootEntry) {
		roots[index] = m.root
		switch m.state {
		case rootAbsent:
			missing++
			torn = append(torn, index)
		case rootTorn:
			torn = append(torn, index)
		case rootStored:
		}
	})
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, 0, err
	}
	buffer := make([]byte, events.BlockSize)
	for _, index := range torn {
		if err := r.readBlock(e, index, buffer); err != nil {
			return nil, 0, err
		}
		if roots[index], err = merkle.BlockRoot(buffer); err != nil {
			return nil, 0, err
		}
	}
	return roots, missing, nil
}

// rebuild rebuilds the files roots and tree of a complete slot. It returns an events.DamageError
// when what is left does not lead to the slot root. It returns the tree even if it could not be
// written. e.files is held, or nobody else has the repo yet.
func (r *Repo) rebuild(e *entry) (*merkle.FieldTree, error) {
	roots, _, err := r.readRoots(e, e.meta.Blocks)
	if err != nil {
		return nil, lost(err)
	}
	tree, _ := merkle.NewSlotTree(roots) // A slot has as many blocks as it may (decodeSlotMeta).
	if got := events.Root(poseidon2.Encode(tree.Root())); got != e.meta.SlotRoot {
		return nil, &events.DamageError{
			Whole: true, Reason: fmt.Sprintf("blocks lead to root %s, want %s", got, e.meta.SlotRoot),
		}
	}
	return tree, r.writeRebuilt(e, roots, tree)
}

func (r *Repo) writeRebuilt(e *entry, roots []fr.Element, tree *merkle.FieldTree) error {
	entries := make([]byte, 0, len(roots)*rootEntrySize)
	for i, root := range roots {
		m := encodeRootEntry(uint64(i), root)
		entries = append(entries, m[:]...)
	}
	if err := writeWhole(r.disk, filepath.Join(e.dir, rootsFile), entries); err != nil {
		return fmt.Errorf("write roots: %w", err)
	}
	if err := writeWhole(r.disk, filepath.Join(e.dir, treeFile), encodeTree(tree)); err != nil {
		return fmt.Errorf("write slot tree: %w", err)
	}
	return nil
}

// readBlock reads the bytes of a block; beyond the end of the file they are zero.
func (r *Repo) readBlock(e *entry, index uint64, block []byte) error {
	f, err := r.disk.Open(filepath.Join(e.dir, blocksFile))
	if err != nil {
		err = lost(fmt.Errorf("read block %d: %w", index, err))
		if found, ok := errors.AsType[*events.DamageError](err); ok { // The block that is wanted comes first.
			found.Blocks = []uint64{index}
		}
		return err
	}
	return errors.Join(readBlockAt(f, index, block), f.Close())
}

// lost turns an error that says that a file is gone or unreadable into damage. Others, such as too
// many open files, may pass.
func lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) {
		return &events.DamageError{Whole: true, Reason: err.Error()}
	}
	return err
}

func readBlockAt(f io.ReaderAt, index uint64, block []byte) error {
	n, err := f.ReadAt(block, int64(blockOffset(index)))
	if errors.Is(err, syscall.EIO) {
		return &events.DamageError{Blocks: []uint64{index}, Reason: fmt.Sprintf("read block %d: %v", index, err)}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read block %d: %w", index, err)
	}
	clear(block[n:])
	return nil
}
