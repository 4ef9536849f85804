package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// The names in a repo's directory.
const (
	formatName = "FORMAT"
	lockName   = "LOCK"
	slotsDir   = "slots"
	newDir     = "new"
	trashDir   = "trash"

	slotMetaName = "slot.json"
	manifestName = "manifest"
	blocksFile   = "blocks"
	rootsFile    = "roots"
	treeFile     = "tree"
	namesFile    = "names"
)

// Config are the limits of a repo.
type Config struct {
	// Quota is the most bytes that blocks, trees and bookkeeping may take together; 0: no limit but
	// the disk.
	Quota events.Bytes
	// Place says whether the directory is there; nil: it always is.
	Place *Place
}

// Repo stores slots on disk. It is safe for concurrent use; one process at a time may have a
// directory open.
type Repo struct {
	disk   disk
	dir    string
	place  *Place
	scrubs scrubs

	// opening guards what is read when the directory is there for the first time.
	opening  sync.Mutex
	opened   bool
	lockPath string // empty: none
	lock     io.Closer
	findings []Finding

	mu    sync.Mutex
	slots map[events.SlotID]*entry
	quota events.Bytes // 0: no limit
	// stored are the bytes of all slots as last measured, writing those of batches being written,
	// and trashed those of slots whose removal has failed so far. All count against the quota.
	stored, writing, trashed events.Bytes
}

// entry is a slot in the repo.
type entry struct {
	id  events.SlotID
	dir string
	// filler is held by the download that is filling the slot.
	filler chan struct{}
	// files is held while files of the slot are written, replaced or removed.
	files sync.Mutex

	// Repo.mu guards the rest; meta changes only while files is held, too.
	meta           slotMeta
	known          bool         // whether meta was readable
	data, overhead events.Bytes // as measured
	// damage was found at the start and is not repaired yet.
	damage string
}

// Close releases the directory for other processes. No other method may be running.
func (r *Repo) Close() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}

// Stored are the slots that have anything on disk, ordered by id.
func (r *Repo) Stored(context.Context) ([]events.StoredSlot, error) {
	if err := r.here(); err != nil {
		return nil, fmt.Errorf("list the stored slots: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]events.StoredSlot, 0, len(r.slots))
	for _, e := range r.slots {
		list = append(list, events.StoredSlot{
			Slot: e.id, Complete: e.known && e.meta.Complete, Until: e.meta.Until,
			Data: e.data, Overhead: e.overhead, Damage: e.damage,
		})
	}
	slices.SortFunc(list, func(a, b events.StoredSlot) int { return a.Slot.Compare(b.Slot) })
	return list, nil
}

// Extend keeps a slot at least until a point of chain time; an earlier one changes nothing. It
// returns events.ErrNoSuchSlot if it is not here.
func (r *Repo) Extend(_ context.Context, slot events.SlotID, until time.Time) error {
	if err := r.here(); err != nil {
		return fmt.Errorf("extend slot %s: %w", slot, err)
	}
	e := r.entry(slot)
	if e == nil {
		return fmt.Errorf("extend slot %s: %w", slot, events.ErrNoSuchSlot)
	}
	e.files.Lock()
	defer e.files.Unlock()
	meta, err := r.metaOf(e)
	if err != nil {
		return fmt.Errorf("extend slot %s: %w", slot, err)
	}
	if !until.After(meta.Until) {
		return nil
	}
	meta.Until = until
	return r.place.Unless(r.writeMeta(e, meta))
}

// Delete removes everything of a slot, even while it is being downloaded; that nothing is there is
// no error. When it returns nil the bytes are free.
func (r *Repo) Delete(_ context.Context, slot events.SlotID) error {
	err := r.here()
	if e := r.entry(slot); err == nil && e != nil {
		err = r.trash(e)
	}
	if err == nil {
		err = r.emptyTrash(slot)
	}
	if err != nil {
		return fmt.Errorf("delete slot %s: %w", slot, err)
	}
	return nil
}

// trash moves a slot out of the way in one step.
func (r *Repo) trash(e *entry) error {
	e.files.Lock()
	defer e.files.Unlock()
	if r.entry(e.id) != e { // It is gone.
		return nil
	}
	name := slotName(e.id)
	taken, err := r.disk.List(filepath.Join(r.dir, trashDir))
	if err != nil {
		return err
	}
	target := name
	for n := 1; slices.Contains(taken, target); n++ {
		target = fmt.Sprintf("%s.%d", name, n)
	}
	if err := r.disk.Rename(e.dir, filepath.Join(r.dir, trashDir, target)); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.slots, e.id)
	r.trashed += e.data + e.overhead
	r.stored -= e.data + e.overhead
	r.mu.Unlock()
	return errors.Join(r.disk.SyncDir(filepath.Join(r.dir, trashDir)),
		r.disk.SyncDir(filepath.Join(r.dir, slotsDir)))
}

// emptyTrash removes what is left of a slot, from now or from an earlier try.
func (r *Repo) emptyTrash(slot events.SlotID) error {
	trash := filepath.Join(r.dir, trashDir)
	names, err := r.disk.List(trash)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, slotName(slot)) {
			continue
		}
		path := filepath.Join(trash, name)
		data, overhead, err := measureSlot(r.disk, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := r.disk.RemoveAll(path); err != nil {
			return err
		}
		r.mu.Lock()
		r.trashed -= min(r.trashed, data+overhead)
		r.mu.Unlock()
	}
	return nil
}

