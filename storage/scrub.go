package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

// This file scrubs what is stored: piece by piece, it looks for blocks whose bytes have changed.
// Its position is kept in the file SCRUB, so that it resumes after a restart; if the file is lost,
// the pass starts over.

const (
	scrubName = "SCRUB"
	// scrubBatch is the number of blocks that are hashed together: 1 MiB.
	scrubBatch = 16
	// scrubSave is the number of blocks in a slot after which the position is saved. A crash
	// repeats at most as many, 64 MiB.
	scrubSave = 1024
)

// scrubs is the current pass over all slots, or the last one.
type scrubs struct {
	mu       sync.Mutex
	progress events.ScrubProgress
}

// scrubFile is the progress as it is stored.
type scrubFile struct {
	Began     time.Time `json:"began,omitzero"`
	Slot      string    `json:"slot,omitempty"`
	Block     uint64    `json:"block,omitempty"`
	LastBegan time.Time `json:"lastBegan,omitzero"`
	LastEnded time.Time `json:"lastEnded,omitzero"`
}

// maxScrubFile limits SCRUB in bytes; it has about 300.
const maxScrubFile = 4 << 10

// loadScrub reads the position of the last pass.
func (r *Repo) loadScrub() error {
	b, err := readWhole(r.disk, filepath.Join(r.dir, scrubName), maxScrubFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var f scrubFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	p := events.ScrubProgress{Began: f.Began, Block: f.Block, LastBegan: f.LastBegan, LastEnded: f.LastEnded}
	if err == nil && f.Slot != "" {
		p.Slot, err = events.ParseSlotID(f.Slot)
	}
	if err != nil {
		r.find(events.SlotID{}, "%s cannot be read: %v; the scrub starts over",
			scrubName, err)
		return nil
	}
	r.scrubs.mu.Lock()
	defer r.scrubs.mu.Unlock()
	r.scrubs.progress = p
	return nil
}

// saveScrub saves the position; the lock of scrubs is held.
func (r *Repo) saveScrub() error {
	p := r.scrubs.progress
	f := scrubFile{Began: p.Began.UTC(), Block: p.Block, LastBegan: p.LastBegan.UTC(), LastEnded: p.LastEnded.UTC()}
	if p.Slot != (events.SlotID{}) {
		f.Slot = p.Slot.String()
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = writeWhole(r.disk, filepath.Join(r.dir, scrubName), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("save the position of the scrub in %s: %w", scrubName, FullDisk(err))
	}
	return nil
}

// ScrubProgress is the progress of the current pass, or of the last one.
func (r *Repo) ScrubProgress() events.ScrubProgress {
	r.scrubs.mu.Lock()
	defer r.scrubs.mu.Unlock()
	return r.scrubs.progress
}

// Scrub continues the pass over all complete slots where the last call stopped, even if that was
// before a restart, by at most so many bytes of one slot. It hashes every block again, which takes
// some 7 ms of one processor for each, and changes nothing. now is the machine's time.
func (r *Repo) Scrub(ctx context.Context, now time.Time, most events.Bytes) (events.Scrubbed, error) {
	if err := r.here(); err != nil {
		return events.Scrubbed{}, fmt.Errorf("scrub: %w", err)
	}
	r.scrubs.mu.Lock()
	defer r.scrubs.mu.Unlock()
	p := &r.scrubs.progress
	if p.Began.IsZero() {
		p.Began, p.Slot, p.Block = now, events.SlotID{}, 0
	}
	e, meta := r.scrubNext(*p)
	if e == nil {
		p.LastBegan, p.LastEnded = p.Began, now
		p.Began, p.Slot, p.Block = time.Time{}, events.SlotID{}, 0
		return events.Scrubbed{Ended: true, Progress: *p}, r.saveScrub()
	}
	if p.Slot != e.id {
		p.Slot, p.Block = e.id, 0
	}
	last, found, err := r.scrubPiece(ctx, e, meta, p.Block, most)
	if err != nil && !errors.Is(err, events.ErrNoSuchSlot) { // It is gone by now: on to the next one.
		return events.Scrubbed{Progress: *p}, fmt.Errorf("scrub slot %s: %w", e.id, err)
	}
	piece := events.Scrubbed{Slot: e.id, Bytes: events.Bytes(last-p.Block) * events.BlockSize, Damage: found}
	save := last == meta.Blocks || last/scrubSave != p.Block/scrubSave
	p.Block = last
	piece.Progress = *p
	if save {
		return piece, r.saveScrub()
	}
	return piece, nil
}

// Check checks blocks of one complete slot as Scrub does, from a block on. events.ErrNoSuchSlot.
func (r *Repo) Check(
	ctx context.Context, slot events.SlotID, from uint64, most events.Bytes,
) (checked events.Checked, err error) {
	err = r.here()
	e := r.entry(slot)
	var meta slotMeta
	if err == nil {
		meta, err = r.metaOf(e)
	}
	if err == nil && !meta.Complete {
		err = ErrIncomplete
	}
	if err == nil {
		checked.Blocks = meta.Blocks
		checked.Next, checked.Damage, err = r.scrubPiece(ctx, e, meta, min(from, meta.Blocks), most)
	}
	if err != nil {
		return events.Checked{}, fmt.Errorf("check slot %s: %w", slot, err)
	}
	return checked, nil
}

// scrubPiece hashes up to most bytes of a slot, and returns where it stopped and what is damaged; nil: nothing.
func (r *Repo) scrubPiece(
	ctx context.Context, e *entry, meta slotMeta, first uint64, most events.Bytes,
) (last uint64, found *events.DamageError, err error) {
	last = min(first+max(1, uint64(most/events.BlockSize)), meta.Blocks)
	found, err = r.scrubSlot(ctx, e, first, last)
	if found != nil && r.here() != nil {
		found, err = nil, events.ErrDiskAway
	}
	return last, found, err
}

// scrubNext is the slot that a pass is at, or the next one; nil: that was the last.
func (r *Repo) scrubNext(p events.ScrubProgress) (next *entry, meta slotMeta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.slots {
		at := e.id.Compare(p.Slot)
		if !e.known || !e.meta.Complete || at < 0 || at == 0 && p.Block >= e.meta.Blocks {
			continue
		}
		if next == nil || e.id.Compare(next.id) < 0 {
			next, meta = e, e.meta
		}
	}
	return next, meta
}

// scrubSlot hashes the blocks first to last-1 of a slot and returns what is damaged; nil: nothing.
func (r *Repo) scrubSlot(ctx context.Context, e *entry, first, last uint64) (found *events.DamageError, err error) {
	roots, err := r.disk.Open(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return damageOf(lost(err))
	}
	defer func() { err = errors.Join(err, roots.Close()) }()
	var damaged []uint64
	for ; first < last; first += scrubBatch {
		if _, err := r.metaOf(e); err != nil {
			return nil, err
		}
		var entries []rootEntry
		err := readRootEntries(roots, first, min(first+scrubBatch, last), func(_ uint64, m rootEntry) {
			entries = append(entries, m)
		})
		if err != nil {
			return damageOf(lost(err))
		}
		bad, err := r.scrubBlocks(ctx, e, first, entries)
		if err != nil {
			return damageOf(err)
		}
		damaged = append(damaged, bad...)
	}
	if len(damaged) == 0 {
		return nil, nil //nolint:nilnil // Nothing is damaged, and that is no error.
	}
	return &events.DamageError{
		Blocks: damaged, Reason: fmt.Sprintf("the bytes of %d blocks do not have their roots, the first is %d",
			len(damaged), damaged[0]),
	}, nil
}

// damageOf separates damage from other errors.
func damageOf(err error) (*events.DamageError, error) {
	if found, ok := errors.AsType[*events.DamageError](err); ok {
		return found, nil
	}
	return nil, err
}

// scrubBlocks returns which of the blocks from first on are damaged: their bytes no longer have the
// stored root, or the stored root itself is damaged.
func (r *Repo) scrubBlocks(
	ctx context.Context, e *entry, first uint64, entries []rootEntry,
) (damaged []uint64, err error) {
	blocks := make([][]byte, 0, len(entries))
	var indices []uint64
	var want []fr.Element
	for i, m := range entries {
		index := first + uint64(i)
		if m.state != rootStored {
			damaged = append(damaged, index)
			continue
		}
		block := make([]byte, events.BlockSize)
		err := r.readBlock(e, index, block)
		if found, ok := errors.AsType[*events.DamageError](err); ok && !found.Whole {
			damaged = append(damaged, index)
			continue
		}
		if err != nil {
			return nil, err
		}
		blocks, indices, want = append(blocks, block), append(indices, index), append(want, m.root)
	}
	roots, err := merkle.HashBlocks(ctx, blocks)
	if err != nil {
		return nil, err
	}
	for i, index := range indices {
		if want[i] != roots[i] {
			damaged = append(damaged, index)
		}
	}
	slices.Sort(damaged)
	return damaged, nil
}

// replace writes the right bytes of a damaged block of a complete slot. They must have been checked
// against their name; if the stored root is sound they are checked against it, too.
func (r *Repo) replace(e *entry, index uint64, data []byte) (err error) {
	root, err := merkle.BlockRoot(data)
	if err != nil {
		return err
	}
	e.files.Lock()
	defer e.files.Unlock()
	if _, err := r.metaOf(e); err != nil {
		return err
	}
	blocks, err := r.disk.Edit(filepath.Join(e.dir, blocksFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blocks.Close()) }()
	roots, err := r.disk.Edit(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, roots.Close()) }()
	var stored rootEntry
	if err := readRootEntries(roots, index, index+1, func(_ uint64, m rootEntry) { stored = m }); err != nil {
		return err
	}
	if stored.state == rootStored && stored.root != root {
		return fmt.Errorf("block %d does not have its stored root: %w",
			index, events.ErrContentMismatch)
	}
	if _, err := blocks.WriteAt(data, int64(blockOffset(index))); err != nil {
		return err
	}
	if err := blocks.Sync(); err != nil {
		return err
	}
	m := encodeRootEntry(index, root)
	if _, err := roots.WriteAt(m[:], int64(index*rootEntrySize)); err != nil {
		return err
	}
	return roots.Sync()
}
