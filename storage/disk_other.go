//go:build !unix

package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

func occupiedBytes(info fs.FileInfo) int64 { return info.Size() }

// freeBytes is not known here; a write that fails says enough.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }

func takesNothing(error) bool { return false }

// lockFile is not available here, and a repo is not opened without a lock.
func lockFile(path string) (io.Closer, error) {
	return nil, fmt.Errorf("lock %s: %w", path, errors.ErrUnsupported)
}
