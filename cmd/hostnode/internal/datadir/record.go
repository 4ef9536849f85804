package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Used reports whether a host has run with the directory: each start makes an
// outbox before it appends any event.
func (l Layout) Used() (bool, error) {
	files, err := l.outboxes()
	return len(files) > 0, err
}

// outboxes are the files of the outbox; none before the first start.
func (l Layout) outboxes() ([]os.DirEntry, error) {
	files, err := os.ReadDir(l.Outbox())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the outbox of transactions: %w", err)
	}
	return files, nil
}

// RecordIsHere refuses, with ErrNoRecord, to make an empty embedded store where a
// host has used another store, whose events would be seen no more, or has lost
// its own.
func (l Layout) RecordIsHere() error {
	files, err := os.ReadDir(l.Events())
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(files) > 0 {
		return nil // Also when it cannot be told; opening it says why.
	}
	if used, err := l.Used(); err != nil || !used {
		return err
	}
	return fmt.Errorf("%w: a host has used %s, and its directory events is missing or empty", ErrNoRecord, l.Root)
}
