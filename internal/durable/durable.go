// Package durable writes small files that survive a power cut: when a function returns
// without an error, the content and its name are on the disk. A crash before leaves what
// was there, and perhaps a file whose name begins with the same letters.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace makes the parts the content of a file, which only its owner can read; at any
// moment there is the old file or the new one. After an error behind the renaming, as
// when the directory cannot be synced, it can be either.
func Replace(path string, parts ...[]byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // Its mode is 0600.
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // Nothing is there any more when all went well.
	if err := finish(f, parts); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Create makes a file that only its owner can read. One that is there already stays as
// it is, and the error is fs.ErrExist.
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

// Sync makes a file durable that somebody wrote, or the names in a directory.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
