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

// part is an open file that says which one it is when something is wrong.
type part struct{ *os.File }

func (p part) WriteAt(b []byte, at int64) (int, error) {
	n, err := p.File.WriteAt(b, at)
	return n, storage.FullDisk(err)
}

func (p part) Sync() error { return storage.FullDisk(p.File.Sync()) }

// Open opens a part for reading. It answers ErrNoSectorPart when it is not here, and
// ErrSectorDamaged when it does not have the length that it should have.
func (s *Store) Open(
	sector events.SectorRef, which events.SectorPart, length events.Bytes,
) (events.SectorReader, error) {
	if err := s.known(sector); err != nil {
		return nil, err
	}
	return openPart(sector, which, length, s.path(sector, which.String()), os.O_RDONLY)
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

// Edit opens a part to be written in place. One that is not here is made, of that length and of
// zeros. It answers ErrSectorDamaged as Open does, and ErrDiskFull.
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

// Replace makes a part of that length anew: write is given a file of zeros, and what it wrote takes
// the place of what was there when it is durable. After an error there is what was there before.
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
		_ = os.Remove(fresh) // Else it goes at the next start.
		return fmt.Errorf("make %s of %s: %w", which, sector, storage.FullDisk(err))
	}
	return nil
}

// Remove removes a part. One that is not here is success.
func (s *Store) Remove(sector events.SectorRef, which events.SectorPart) error {
	path := s.path(sector, which.String())
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = durable.Sync(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("remove %s of %s: %w", which, sector, err)
	}
	return nil
}

// RemoveSector removes all of a sector. One that is not here is success.
func (s *Store) RemoveSector(sector events.SectorRef) error {
	trash := filepath.Join(s.dir, trashDir)
	err := os.MkdirAll(trash, 0o755)
	gone := filepath.Join(trash, nameOf(sector).String())
	if err == nil {
		err = os.RemoveAll(gone) // Of a removal that did not end.
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
