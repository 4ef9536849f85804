package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
)

// disk is what the repo needs of a file system. Tests replace it by one that forgets whatever was
// not synced.
type disk interface {
	MkdirAll(path string) error
	// Open opens a file for reading; Edit opens it for reading and writing, and creates it if need
	// be.
	Open(path string) (file, error)
	Edit(path string) (file, error)
	// Rename replaces the file at the new path.
	Rename(from, to string) error
	RemoveAll(path string) error
	// List returns the names in a directory.
	List(path string) ([]string, error)
	// SyncDir makes the entries of a directory durable.
	SyncDir(path string) error
	// Sizes are the length of a file and the bytes it occupies on disk, without holes.
	Sizes(path string) (length, occupied int64, err error)
	// Free is how many bytes this user can still write to the file system.
	Free(path string) (uint64, error)
}

// file is an open file.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

// osDisk is the disk of the operating system.
type osDisk struct{}

func (osDisk) MkdirAll(path string) error     { return os.MkdirAll(path, 0o755) }
func (osDisk) Open(path string) (file, error) { return os.Open(path) }
func (osDisk) Rename(from, to string) error   { return os.Rename(from, to) }
func (osDisk) RemoveAll(path string) error    { return os.RemoveAll(path) }
func (osDisk) SyncDir(path string) error      { return durable.Sync(path) }

func (osDisk) Edit(path string) (file, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

func (osDisk) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osDisk) Sizes(path string) (length, occupied int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), Occupied(info), nil
}

func (osDisk) Free(path string) (uint64, error) { return freeBytes(path) }

// readWhole reads a file of at most limit bytes.
func readWhole(d disk, path string, limit int64) ([]byte, error) {
	length, _, err := d.Sizes(path)
	if err != nil {
		return nil, err
	}
	if length > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", filepath.Base(path), length, limit)
	}
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	data := make([]byte, length)
	_, err = f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data, errors.Join(err, f.Close())
}

// writeWhole replaces a file with data, atomically and durably.
func writeWhole(d disk, path string, data []byte) error {
	fresh := path + ".new"
	if err := d.RemoveAll(fresh); err != nil {
		return err
	}
	f, err := d.Edit(fresh)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := d.Rename(fresh, path); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(path))
}

// FullDisk turns an error that says that the disk takes nothing into an events.ErrDiskFull.
func FullDisk(err error) error {
	if err != nil && takesNothing(err) && !errors.Is(err, events.ErrDiskFull) {
		return fmt.Errorf("%w: %w", events.ErrDiskFull, err)
	}
	return err
}

// diskPage is the unit of the space that small files and directories take.
const diskPage = 4096

// measureSlot returns the bytes that the blocks in a slot's directory take, and those of everything
// else.
func measureSlot(d disk, dir string) (data, overhead events.Bytes, err error) {
	names, err := d.List(dir)
	if err != nil {
		return 0, 0, err
	}
	overhead = diskPage
	for _, name := range names {
		length, occupied, err := d.Sizes(filepath.Join(dir, name))
		if err != nil {
			return 0, 0, err
		}
		if name == blocksFile {
			data += events.Bytes(occupied)
			continue
		}
		overhead += events.Bytes((length + diskPage - 1) / diskPage * diskPage)
	}
	return data, overhead, nil
}
