package sectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/storage"
)

// part is an open file whose errors say which part it is.
type part struct{ *os.File }

func (p part) WriteAt(b []byte, at int64) (int, error) {
	n, err := p.File.WriteAt(b, at)
	return n, storage.FullDisk(err)
}

func (p part) Sync() error { return storage.FullDisk(p.File.Sync()) }

// Open opens a part for reading. It returns ErrNoSectorPart when it is not here, and
// ErrSectorDamaged when it has another length.
func (s *Store) Open(
	sector events.SectorRef, which events.SectorPart, length events.Bytes,
) (events.SectorReader, error) {
	if err := s.known(sector); err != nil {
		return nil, err
	}
	f, err := openPart(sector, which, length, s.path(sector, which.String()), os.O_RDONLY)
	return f, s.place.Unless(err)
}

func openPart(
	sector events.SectorRef, which events.SectorPart, length events.Bytes, path string, flags int,
) (part, error) {
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return part{}, fmt.Errorf("%s, %s: %w", sector, which, events.ErrNoSectorPart)
	} else if err != nil {
		return part{}, fmt.Errorf("open %s of %s: %w", which, sector, err)
	}
	info, err := f.Stat()
	if err == nil && events.Bytes(info.Size()) != length { //nolint:gosec // A size.
		err = fmt.Errorf("%s has %d bytes, not %d: %w", path, info.Size(), length, events.ErrSectorDamaged)
	}
	if err != nil {
		return part{}, errors.Join(fmt.Errorf("open %s of %s: %w", which, sector, err), f.Close())
	}
	return part{f}, nil
}

// Edit opens a part to be written in place. If it is not here it is created with that length, full
// of zeros. It returns ErrSectorDamaged as Open does, and ErrDiskFull.
func (s *Store) Edit(
	sector events.SectorRef, which events.SectorPart, length events.Bytes,
) (events.SectorFile, error) {
	if err := s.enter(sector); err != nil {
		return nil, err
	}
	path := s.path(sector, which.String())
	f, err := openPart(sector, which, length, path, os.O_RDWR)
	if errors.Is(err, events.ErrNoSectorPart) {
		err = s.Replace(sector, which, length, func(events.SectorFile) error { return nil })
		if err == nil {
			f, err = openPart(sector, which, length, path, os.O_RDWR)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.wrap(f), nil
}

// Replace writes a part of that length anew: write gets a file of zeros, which replaces the part
// once it is durable. After an error, the part is as before.
func (s *Store) Replace(
	sector events.SectorRef, which events.SectorPart, length events.Bytes, write func(events.SectorFile) error,
) error {
	if err := s.enter(sector); err != nil {
		return err
	}
	path := s.path(sector, which.String())
	fresh := path + freshEnd
	f, err := os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("make %s of %s: %w", which, sector, storage.FullDisk(err))
	}
	wrapped := s.wrap(part{f})
	err = f.Truncate(int64(length)) //nolint:gosec // A size.
	if err == nil {
		err = write(wrapped)
	}
	if err == nil {
		err = wrapped.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err == nil {
		err = durable.Sync(filepath.Dir(path))
	}
	if err != nil {
		_ = os.Remove(fresh) // Otherwise the next start removes it.
		return fmt.Errorf("make %s of %s: %w", which, sector, storage.FullDisk(err))
	}
	return nil
}

// Remove removes a part. That it is not here is no error.
func (s *Store) Remove(sector events.SectorRef, which events.SectorPart) error {
	err := s.Here()
	if err == nil {
		err = removeFile(s.path(sector, which.String()))
	}
	if err != nil {
		return fmt.Errorf("remove %s of %s: %w", which, sector, err)
	}
	return nil
}

// removeFile removes a file durably. That it is not here is no error.
func removeFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = durable.Sync(filepath.Dir(path))
	}
	return err
}

// RemoveSector removes everything of a sector. That it is not here is no error.
func (s *Store) RemoveSector(sector events.SectorRef) error {
	trash := filepath.Join(s.dir, trashDir)
	err := s.Here()
	if err == nil {
		err = os.MkdirAll(trash, 0o755)
	}
	gone := filepath.Join(trash, nameOf(sector).String())
	if err == nil {
		err = os.RemoveAll(gone) // Left by an interrupted removal.
	}
	if err == nil {
		err = os.Rename(s.path(sector), gone)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = durable.Sync(s.dir)
	}
	if err == nil {
		s.mu.Lock()
		delete(s.sectors, nameOf(sector))
		s.mu.Unlock()
		err = os.RemoveAll(gone)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", sector, err)
	}
	return nil
}
