package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage/dataset"
)

// SlotReader reads what a proof of a complete slot is made from. It keeps no file
// open and is safe for concurrent use; after the slot was deleted its methods
// answer events.ErrNoSuchSlot.
type SlotReader struct {
	repo   *Repo
	entry  *entry
	meta   slotMeta
	root   fr.Element
	verify fr.Element
	path   []fr.Element
}

// Reader returns the reader of a slot. It returns events.ErrNoSuchSlot,
// ErrIncomplete, and an events.DamageError when the manifest is damaged or gone.
func (r *Repo) Reader(slot events.SlotID) (_ *SlotReader, err error) {
	if err := r.here(); err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	defer func() { err = r.place.Unless(err) }()
	e := r.entry(slot)
	meta, err := r.metaOf(e)
	if err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	if !meta.Complete {
		return nil, fmt.Errorf("read slot %s: %w", slot, ErrIncomplete)
	}
	m, _, err := r.readManifest(e, meta.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	tree, err := m.SlotTree()
	if err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	s := &SlotReader{repo: r, entry: e, meta: meta, verify: tree.Root()}
	if s.root, err = tree.Leaf(int(meta.Index)); err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	if s.path, err = tree.Path(int(meta.Index)); err != nil {
		return nil, fmt.Errorf("read slot %s: %w", slot, err)
	}
	return s, nil
}

// readManifest reads a stored manifest and checks it against its name.
func (r *Repo) readManifest(e *entry, name dataset.CID) (dataset.Manifest, []byte, error) {
	b, err := readWhole(r.disk, filepath.Join(e.dir, manifestName), dataset.MaxManifestSize)
	if err != nil {
		return dataset.Manifest{}, nil, lost(fmt.Errorf("read manifest: %w", err))
	}
	if !name.Verify(b) {
		return dataset.Manifest{}, nil, &events.DamageError{
			Whole: true, Reason: fmt.Sprintf("manifest is not %s", name),
		}
	}
	m, err := dataset.DecodeManifest(b)
	return m, b, err
}

// Index is the place of the slot in the dataset, from 0.
func (s *SlotReader) Index() uint64 { return s.meta.Index }

// Slots is the number of slots of the dataset.
func (s *SlotReader) Slots() uint64 { return s.meta.Slots }

// Blocks is the number of real blocks, without padding.
func (s *SlotReader) Blocks() uint64 { return s.meta.Blocks }

// SlotRoot is the root of the slot tree.
func (s *SlotReader) SlotRoot() fr.Element { return s.root }

// DataSetRoot is the root over all slot roots: merkleRoot of the request.
func (s *SlotReader) DataSetRoot() fr.Element { return s.verify }

// SlotProof is the path of the slot in the tree over all slot roots. The caller
// must not change it.
func (s *SlotReader) SlotProof() []fr.Element { return s.path }

// ReadBlock fills block, which has 65,536 bytes, with a block of the slot; padding blocks are
// zeros. It does not check the bytes: the prover hashes them anyway and compares the result with
// the root from BlockPath.
func (s *SlotReader) ReadBlock(_ context.Context, index uint64, block []byte) error {
	if len(block) != int(events.BlockSize) || index >= paddedBlocks(s.meta.Blocks) {
		return fmt.Errorf("read block %d into %d bytes: %w", index, len(block), merkle.ErrIndex)
	}
	if err := s.alive(); err != nil {
		return err
	}
	if index >= s.meta.Blocks {
		clear(block)
		return nil
	}
	return s.repo.place.Unless(s.repo.readBlock(s.entry, index, block))
}

// BlockPath returns the stored root of a block and its path in the slot tree, for padding blocks
// too. A damaged tree is rebuilt from the block roots, and damaged roots from their blocks, even if
// the disk has no room to store them; if that does not help it returns an events.DamageError.
func (s *SlotReader) BlockPath(
	_ context.Context, index uint64,
) (root fr.Element, path []fr.Element, err error) {
	padded := paddedBlocks(s.meta.Blocks)
	if index >= padded {
		return root, nil, fmt.Errorf("path of block %d of %d: %w", index, padded, merkle.ErrIndex)
	}
	if err := s.alive(); err != nil {
		return root, nil, err
	}
	defer func() { err = s.repo.place.Unless(err) }()
	root, path, err = s.storedPath(index, padded)
	if err == nil && merkle.Verify(s.root, root, index, padded, path) {
		return root, path, nil
	}
	s.entry.files.Lock()
	defer s.entry.files.Unlock()
	if err := s.alive(); err != nil {
		return root, nil, err
	}
	tree, err := s.repo.rebuild(s.entry)
	if tree == nil {
		return root, nil, fmt.Errorf("path of block %d: %w", index, err)
	}
	root, _ = tree.Leaf(int(index)) // All padded blocks are in the tree.
	path, _ = tree.Path(int(index))
	return root, path, nil
}

func (s *SlotReader) alive() error {
	_, err := s.repo.metaOf(s.entry)
	return err
}

// storedPath computes a path from the block roots of the block's group and the stored layers above.
func (s *SlotReader) storedPath(
	index, padded uint64,
) (root fr.Element, path []fr.Element, err error) {
	first := index / groupSize * groupSize
	group, err := s.groupRoots(first, min(groupSize, padded))
	if err != nil {
		return root, nil, err
	}
	tree, _ := merkle.NewTree(group) // There is no empty group.
	root = group[index-first]
	path, _ = tree.Path(int(index - first))
	if padded <= groupSize {
		return root, path, nil
	}
	f, err := s.repo.disk.Open(filepath.Join(s.entry.dir, treeFile))
	if err != nil {
		return root, nil, fmt.Errorf("read slot tree: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for level := groupDepth; padded>>level > 1; level++ {
		var b [nodeSize]byte
		if _, err := f.ReadAt(b[:], nodeOffset(padded, level, index>>level^1)); err != nil {
			return root, nil, fmt.Errorf("read slot tree: %w", err)
		}
		node, err := poseidon2.Decode(b[:])
		if err != nil {
			return root, nil, fmt.Errorf("read slot tree: %w", err)
		}
		path = append(path, node)
	}
	return root, path, nil
}

func (s *SlotReader) groupRoots(first, count uint64) (_ []fr.Element, err error) {
	group := make([]fr.Element, count)
	for i := range group {
		group[i] = merkle.ZeroBlockRoot()
	}
	f, err := s.repo.disk.Open(filepath.Join(s.entry.dir, rootsFile))
	if err != nil {
		return nil, fmt.Errorf("read roots: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	last := min(first+count, s.meta.Blocks)
	if first >= last {
		return group, nil
	}
	return group, readRootEntries(f, first, last, func(index uint64, m rootEntry) {
		group[index-first] = m.root // If it is damaged, the path shows it.
	})
}
