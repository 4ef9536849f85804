package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// copyCacheBytes is the block cache while a copy is opened only to be closed
// properly; almost nothing is read then.
const copyCacheBytes = 1 << 20

// BackupReport is what Backup made.
type BackupReport struct {
	// Last is the position of the last event in the copy.
	Last events.Position
	// Files and Bytes are those of the copy. With hard links, most of it takes
	// up space only once the store has replaced its own tables.
	Files int
	Bytes int64
}

// Backup copies the store into a directory that is empty or missing, while the
// store goes on. The copy has at least every event that was acknowledged before
// the call, and is a properly closed store of its own: to restore it, put it in
// place of the store's directory while no host runs there. On the same file
// system it consists of hard links, so it protects against mistakes, not against
// a failing disk.
//
// Until the copy is complete it has no FORMAT file, and Open refuses it. When
// Backup fails, or ctx ends, it removes what it made; the store is not touched.
// Errors: ErrBackupTarget, ErrBackupRunning, events.ErrClosed,
// events.ErrStoreFailed, ctx's error and those of the target's disk.
func (s *Store) Backup(ctx context.Context, dir string) (BackupReport, error) {
	if !s.backups.TryLock() {
		return BackupReport{}, ErrBackupRunning
	}
	defer s.backups.Unlock()
	s.reading.RLock()
	defer s.reading.RUnlock()
	err := s.usable(ctx)
	if err == nil {
		err = s.failed()
	}
	if err != nil {
		return BackupReport{}, err
	}
	b := &backup{store: s, fs: s.guard.FS, dir: s.guard.PathJoin(dir), check: func() error { return s.usable(ctx) }}
	report, err := b.run()
	if err != nil {
		return BackupReport{}, fmt.Errorf("back up event store %s to %s: %w", s.dir, dir, err)
	}
	return report, nil
}

// backup is one that is being made.
type backup struct {
	store *Store
	fs    vfs.FS
	dir   string
	check func() error // why it must end
	made  bool         // the directory was missing
}

func (b *backup) run() (BackupReport, error) {
	if err := b.claim(); err != nil {
		return BackupReport{}, err
	}
	last, err := b.copy()
	if err == nil {
		err = writeFormat(b.fs, b.dir, 0)
	}
	var report BackupReport
	if err == nil {
		report, err = b.measure(last)
	}
	if err != nil {
		return BackupReport{}, errors.Join(err, b.remove())
	}
	return report, nil
}

// claim makes sure that the target is an empty directory outside of the store.
func (b *backup) claim() error {
	inside, err := b.inside()
	if err != nil {
		return err
	}
	if inside {
		return fmt.Errorf("%w: it is part of the store itself; name a directory elsewhere", ErrBackupTarget)
	}
	names, err := b.fs.List(b.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.made = true
		return makeDir(b.fs, b.dir)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrBackupTarget, err)
	case len(names) > 0:
		return fmt.Errorf("%w: it is not empty, it has %s; name a new directory", ErrBackupTarget, names[0])
	}
	return nil
}

// inside reports whether the target is in the directory of the store, after
// links are resolved.
func (b *backup) inside() (bool, error) {
	store, err := b.real(b.fs.PathJoin(b.store.dir))
	if err != nil {
		return false, err
	}
	at, err := b.real(b.dir)
	return err == nil && within(b.fs, store, at), err
}

// real returns a path with its symbolic links resolved, as far as the path exists.
func (b *backup) real(path string) (string, error) {
	if vfs.Root(b.fs) != vfs.Default {
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	var missing string
	for {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, missing), nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return "", err
		}
		path, missing = parent, filepath.Join(filepath.Base(path), missing)
	}
}

// copy copies everything but FORMAT, and returns the last position of the copy.
func (b *backup) copy() (events.Position, error) {
	s := b.store
	acknowledged := events.Position(s.synced.Load())
	c := &copying{dir: b.dir, check: b.check}
	s.guard.copying.Store(c)
	err := s.db.Checkpoint(b.fs.PathJoin(b.dir, dataDir))
	s.guard.copying.Store(nil)
	for _, why := range []error{s.failed(), b.check(), err, c.unsynced} {
		if why != nil {
			return 0, why
		}
	}
	m, err := openMark(b.fs, b.dir, acknowledged)
	if err == nil {
		err = m.file.Close()
	}
	if err != nil {
		return 0, err
	}
	// The log of the copy ends where the store's happened to be synced. Opening
	// and closing the copy cleans that up, and proves that it can be opened; the
	// mark makes sure that no acknowledged event is missing.
	settled, report, err := Open(b.dir, Config{FS: b.fs, CacheBytes: copyCacheBytes, unfinished: true})
	if err != nil {
		return 0, err
	}
	return report.Last, errors.Join(settled.Close(), settled.failed(), b.check())
}

// measure counts files and bytes of the copy.
func (b *backup) measure(last events.Position) (BackupReport, error) {
	r := BackupReport{Last: last}
	for _, dir := range []string{b.dir, b.fs.PathJoin(b.dir, dataDir)} {
		names, err := b.fs.List(dir)
		if err != nil {
			return r, err
		}
		for _, name := range names {
			info, err := b.fs.Stat(b.fs.PathJoin(dir, name))
			if err != nil {
				return r, err
			}
			if !info.IsDir() {
				r.Files++
				r.Bytes += info.Size()
			}
		}
	}
	return r, nil
}

// remove deletes what a failed backup has written, FORMAT first.
func (b *backup) remove() error {
	var errs []error
	for _, name := range []string{formatFile, formatFile + ".new", markFile, lockFile, dataDir} {
		if err := b.fs.RemoveAll(b.fs.PathJoin(b.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove what was made: %w", err))
		}
	}
	if b.made {
		errs = append(errs, b.fs.Remove(b.dir))
	}
	return errors.Join(errs...)
}
