package storage

import (
	"fmt"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
)

// probeName is a file that is written to find out whether the disk takes anything.
const probeName = "PROBE"

// Room is how many bytes the file system has left. It also writes a page to find out whether the
// disk takes anything at all, and returns events.ErrDiskFull if not: the number does not show that
// this user's quota is used up, or that the file system has become read-only. It returns
// events.ErrDiskAway, and writes nothing, if the directory is away.
func (r *Repo) Room() (events.Bytes, error) {
	if err := r.here(); err != nil {
		return 0, err
	}
	free, err := r.disk.Free(r.dir)
	if err == nil {
		err = writeWhole(r.disk, filepath.Join(r.dir, probeName), make([]byte, diskPage))
	}
	if err != nil {
		return 0, fmt.Errorf("find out the free space on the disk: %w", FullDisk(err))
	}
	return events.Bytes(free), nil
}

// Free is how many bytes the file system of a directory has left.
func Free(dir string) (events.Bytes, error) {
	free, err := freeBytes(dir)
	return events.Bytes(free), err
}
