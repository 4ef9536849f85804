package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/hostnode/hostnode/events"
)

// formatVersion is the version of the layout on disk that this code writes.
const formatVersion = 1

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

// Errors of opening a repo.
var (
	// ErrInUse: another process has the repo open.
	ErrInUse = errors.New("in use by another process")
	// ErrNewerFormat: the directory was written by a newer version of the program.
	ErrNewerFormat = errors.New("written by a newer version, upgrade to read it")
	// ErrIncomplete: the slot is not completely here yet. It is an events.ErrNoSuchSlot.
	ErrIncomplete = fmt.Errorf("slot is not complete: %w", events.ErrNoSuchSlot)
)

// Config are the limits of a repo.
type Config struct {
	// Quota is the most bytes that blocks, trees and bookkeeping may take together; 0: no limit but
	// the disk.
	Quota events.Bytes
}

// Finding is a problem that was found when the repo was opened.
type Finding struct {
	// Slot is zero when it is about no slot in particular.
	Slot events.SlotID
	// What was found, and what was done about it.
	What string
}

// Repo stores slots on disk. It is safe for concurrent use; one process at a time may have a
// directory open.
type Repo struct {
	disk     disk
	dir      string
	lock     io.Closer
	findings []Finding
	scrubs   scrubs

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
	known          bool // whether meta was readable
	gone           bool
	data, overhead events.Bytes // as measured
	// damage was found at the start and is not repaired yet.
	damage string
}

// Open opens the repo in dir, creates it if need be, and repairs what a crash has left: see
// Findings. Errors: ErrInUse and ErrNewerFormat.
func Open(dir string, cfg Config) (*Repo, error) {
	if err := makeRoot(osDisk{}, dir); err != nil {
		return nil, fmt.Errorf("open repo: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("open repo: %w", err)
	}
	r, err := openOn(osDisk{}, dir, cfg)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	r.lock = lock
	return r, nil
}

// lockFile takes a lock that the kernel releases when the process ends, however it ends. It returns
// ErrInUse when another process holds it.
func lockFile(path string) (io.Closer, error) {
	lock := flock.New(path, flock.SetPermissions(0o644))
	free, err := lock.TryLock()
	if err == nil && !free {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock, nil
}

// makeRoot creates the repo's own directory durably if there is none yet.
func makeRoot(d disk, dir string) error {
	if _, _, err := d.Sizes(dir); err == nil {
		return nil
	}
	return errors.Join(d.MkdirAll(dir), d.SyncDir(filepath.Dir(dir)))
}

func openOn(d disk, dir string, cfg Config) (*Repo, error) {
	r := &Repo{disk: d, dir: dir, quota: cfg.Quota, slots: map[events.SlotID]*entry{}}
	if err := makeRoot(d, dir); err != nil {
		return nil, fmt.Errorf("open repo: %w", err)
	}
	for _, sub := range []string{slotsDir, newDir, trashDir} {
		if err := d.MkdirAll(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("open repo: %w", err)
		}
	}
	if err := d.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("open repo: %w", err)
	}
	for _, step := range []func() error{r.checkFormat, r.sweep, r.load, r.loadScrub} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("open repo %s: %w", dir, err)
		}
	}
	return r, nil
}

// checkFormat refuses what a newer version wrote. If the version is missing or not legible it is
// written again: there has been only one, and the slots are verified anyway.
func (r *Repo) checkFormat() error {
	path := filepath.Join(r.dir, formatName)
	b, err := readWhole(r.disk, path, maxSlotMetaSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	version, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err == nil && bad == nil && version > formatVersion {
		return fmt.Errorf("%s says %d, this program knows %d: %w", path, version, formatVersion, ErrNewerFormat)
	}
	if err == nil && bad == nil && version == formatVersion {
		return nil
	}
	slots, err := r.disk.List(filepath.Join(r.dir, slotsDir))
	if err != nil {
		return err
	}
	if len(slots) > 0 || len(b) > 0 {
		r.find(events.SlotID{}, "%s was missing or damaged beside %d slots and was written again",
			formatName, len(slots))
	}
	return writeWhole(r.disk, path, fmt.Appendf(nil, "%d\n", formatVersion))
}

// sweep removes what was left half created or half deleted.
func (r *Repo) sweep() error {
	for _, sub := range []string{newDir, trashDir} {
		names, err := r.disk.List(filepath.Join(r.dir, sub))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.disk.RemoveAll(filepath.Join(r.dir, sub, name)); err != nil {
				return err
			}
			r.find(events.SlotID{}, "removed %s/%s, left by a crash", sub, name)
		}
	}
	return nil
}

func (r *Repo) find(slot events.SlotID, format string, args ...any) {
	r.findings = append(r.findings, Finding{Slot: slot, What: fmt.Sprintf(format, args...)})
}

// Findings are the problems that Open found, and mostly repaired.
func (r *Repo) Findings() []Finding { return slices.Clone(r.findings) }

// Close releases the directory for other processes. No other method may be running.
func (r *Repo) Close() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}

// Stored are the slots that have anything on disk, ordered by id.
func (r *Repo) Stored(context.Context) ([]events.StoredSlot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]events.StoredSlot, 0, len(r.slots))
	for _, e := range r.slots {
		list = append(list, events.StoredSlot{
			Slot: e.id, Complete: e.known && e.meta.Complete, Until: e.meta.Until,
			Data: e.data, Overhead: e.overhead, Damage: e.damage,
		})
	}
	slices.SortFunc(list, func(a, b events.StoredSlot) int {
		return slices.Compare(a.Slot[:], b.Slot[:])
	})
	return list, nil
}

// Extend keeps a slot at least until a point of chain time; an earlier one changes nothing. It
// returns events.ErrNoSuchSlot if it is not here.
func (r *Repo) Extend(_ context.Context, slot events.SlotID, until time.Time) error {
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
	return r.writeMeta(e, meta)
}

// Delete removes everything of a slot, even while it is being downloaded; that nothing is there is
// no error. When it returns nil the bytes are free.
func (r *Repo) Delete(_ context.Context, slot events.SlotID) error {
	if e := r.entry(slot); e != nil {
		if err := r.trash(e); err != nil {
			return fmt.Errorf("delete slot %s: %w", slot, err)
		}
	}
	if err := r.emptyTrash(slot); err != nil {
		return fmt.Errorf("delete slot %s: %w", slot, err)
	}
	return nil
}

// trash moves a slot out of the way in one step.
func (r *Repo) trash(e *entry) error {
	e.files.Lock()
	defer e.files.Unlock()
	r.mu.Lock()
	gone := e.gone
	r.mu.Unlock()
	if gone {
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
	e.gone = true
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

// metaOf returns events.ErrNoSuchSlot for a slot that is gone or unreadable.
func (r *Repo) metaOf(e *entry) (slotMeta, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.gone || !e.known {
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
