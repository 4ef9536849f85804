package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// copying is a running backup. The guard does not watch what pebble does in the
// backup's directory: that may be another disk, whose failing or filling up
// does the store no harm.
type copying struct {
	dir string
	// check returns an error once the backup is no longer wanted.
	check func() error
	// unsynced is the first error of syncing a directory. Pebble does not see it, because it
	// would panic.
	unsynced error
}

// copyOf is the backup to which a name belongs, or nil.
func (g *guard) copyOf(name string) *copying {
	if c := g.copying.Load(); c != nil && within(g.FS, c.dir, name) {
		return c
	}
	return nil
}

// within reports whether a path is a directory or below it.
func within(fsys vfs.FS, dir, path string) bool {
	for path != dir {
		parent := fsys.PathDir(path)
		if parent == path {
			return false
		}
		path = parent
	}
	return true
}

func (c *copying) create(open func() (vfs.File, error)) (vfs.File, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return &copied{f, c}, nil
}

func (c *copying) change(op string, do func() error) error {
	if err := c.check(); err != nil {
		return err
	}
	err := do()
	if op == opLink && errors.Is(err, fs.ErrPermission) {
		// Some file systems have no links and say so with this error. Pebble
		// copies instead after any error but this one.
		return fmt.Errorf("link: %s", err.Error())
	}
	return err
}

// copied is a file of a backup.
type copied struct {
	vfs.File
	copying *copying
}

func (f *copied) Write(p []byte) (int, error) {
	if err := f.copying.check(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// copiedDir is a directory of a backup. Pebble syncs it from one goroutine.
type copiedDir struct {
	vfs.File
	copying *copying
}

func (d *copiedDir) Sync() error {
	if err := d.File.Sync(); err != nil && d.copying.unsynced == nil {
		d.copying.unsynced = err
	}
	return nil
}

// logSize is how much of a segment of the log this process has written, and how
// much of that it has synced.
type logSize struct{ written, synced atomic.Int64 }

// Open opens a file for reading. A segment of the log ends where it is synced,
// so that a backup has what a power cut would leave, and never an unfinished
// write.
func (g *guard) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, opts...)
	if err != nil || !isLog(name) {
		return f, err
	}
	if size, ok := g.logs.Load(name); ok {
		return &prefix{f, io.LimitReader(f, size.(*logSize).synced.Load())}, nil
	}
	return f, nil
}

// prefix is a file of which only a first part can be read.
type prefix struct {
	vfs.File
	limited io.Reader
}

func (f *prefix) Read(p []byte) (int, error) { return f.limited.Read(p) }
