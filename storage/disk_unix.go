//go:build unix

package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// sectorSize is the unit of Stat_t.Blocks in bytes, on every file system.
const sectorSize = 512

// Occupied is how many bytes of the disk a file takes, without holes.
func Occupied(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * sectorSize
	}
	return info.Size()
}

// freeBytes is how many bytes this user can still write to the file system of a path.
func freeBytes(path string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("find out the free space at %s: %w", path, err)
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a size
}

// takesNothing says that a write failed because the file system is full, this user's quota is used
// up, or it is read-only, as many file systems become after a fault.
func takesNothing(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}
