package datadir

import (
	"errors"
	"fmt"
	"os"

	"github.com/hostnode/hostnode/internal/durable"
)

// ErrDry: the directory is that of a dry run, or it is not and a dry run was to use it.
var ErrDry = errors.New("a dry run and a host never share a data directory")

// dryFile marks the directory of a dry run.
func (l Layout) dryFile() string { return l.join("dry-run") }

// Dry reports whether the directory is that of a dry run, whose record is of what a host would have sold.
func (l Layout) Dry() bool {
	_, err := os.Lstat(l.dryFile())
	return err == nil
}

// For refuses, with ErrDry, a directory of a host for a dry run, and one of a dry run for a host. A new one is marked.
func (d *Dir) For(dry bool) error {
	owner, err := d.Owner()
	switch {
	case err != nil:
		return err
	case d.Dry() && !dry:
		return fmt.Errorf("%w: in %s nothing was really sold", ErrDry, d.Root)
	case !d.Dry() && dry && !owner.Zero():
		return fmt.Errorf("%w: %s is that of a host", ErrDry, d.Root)
	case d.Dry() == dry:
		return nil
	}
	text := "The record in this directory is that of dry runs (hostnode run --dry): nothing in it was really sold.\n"
	if err := durable.Replace(d.dryFile(), []byte(text)); err != nil {
		return fmt.Errorf("mark the directory of a dry run: %w", err)
	}
	return nil
}
