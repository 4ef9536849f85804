package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

// Repair repairs damaged blocks of a slot: the given ones, or if none are given everything that is
// damaged, including the other files. Blocks that are sound are left alone; one that no source has
// is computed from K blocks of other slots. If the slot is not here any more, everything is
// fetched. mended are the given blocks that are sound now, even if others could not be repaired;
// the errors are those of Download.
func (f *Fetcher) Repair(ctx context.Context, job events.DownloadJob, blocks []uint64) (mended []uint64, err error) {
	if err = f.repo.here(); err == nil {
		mended, err = f.repair(ctx, job, blocks)
	}
	if err != nil {
		err = fmt.Errorf("repair slot %s: %w", job.Slot, f.repo.place.Unless(FullDisk(err)))
	}
	return mended, err
}

func (f *Fetcher) repair(ctx context.Context, job events.DownloadJob, blocks []uint64) (mended []uint64, err error) {
	e, meta := f.repo.complete(job.Slot)
	if e == nil { // What is left of it is taken over unseen.
		if _, err := f.Download(ctx, job); err != nil {
			return nil, err
		}
		if e, meta = f.repo.complete(job.Slot); e == nil {
			return nil, events.ErrNoSuchSlot
		}
	}
	if len(blocks) == 0 {
		return nil, f.repairWhole(ctx, e, meta)
	}
	return (&repair{fetcher: f, entry: e, meta: meta}).blocks(ctx, blocks)
}

// complete is a slot that was complete before; nil if there is none.
func (r *Repo) complete(slot events.SlotID) (*entry, slotMeta) {
	e := r.entry(slot)
	meta, err := r.metaOf(e)
	if err != nil || !meta.Complete {
		return nil, slotMeta{}
	}
	return e, meta
}

// repairWhole checks everything of a complete slot and repairs what is damaged.
func (f *Fetcher) repairWhole(ctx context.Context, e *entry, meta slotMeta) error {
	if err := f.repairManifest(ctx, e, meta); err != nil {
		return err
	}
	r := &repair{fetcher: f, entry: e, meta: meta}
	var failed error
	for first := uint64(0); first < meta.Blocks; first += scrubBatch {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, context.Cause(ctx))
		}
		found, err := f.repo.scrubSlot(ctx, e, first, min(first+scrubBatch, meta.Blocks))
		if err != nil {
			return errors.Join(failed, err)
		}
		if found == nil {
			continue
		}
		bad := found.Blocks
		if found.Whole { // A file is gone: each block is checked separately.
			for index := first; index < min(first+scrubBatch, meta.Blocks); index++ {
				bad = append(bad, index)
			}
		}
		if _, err := r.blocks(ctx, bad); err != nil {
			failed = cmp.Or(failed, err)
			if errors.Is(err, events.ErrNoSource) || errors.Is(FullDisk(err), events.ErrDiskFull) {
				return failed
			}
		}
	}
	if failed != nil {
		return failed
	}
	return f.repo.finishRepair(e)
}

// repairManifest fetches the manifest again when it is damaged.
func (f *Fetcher) repairManifest(ctx context.Context, e *entry, meta slotMeta) error {
	if _, _, err := f.repo.readManifest(e, meta.Manifest); !errors.Is(err, events.ErrBitRot) {
		return err
	}
	block, err := f.sources.fetch(ctx, meta.Manifest)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	e.files.Lock()
	defer e.files.Unlock()
	if _, err := f.repo.metaOf(e); err != nil {
		return err
	}
	if err := writeWhole(f.repo.disk, filepath.Join(e.dir, manifestName), block); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// finishRepair rebuilds the trees of a slot whose blocks are sound, and measures it.
func (r *Repo) finishRepair(e *entry) error {
	e.files.Lock()
	defer e.files.Unlock()
	if _, err := r.metaOf(e); err != nil {
		return err
	}
	if _, err := r.rebuild(e); err != nil {
		return err
	}
	if err := r.lengthen(e); err != nil {
		return err
	}
	r.mu.Lock()
	e.damage = ""
	r.mu.Unlock()
	return r.measure(e)
}

// lengthen gives the file of sound blocks the zeros back that were cut off its end. They are read as zeros
// without that, and would be missed again at each start.
func (r *Repo) lengthen(e *entry) error {
	torn, cut, err := r.findTorn(e)
	if err != nil || cut == 0 {
		return err
	}
	f, err := r.disk.Edit(filepath.Join(e.dir, blocksFile))
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{0}, int64(blockOffset(torn[len(torn)-1]+1))-1)
	return errors.Join(err, f.Sync(), f.Close())
}

// repair repairs blocks of one slot.
type repair struct {
	fetcher *Fetcher
	entry   *entry
	meta    slotMeta
	source  *filling // nil until the list of blocks is needed
}

// blocks repairs those blocks that are damaged, and returns those that are sound now.
func (r *repair) blocks(ctx context.Context, blocks []uint64) (mended []uint64, failed error) {
	for _, index := range blocks {
		err := r.block(ctx, index)
		if err == nil {
			mended = append(mended, index)
		}
		failed = cmp.Or(failed, err)
		if ctx.Err() != nil || errors.Is(err, events.ErrNoSource) {
			break
		}
	}
	return mended, failed
}

func (r *repair) block(ctx context.Context, index uint64) error {
	if index >= r.meta.Blocks {
		if index < paddedBlocks(r.meta.Blocks) {
			return nil // It is not stored.
		}
		return fmt.Errorf("block %d of %d: %w", index, r.meta.Blocks, merkle.ErrIndex)
	}
	if found, err := r.fetcher.repo.scrubSlot(ctx, r.entry, index, index+1); err != nil || found == nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	got := r.source.fetch(ctx, index)
	if got.err != nil {
		return got.err
	}
	if got.data == nil {
		got.data = make([]byte, events.BlockSize)
	}
	return r.fetcher.repo.replace(r.entry, index, got.data)
}

// open fetches the list of the slot's blocks the first time it is needed.
func (r *repair) open(ctx context.Context) error {
	if r.source != nil {
		return nil
	}
	if err := r.fetcher.repairManifest(ctx, r.entry, r.meta); err != nil {
		return err
	}
	m, _, err := r.fetcher.repo.readManifest(r.entry, r.meta.Manifest)
	if err != nil {
		return err
	}
	r.source, err = r.fetcher.filling(ctx, r.meta, m)
	return err
}
