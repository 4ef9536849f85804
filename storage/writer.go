package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage/dataset"
)

// slotWriter fills one slot. There is at most one per slot; it is not safe for concurrent use, but
// the slot may be deleted or extended at any time.
type slotWriter struct {
	repo          *Repo
	entry         *entry
	blocks, roots file
	missing       []uint64 // blocks that were not stored when it was opened
	occupied      events.Bytes
}

// newBlock is a verified block. One of zeros is not written but left as a hole.
type newBlock struct {
	index uint64
	data  []byte // nil for a block of zeros
	root  fr.Element
}

// acquire waits for the right to fill a slot whose content is known to be wanted, and creates its
// directory if there is none. leave returns the right.
func (r *Repo) acquire(
	ctx context.Context, meta slotMeta, manifest []byte,
) (e *entry, leave func(), err error) {
	for e == nil && err == nil {
		e, err = r.create(ctx, meta, manifest)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := r.adopt(e, meta, manifest); err != nil {
		<-e.filler
		return nil, nil, err
	}
	return e, func() { <-e.filler }, nil
}

// enter waits for the right to fill a slot; nil: it was deleted in the meantime.
func (r *Repo) enter(ctx context.Context, e *entry) (*entry, error) {
	select {
	case e.filler <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another download of the slot: %w", ctx.Err())
	}
	if r.entry(e.id) != e {
		<-e.filler
		return nil, nil //nolint:nilnil // The caller looks again.
	}
	return e, nil
}

// create creates the directory of a slot together with the right to fill it. If there is a
// directory already it enters.
func (r *Repo) create(ctx context.Context, meta slotMeta, manifest []byte) (*entry, error) {
	r.mu.Lock()
	if e := r.slots[meta.Slot]; e != nil {
		r.mu.Unlock()
		return r.enter(ctx, e)
	}
	e := r.newEntry(meta.Slot)
	e.filler <- struct{}{}
	e.files.Lock()
	r.slots[meta.Slot] = e
	r.mu.Unlock()
	defer e.files.Unlock()
	if err := r.createFiles(e, meta, manifest); err != nil {
		r.mu.Lock()
		delete(r.slots, meta.Slot)
		r.mu.Unlock()
		<-e.filler
		return nil, fmt.Errorf("make the slot's directory: %w", err)
	}
	if err := r.measure(e); err != nil {
		<-e.filler
		return nil, err
	}
	return e, nil
}

func (r *Repo) createFiles(e *entry, meta slotMeta, manifest []byte) error {
	need := Overhead(meta.SlotSize)
	if err := r.claim(need); err != nil {
		return err
	}
	defer r.release(need)
	if err := r.here(); err != nil { // The manifest was fetched meanwhile.
		return err
	}
	made := filepath.Join(r.dir, newDir, slotName(e.id))
	if err := errors.Join(r.disk.RemoveAll(made), r.disk.MkdirAll(made)); err != nil {
		return err
	}
	b, err := meta.encode()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{manifestName, manifest}, {blocksFile, nil}, {rootsFile, nil}, {slotMetaName, b}} {
		if err := writeWhole(r.disk, filepath.Join(made, f.name), f.data); err != nil {
			return err
		}
	}
	if err := r.disk.Rename(made, e.dir); err != nil {
		return err
	}
	r.mu.Lock()
	e.meta, e.known = meta, true
	r.mu.Unlock()
	return r.disk.SyncDir(filepath.Join(r.dir, slotsDir))
}

// adopt makes an existing slot fit a download: the same content is continued and kept at least as
// long, and blocks without readable metadata are taken over. Another content under the same id is
// an events.ErrContentMismatch.
func (r *Repo) adopt(e *entry, want slotMeta, manifest []byte) error {
	e.files.Lock()
	defer e.files.Unlock()
	have, err := r.metaOf(e)
	if err == nil && !have.sameSlot(want) {
		return mismatch("content of the slot on disk", want.Manifest, have.Manifest)
	}
	if err == nil && !want.Until.After(have.Until) {
		return nil
	}
	if err != nil {
		if err := writeWhole(r.disk, filepath.Join(e.dir, manifestName), manifest); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
		r.mu.Lock()
		e.meta = want
		r.mu.Unlock()
		if err := r.checkJournal(e); err != nil {
			return err
		}
	}
	want.Complete = have.Complete
	return r.writeMeta(e, want)
}

