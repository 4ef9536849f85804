package projections

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
)

// This file is for folds of other packages that want to be kept as the views
// are: as disposable values that are looked at before they are believed.

// Save is all that the views hold, for a file of the caller's. LoadViews is the
// reverse.
func (v *Views) Save() ([]byte, error) { return encodeCheckpoint(v) }

// LoadViews are saved views. asOf is the position up to which the caller knows
// that only the system wrote behind what the views saw last.
func LoadViews(saved []byte, asOf events.Position) (*Views, error) {
	v, err := decodeCheckpoint(saved)
	if err != nil {
		return nil, fmt.Errorf("load views: %w", err)
	}
	v.asOf = max(v.asOf, asOf)
	return v, nil
}

// ReplaceFile replaces a file durably: after a crash at any moment there is the
// old file or the new one.
func ReplaceFile(path string, parts ...[]byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // Nothing is there any more when all went well.
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
