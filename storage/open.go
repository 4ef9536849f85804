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
