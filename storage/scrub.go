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

// This file looks through what is stored, piece by piece, for blocks whose bytes are not
// what they were. Where it stands is in the file SCRUB, so that a restart goes on
// there; a lost one costs a pass that begins anew.

const (
	scrubName = "SCRUB"
	// scrubBatch is how many blocks are hashed together: 1 MiB.
	scrubBatch = 16
	// scrubSave is after how many blocks in a slot it is noted where the pass stands: what
	// a crash makes it look at once more, 64 MiB.
	scrubSave = 1024
)

// scrubs is the pass over all slots that runs, or ran last.
type scrubs struct {
	mu       sync.Mutex
	progress events.ScrubProgress
}

// scrubFile is the form of the progress on disk.
type scrubFile struct {
	Began     time.Time `json:"began,omitzero"`
	Slot      string    `json:"slot,omitempty"`
	Block     uint64    `json:"block,omitempty"`
	LastBegan time.Time `json:"lastBegan,omitzero"`
	LastEnded time.Time `json:"lastEnded,omitzero"`
}

// maxScrubFile limits SCRUB in bytes; it has about 300.
const maxScrubFile = 4 << 10

// loadScrub reads where the last pass stood.
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
		r.find(events.SlotID{}, "%s cannot be read: %v; what is stored is looked through from the beginning",
			scrubName, err)
		return nil
	}
	r.scrubs.progress = p
	return nil
}

// saveScrub notes where the pass stands; the lock of scrubs is held.
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
		return fmt.Errorf("note how far %s came: %w", scrubName, FullDisk(err))
	}
	return nil
}

// ScrubProgress says how far the look at what is stored has come.
func (r *Repo) ScrubProgress() events.ScrubProgress {
	r.scrubs.mu.Lock()
	defer r.scrubs.mu.Unlock()
	return r.scrubs.progress
}

// Scrub goes on looking through all complete slots, where the last call stopped, also
// one of before a restart: at most that many bytes of one slot. It hashes every block
// again, which takes some 7 ms of one processor for each, and changes nothing. Now
// is the machine's time.
func (r *Repo) Scrub(ctx context.Context, now time.Time, most events.Bytes) (events.Scrubbed, error) {
	r.scrubs.mu.Lock()
	defer r.scrubs.mu.Unlock()
	p := &r.scrubs.progress
	if p.Began.IsZero() {
		p.Began, p.Slot, p.Block = now, events.SlotID{}, 0
	}
	e, rec := r.scrubNext(*p)
	if e == nil {
		p.LastBegan, p.LastEnded = p.Began, now
		p.Began, p.Slot, p.Block = time.Time{}, events.SlotID{}, 0
		return events.Scrubbed{Ended: true, Progress: *p}, r.saveScrub()
	}
	if p.Slot != e.id {
		p.Slot, p.Block = e.id, 0
	}
	last := min(p.Block+max(1, uint64(most/events.BlockSize)), rec.Blocks)
	found, err := r.scrubSlot(ctx, e, p.Block, last)
	if err != nil && !errors.Is(err, events.ErrNoSuchSlot) { // Gone meanwhile: the next one.
		return events.Scrubbed{Progress: *p}, fmt.Errorf("scrub slot %s: %w", e.id, err)
	}
	piece := events.Scrubbed{Slot: e.id, Bytes: events.Bytes(last-p.Block) * events.BlockSize, Damage: found}
	save := last == rec.Blocks || last/scrubSave != p.Block/scrubSave
	p.Block = last
	piece.Progress = *p
	if save {
		return piece, r.saveScrub()
	}
	return piece, nil
}

// scrubNext is the slot that a pass is at, or the next one; nil: it was the last.
func (r *Repo) scrubNext(p events.ScrubProgress) (next *entry, rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.slots {
		at := slices.Compare(e.id[:], p.Slot[:])
		if !e.known || !e.record.Complete || at < 0 || at == 0 && p.Block >= e.record.Blocks {
			continue
		}
		if next == nil || slices.Compare(e.id[:], next.id[:]) < 0 {
			next, rec = e, e.record
		}
	}
	return next, rec
}

// scrubSlot hashes the blocks first to last-1 of a slot. It answers what is damaged of
// them, nil when all are sound.
func (r *Repo) scrubSlot(ctx context.Context, e *entry, first, last uint64) (found *events.DamageError, err error) {
	roots, err := r.disk.Open(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return damageOf(lost(err))
	}
	defer func() { err = errors.Join(err, roots.Close()) }()
	var damaged []uint64
	for ; first < last; first += scrubBatch {
		if _, err := r.recordOf(e); err != nil {
			return nil, err
		}
		var marks []mark
		err := readMarks(roots, first, min(first+scrubBatch, last), func(_ uint64, m mark) { marks = append(marks, m) })
		if err != nil {
			return damageOf(lost(err))
		}
		bad, err := r.scrubBlocks(ctx, e, first, marks)
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

// damageOf tells damage from other errors.
func damageOf(err error) (*events.DamageError, error) {
	if found, ok := errors.AsType[*events.DamageError](err); ok {
		return found, nil
	}
	return nil, err
}

// scrubBlocks answers which of the blocks from first on are damaged: their bytes do not
// have the root they were stored with, or that one is damaged itself.
func (r *Repo) scrubBlocks(ctx context.Context, e *entry, first uint64, marks []mark) (damaged []uint64, err error) {
	blocks := make([][]byte, 0, len(marks))
	var indices []uint64
	var want []fr.Element
	for i, m := range marks {
		index := first + uint64(i)
		if m.state != markStored {
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

// replace puts good bytes in the place of a damaged block of a complete slot. They
// must have been checked against their name; when the stored root is sound they
// are checked against that, too.
func (r *Repo) replace(e *entry, index uint64, data []byte) (err error) {
	root, err := merkle.BlockRoot(data)
	if err != nil {
		return err
	}
	e.files.Lock()
	defer e.files.Unlock()
	if _, err := r.recordOf(e); err != nil {
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
	var stored mark
	if err := readMarks(roots, index, index+1, func(_ uint64, m mark) { stored = m }); err != nil {
		return err
	}
	if stored.state == markStored && stored.root != root {
		return fmt.Errorf("block %d does not have its stored root: %w",
			index, events.ErrContentMismatch)
	}
	if _, err := blocks.WriteAt(data, int64(blockOffset(index))); err != nil {
		return err
	}
	if err := blocks.Sync(); err != nil {
		return err
	}
	m := encodeMark(index, root)
	if _, err := roots.WriteAt(m[:], int64(index*markSize)); err != nil {
		return err
	}
	return roots.Sync()
}
