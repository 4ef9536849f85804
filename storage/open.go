package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/hostnode/hostnode/events"
)

// formatVersion is the version of the layout on disk that this code writes.
const formatVersion = 1

// Errors of opening a repo.
var (
	// ErrInUse: another process has the repo open.
	ErrInUse = errors.New("in use by another process")
	// ErrNewerFormat: the directory was written by a newer version of the program.
	ErrNewerFormat = errors.New("written by a newer version, upgrade to read it")
	// ErrIncomplete: the slot is not completely here yet. It is an events.ErrNoSuchSlot.
	ErrIncomplete = fmt.Errorf("slot is not complete: %w", events.ErrNoSuchSlot)
)

// Finding is a problem that was found when the repo was opened.
type Finding struct {
	// Slot is zero when it is about no slot in particular.
	Slot events.SlotID
	// What was found, and what was done about it.
	What string
}

// Open opens the repo in dir, creates it if need be, and repairs what a crash has left: see
// Findings. Errors: ErrInUse and ErrNewerFormat. If cfg.Place is away, that is done by the first
// call that finds it there.
func Open(dir string, cfg Config) (*Repo, error) {
	r := newRepo(osDisk{}, dir, cfg)
	r.lockPath = filepath.Join(dir, lockName)
	if err := r.here(); err != nil && !errors.Is(err, events.ErrDiskAway) {
		return nil, err
	}
	return r, nil
}

func newRepo(d disk, dir string, cfg Config) *Repo {
	return &Repo{disk: d, dir: dir, place: cfg.Place, quota: cfg.Quota}
}

// here returns events.ErrDiskAway if the directory is away. It reads what there is when it is there
// for the first time.
func (r *Repo) here() error {
	if err := r.place.Here(); err != nil {
		return fmt.Errorf("the slots: %w", err)
	}
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.opened {
		return nil
	}
	if err := r.open(); err != nil {
		return fmt.Errorf("open repo %s: %w", r.dir, err)
	}
	r.opened = true
	return nil
}

func (r *Repo) open() (err error) {
	r.slots, r.findings, r.stored = map[events.SlotID]*entry{}, nil, 0 // An earlier try may have failed.
	if err := makeRoot(r.disk, r.dir); err != nil {
		return err
	}
	if r.lockPath != "" {
		if r.lock, err = lockFile(r.lockPath); err != nil {
			return err
		}
	}
	defer func() {
		if err != nil && r.lock != nil {
			err = errors.Join(err, r.lock.Close())
			r.lock = nil
		}
	}()
	for _, sub := range []string{slotsDir, newDir, trashDir} {
		if err := r.disk.MkdirAll(filepath.Join(r.dir, sub)); err != nil {
			return err
		}
	}
	if err := r.disk.SyncDir(r.dir); err != nil {
		return err
	}
	for _, step := range []func() error{r.checkFormat, r.sweep, r.load, r.loadScrub} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
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

// Findings are the problems that were found when the repo was opened, and mostly repaired.
func (r *Repo) Findings() []Finding {
	r.opening.Lock()
	defer r.opening.Unlock()
	return slices.Clone(r.findings)
}
