package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Used reports whether a host has run with the directory: each start leaves an
// outbox, before it writes anything to a record.
func (l Layout) Used() (bool, error) {
	files, err := os.ReadDir(l.Outbox())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the outbox of transactions: %w", err)
	}
	return len(files) > 0, nil
}

// RecordIsHere refuses, with ErrNoRecord, to make an empty embedded store where
// a host has used another one: what is written there no host would ever see.
func (l Layout) RecordIsHere() error {
	if _, err := os.Lstat(l.Events()); !errors.Is(err, fs.ErrNotExist) {
		return nil // Also when it cannot be told; opening it says why.
	}
	if used, err := l.Used(); err != nil || !used {
		return err
	}
	return fmt.Errorf("%w: a host has used %s with another event store", ErrNoRecord, l.Root)
}