// Usage measures how many bytes all slots take on disk now, including those half created or half
// deleted.
func (r *Repo) Usage() (events.Bytes, error) {
	if err := r.here(); err != nil {
		return 0, fmt.Errorf("measure repo: %w", err)
	}
	var sum events.Bytes
	for _, sub := range []string{slotsDir, newDir, trashDir} {
		names, err := r.disk.List(filepath.Join(r.dir, sub))
		if err != nil {
			return 0, fmt.Errorf("measure repo: %w", err)
		}
		for _, name := range names {
			data, overhead, err := measureSlot(r.disk, filepath.Join(r.dir, sub, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // Deleted in the meantime.
			}
			if err != nil {
				return 0, fmt.Errorf("measure repo: %w", err)
			}
			sum += data + overhead
		}
	}
	return sum, nil
}

func slotName(slot events.SlotID) string { return slot.String()[2:] }

func (r *Repo) entry(slot events.SlotID) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slots[slot]
}

// metaOf returns events.ErrNoSuchSlot for a slot that is not here, gone or unreadable.
func (r *Repo) metaOf(e *entry) (slotMeta, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e == nil || r.slots[e.id] != e || !e.known {
		return slotMeta{}, events.ErrNoSuchSlot
	}
	return e.meta, nil
}

// writeMeta replaces slot.json; e.files is held.
func (r *Repo) writeMeta(e *entry, meta slotMeta) error {
	b, err := meta.encode()
	if err == nil {
		err = writeWhole(r.disk, filepath.Join(e.dir, slotMetaName), b)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", slotMetaName, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.meta, e.known = meta, true
	return nil
}

// measure reads from disk how much the slot takes; e.files is held.
func (r *Repo) measure(e *entry) error {
	data, overhead, err := measureSlot(r.disk, e.dir)
	if err != nil {
		return fmt.Errorf("measure slot %s: %w", e.id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored += data + overhead
	r.stored -= e.data + e.overhead
	e.data, e.overhead = data, overhead
	return nil
}

// Limit changes Config.Quota. What is stored stays, even beyond the new quota.
func (r *Repo) Limit(total events.Bytes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quota = total
}

// claim sets bytes aside for a write, or returns events.ErrQuotaExceeded. After the write has been
// measured, release returns them.
func (r *Repo) claim(bytes events.Bytes) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := r.stored + r.writing + r.trashed
	if r.quota != 0 && used+bytes > r.quota {
		return fmt.Errorf("%d more bytes do not fit: %d of the repo's quota of %d are used, "+
			"delete data or raise the quota: %w", bytes, used, r.quota, events.ErrQuotaExceeded)
	}
	r.writing += bytes
	return nil
}

func (r *Repo) release(bytes events.Bytes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing -= bytes
}
