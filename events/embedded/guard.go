package embedded

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system between pebble and the disk. It sees the first
// write, sync, create or rename that fails, reports it once, and from then on
// lets nothing change on disk. The reasons:
//
//   - A failed sync must not be retried: the kernel may have dropped the pages
//     and says "done" the second time.
//   - On an error of its write-ahead log, or of syncing its directory, pebble
//     ends the process (Logger.Fatalf, or a panic while it holds locks). So the
//     guard hides these errors from pebble, and the committer asks the guard
//     before it answers a caller.
//   - Pebble goes on after an error of its manifest when Fatalf returns, and
//     could then delete a log whose contents are nowhere else.
//
// While pebble opens, every error is hidden: otherwise it would try to flush
// the replayed log again and again, and never return.
type guard struct {
	vfs.FS
	// onFailure is called once, with the first error, before pebble sees it.
	onFailure func(error)

	// opening: pebble is being opened.
	opening atomic.Bool
	// copying is the running backup; nil: there is none.
	copying atomic.Pointer[copying]
	// logs has the segments of the log that were written since Open: *logSize
	// by name.
	logs sync.Map

	once    sync.Once
	failed  chan struct{} // closed by the first failure
	closing chan struct{} // closed when the store closes
	pause   time.Duration
}

// refusalPause is how long pebble is kept waiting for a refused creation of a
// file after a failure, because it retries a failed flush at once and for ever.
const refusalPause = time.Second

func newGuard(fs vfs.FS) *guard {
	return &guard{
		FS: fs, onFailure: func(error) {}, pause: refusalPause,
		failed: make(chan struct{}), closing: make(chan struct{}),
	}
}

// opLink is the guard's name for making a hard link.
const opLink = "link"

// isLog reports whether a file is a segment of the write-ahead log.
func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// check reports an error and returns it.
func (g *guard) check(op, name string, err error) error {
	if err != nil {
		g.fail(fmt.Errorf("%s %s: %w", op, g.PathBase(name), err))
	}
	return err
}

func (g *guard) fail(err error) {
	g.once.Do(func() {
		g.onFailure(err)
		close(g.failed)
	})
}

// stopped reports whether something has failed.
func (g *guard) stopped() bool {
	select {
	case <-g.failed:
		return true
	default:
		return false
	}
}

// refuse is the error for a change after a failure.
func (g *guard) refuse(op, name string) error {
	return fmt.Errorf("%s %s: refused after an earlier disk failure", op, g.PathBase(name))
}

// create wraps a newly opened file. A log that can no longer be opened, and
// every file while pebble opens, is replaced by a stand-in in memory.
func (g *guard) create(op, name string, open func() (vfs.File, error)) (vfs.File, error) {
	if c := g.copyOf(name); c != nil {
		return c.create(open)
	}
	if !g.stopped() {
		f, err := open()
		if err == nil {
			guarded := &guarded{File: f, guard: g, name: name, hide: isLog(name)}
			if guarded.hide {
				g.logs.Store(name, &guarded.size)
			}
			return guarded, nil
		}
		if err = g.check(op, name, err); !isLog(name) && !g.opening.Load() {
			return nil, err
		}
	}
	if isLog(name) || g.opening.Load() {
		f, err := vfs.NewMem().Create("file", vfs.WriteCategoryUnspecified)
		return &guarded{File: f, guard: g, name: name, hide: true}, err
	}
	g.wait(g.pause)
	return nil, g.refuse(op, name)
}

// wait pauses, but not longer than until the store is closed.
func (g *guard) wait(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-g.closing:
	case <-timer.C:
	}
}

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.create("create", name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

func (g *guard) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return g.create("open", name, func() (vfs.File, error) {
		return g.FS.OpenReadWrite(name, c, opts...)
	})
}

func (g *guard) ReuseForWrite(
	oldname, newname string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	g.logs.Delete(oldname)
	return g.create("reuse", newname, func() (vfs.File, error) {
		return g.FS.ReuseForWrite(oldname, newname, c)
	})
}

// OpenDir wraps the directory, because it is synced through the file.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if c := g.copyOf(name); c != nil {
		return &copiedDir{f, c}, nil
	}
	return &guarded{File: f, guard: g, name: name, hide: true}, nil
}

func (g *guard) change(op, name string, do func() error) error {
	if c := g.copyOf(name); c != nil {
		return c.change(op, do)
	}
	return g.attempt(op, name, false, do)
}

// attempt makes one change unless something has failed.
func (g *guard) attempt(op, name string, hide bool, do func() error) error {
	var err error
	if g.stopped() {
		err = g.refuse(op, name)
	} else {
		err = g.check(op, name, do())
	}
	if hide || g.opening.Load() {
		return nil
	}
	return err
}

func (g *guard) Link(oldname, newname string) error {
	return g.change(opLink, newname, func() error { return g.FS.Link(oldname, newname) })
}

func (g *guard) Rename(oldname, newname string) error {
	return g.change("rename", newname, func() error { return g.FS.Rename(oldname, newname) })
}

func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	return g.change("make directory", dir, func() error { return g.FS.MkdirAll(dir, perm) })
}

// Remove is refused after a failure. If removing fails, that is no failure of
// the store: the file only takes up space.
func (g *guard) Remove(name string) error {
	if g.stopped() && g.copyOf(name) == nil {
		return g.refuse("remove", name)
	}
	g.logs.Delete(name)
	return g.FS.Remove(name)
}

func (g *guard) RemoveAll(name string) error {
	if g.stopped() && g.copyOf(name) == nil {
		return g.refuse("remove", name)
	}
	return g.FS.RemoveAll(name)
}

// Unwrap implements vfs.FS.
func (g *guard) Unwrap() vfs.FS { return g.FS }

// guarded is an open file of a guard.
type guarded struct {
	vfs.File
	guard *guard
	name  string
	// hide keeps errors from pebble; the guard still reports the first one.
	hide bool
	size logSize // of a segment of the log
}

// do makes one change unless the guard has stopped.
func (f *guarded) do(op string, change func() error) error {
	return f.guard.attempt(op, f.name, f.hide, change)
}

func (f *guarded) Write(p []byte) (n int, err error) {
	err = f.do("write", func() error {
		n, err = f.File.Write(p)
		f.size.written.Add(int64(n))
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *guarded) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.do("write", func() error { n, err = f.File.WriteAt(p, offset); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *guarded) Sync() error { return f.do("sync", f.whole(f.File.Sync)) }

func (f *guarded) SyncData() error { return f.do("sync", f.whole(f.File.SyncData)) }

func (f *guarded) SyncTo(length int64) (fullSync bool, err error) {
	err = f.do("sync", func() error { fullSync, err = f.File.SyncTo(length); return err })
	return fullSync, err
}

// whole notes, after a sync, that everything written before it is synced.
func (f *guarded) whole(sync func() error) func() error {
	return func() error {
		written := f.size.written.Load()
		err := sync()
		if err == nil {
			f.size.synced.Store(written)
		}
		return err
	}
}

// Preallocate is a hint; its failure is not one of the store.
func (f *guarded) Preallocate(offset, length int64) error {
	if f.guard.stopped() {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// Close always closes the file, and reports the disk's error.
func (f *guarded) Close() error {
	err := f.File.Close()
	if f.guard.stopped() {
		return nil
	}
	if err = f.guard.check("close", f.name, err); f.hide || f.guard.opening.Load() {
		return nil
	}
	return err
}