// openWriter opens the files of a slot; the caller has the right to fill it.
func (r *Repo) openWriter(e *entry) (*slotWriter, error) {
	meta, err := r.metaOf(e)
	if err != nil {
		return nil, err
	}
	w := &slotWriter{repo: r, entry: e}
	if w.blocks, err = r.disk.Edit(filepath.Join(e.dir, blocksFile)); err != nil {
		return nil, fmt.Errorf("open blocks: %w", err)
	}
	if w.roots, err = r.disk.Edit(filepath.Join(e.dir, rootsFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("open roots: %w", err), w.blocks.Close())
	}
	err = readRootEntries(w.roots, 0, meta.Blocks, func(index uint64, m rootEntry) {
		if m.state != rootStored {
			w.missing = append(w.missing, index)
		} else if !m.zeros() {
			w.occupied += events.BlockSize
		}
	})
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *slotWriter) close() error { return errors.Join(w.blocks.Close(), w.roots.Close()) }

// grow is how many bytes the slot's blocks will take once batch is written.
func (w *slotWriter) grow(batch []newBlock) events.Bytes {
	total := w.occupied
	for _, b := range batch {
		if b.data != nil {
			total += events.BlockSize
		}
	}
	return total
}

// write stores a batch: first the bytes, and when they are durable their roots. Errors:
// events.ErrNoSuchSlot when the slot was deleted in the meantime, and events.ErrQuotaExceeded.
func (w *slotWriter) write(batch []newBlock) error {
	w.entry.files.Lock()
	defer w.entry.files.Unlock()
	if _, err := w.repo.metaOf(w.entry); err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	need := w.grow(batch) - w.occupied
	if err := w.repo.claim(need); err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	defer w.repo.release(need)
	slices.SortFunc(batch, func(a, b newBlock) int { return cmp.Compare(a.index, b.index) })
	for _, b := range batch {
		if b.data == nil {
			continue
		}
		if _, err := w.blocks.WriteAt(b.data, int64(blockOffset(b.index))); err != nil {
			return fmt.Errorf("write block %d: %w", b.index, err)
		}
	}
	if err := w.blocks.Sync(); err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	for _, b := range batch {
		m := encodeRootEntry(b.index, b.root)
		if _, err := w.roots.WriteAt(m[:], int64(b.index*rootEntrySize)); err != nil {
			return fmt.Errorf("write root of block %d: %w", b.index, err)
		}
	}
	if err := w.roots.Sync(); err != nil {
		return fmt.Errorf("write roots: %w", err)
	}
	w.occupied += need
	return w.repo.measure(w.entry)
}

// finish builds the slot tree and the names, and marks the slot complete. It returns a
// MismatchError when the slot does not have the root that its manifest names. digests are the
// SHA-256 of the blocks in order; if nil, the blocks are read.
func (w *slotWriter) finish(ctx context.Context, digests [][32]byte) error {
	w.entry.files.Lock()
	defer w.entry.files.Unlock()
	meta, err := w.repo.metaOf(w.entry)
	if err != nil {
		return fmt.Errorf("finish slot: %w", err)
	}
	roots, missing, err := w.repo.readRoots(w.entry, meta.Blocks)
	if err != nil || missing > 0 {
		return fmt.Errorf("finish slot with %d blocks missing: %w",
			missing, cmp.Or(err, ErrIncomplete))
	}
	tree, _ := merkle.NewSlotTree(roots) // A slot has as many blocks as it may (checkManifest).
	if got := events.Root(poseidon2.Encode(tree.Root())); got != meta.SlotRoot {
		return mismatch("slot root", meta.SlotRoot, got)
	}
	if digests == nil {
		if digests, err = w.readDigests(ctx, roots); err != nil {
			return err
		}
	}
	if err := w.writeTrees(encodeTree(tree), encodeNames(digests)); err != nil {
		return err
	}
	meta.Complete = true
	if err := w.repo.writeMeta(w.entry, meta); err != nil {
		return err
	}
	return w.repo.measure(w.entry)
}

func (w *slotWriter) writeTrees(tree, names []byte) error {
	need := events.Bytes(len(tree) + len(names) + 2*diskPage)
	if err := w.repo.claim(need); err != nil {
		return fmt.Errorf("finish slot: %w", err)
	}
	defer w.repo.release(need)
	if err := writeWhole(w.repo.disk, filepath.Join(w.entry.dir, treeFile), tree); err != nil {
		return fmt.Errorf("write slot tree: %w", err)
	}
	if err := writeWhole(w.repo.disk, filepath.Join(w.entry.dir, namesFile), names); err != nil {
		return fmt.Errorf("write names: %w", err)
	}
	return nil
}

// readDigests computes the SHA-256 of all blocks; blocks of zeros need no name.
func (w *slotWriter) readDigests(ctx context.Context, roots []fr.Element) ([][32]byte, error) {
	digests := make([][32]byte, len(roots))
	block := make([]byte, events.BlockSize)
	for i, root := range roots {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("name blocks: %w", err)
		}
		if root == merkle.ZeroBlockRoot() {
			digests[i] = dataset.EmptyBlock().Digest()
			continue
		}
		if err := readBlockAt(w.blocks, uint64(i), block); err != nil {
			return nil, err
		}
		digests[i] = sha256.Sum256(block)
	}
	return digests, nil
}
