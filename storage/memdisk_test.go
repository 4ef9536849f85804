package storage

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errPowerCut = errors.New("power cut")

// memDisk is a disk in memory that can lose what was not synced. After a number of changes every
// call fails, as if the power was cut.
type memDisk struct {
	fs   *vfs.MemFS
	mu   sync.Mutex
	left int // changes until the power is cut; negative: never
	// refuses, if set, is the error of every change.
	refuses error
}

func newMemDisk() *memDisk { return &memDisk{fs: vfs.NewCrashableMem(), left: -1} }

// change counts a change, and fails when the power is cut.
func (d *memDisk) change() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses != nil {
		return d.refuses
	}
	if d.left == 0 {
		return errPowerCut
	}
	if d.left > 0 {
		d.left--
	}
	return nil
}

func (d *memDisk) refuse(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuses = err
}

func (d *memDisk) cutAfter(changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = changes
}

// afterCrash is the disk as it may look when the power is back: everything that was synced, and a
// random part of the rest.
func (d *memDisk) afterCrash(random *rand.Rand) *memDisk {
	clone := d.fs.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: random.IntN(101), RNG: random,
	})
	return &memDisk{fs: clone, left: -1}
}

func (d *memDisk) MkdirAll(path string) error {
	return errors.Join(d.change(), d.fs.MkdirAll(path, 0o755))
}

func (d *memDisk) Open(path string) (file, error) {
	f, err := d.fs.Open(path)
	return memFile{f, d}, err
}

func (d *memDisk) Edit(path string) (file, error) {
	if err := d.change(); err != nil {
		return nil, err
	}
	f, err := d.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	return memFile{f, d}, err
}

func (d *memDisk) Rename(from, to string) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.fs.Rename(from, to)
}

func (d *memDisk) RemoveAll(path string) error {
	if err := d.change(); err != nil {
		return err
	}
	err := d.fs.RemoveAll(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *memDisk) List(path string) ([]string, error) { return d.fs.List(path) }

func (d *memDisk) SyncDir(path string) error {
	if err := d.change(); err != nil {
		return err
	}
	dir, err := d.fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *memDisk) Sizes(path string) (length, occupied int64, err error) {
	info, err := d.fs.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.Size(), nil
}

func (d *memDisk) Free(string) (uint64, error) { return 1 << 40, d.change() }

type memFile struct {
	vfs.File
	disk *memDisk
}

func (f memFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.change(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func (f memFile) Sync() error {
	if err := f.disk.change(); err != nil {
		return err
	}
	return f.File.Sync()
}
