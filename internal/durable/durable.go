// Package durable writes small files that survive a power cut: when a function returns without an
// error, the content and its name are on the disk. After an earlier crash the old content is still
// there, and perhaps a temporary file whose name begins with the same letters.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace replaces the content of a file with the parts; only the owner can read it. At any moment
// there is either the old content or the new. After an error it is either, too, because the
// directory is synced after the renaming.
func Replace(path string, parts ...[]byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // Its mode is 0600.
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // After a success there is nothing left to remove.
	if err := finish(f, parts); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Create creates a file that only its owner can read. If it exists it is left alone, and the error
// is fs.ErrExist.
func Create(path string, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := finish(f, parts); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return Sync(filepath.Dir(path))
}

func finish(f *os.File, parts [][]byte) (err error) {
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Sync makes a file that other code wrote, or the names in a directory, durable.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
