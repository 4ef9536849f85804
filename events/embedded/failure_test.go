package embedded

import (
	"errors"
	"path"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/hostnode/hostnode/events"
)

// faulty is a disk in memory on which chosen operations fail once it is armed.
type faulty struct {
	disk  *vfs.MemFS
	armed atomic.Bool
	fails func(errorfs.Op) bool
}

func (f *faulty) fs() vfs.FS {
	return errorfs.Wrap(f.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f.armed.Load() && f.fails(op) {
			return syscall.ENOSPC
		}
		return nil
	}))
}

// onFile matches operations of some kinds on files whose names match.
func onFile(pattern string, kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		matched, err := path.Match(pattern, path.Base(op.Path))
		for _, kind := range kinds {
			if err == nil && matched && op.Kind == kind {
				return true
			}
		}
		return false
	}
}

func TestDiskFailureStopsAppendsAndKeepsWhatWasAcknowledged(t *testing.T) {
	const (
		write, writeAt = errorfs.OpFileWrite, errorfs.OpFileWriteAt
		sync, data, to = errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo
		create, reuse  = errorfs.OpCreate, errorfs.OpReuseForWrite
	)
	for _, c := range []struct {
		name  string
		fails func(errorfs.Op) bool
	}{
		{"the log cannot be written", onFile("*.log", write)},
		{"the log cannot be synced", onFile("*.log", sync, data, to)},
		{"no further log can be created", onFile("*.log", create, reuse)},
		{"no table can be created", onFile("*.sst", create)},
		{"no table can be written", onFile("*.sst", write)},
		{"no table can be synced", onFile("*.sst", sync, data, to)},
		{"the manifest cannot be written", onFile("MANIFEST*", write)},
		{"the manifest cannot be synced", onFile("MANIFEST*", sync, data, to)},
		{"the directory cannot be synced", onFile("pebble", sync, data, to)},
		{"the mark cannot be written", onFile(markFile, writeAt)},
		{"nothing can be written at all", func(op errorfs.Op) bool {
			return op.Kind.ReadOrWrite() == errorfs.OpIsWrite
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &faulty{disk: vfs.NewCrashableMem(), fails: c.fails}
			failStore(t, f)
		})
	}
}

// failStore writes large events until the store fails, and checks everything
// that must hold then. The memory tables are small, and the events with them, so
// that the same number of tables is filled with a sixteenth of the bytes.
func failStore(t *testing.T, f *faulty) {
	s, _ := mustOpen(t, "store", Config{FS: f.fs(), memTable: memTableBytes / 16})
	acks := newAcknowledged()
	const most = 80 // of 50 KiB: three memory tables
	var failure error
	for n := 0; failure == nil && n < most; n++ {
		if n == 3 {
			f.armed.Store(true)
		}
		batch := numbered(n, 50<<10)
		result, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)), batch)
		if failure = err; err == nil {
			acks.add(result.Position, place{"a-1", result.Revision, batch[0].ID})
		}
	}
	if !errors.Is(failure, events.ErrStoreFailed) || !errors.Is(failure, syscall.ENOSPC) {
		t.Fatalf("the append ended with %v, want a failed store because of a full disk", failure)
	}
	_, err := s.Append(t.Context(), "b-1", events.Any(), numbered(1, 1))
	if !errors.Is(err, events.ErrStoreFailed) {
		t.Fatalf("the next append: %v", err)
	}
	seen, err := collect(s.Subscribe(t.Context(), 0))
	if !errors.Is(err, events.ErrStoreFailed) || len(seen) != len(acks.all) {
		t.Fatalf("subscription: %d events of %d, %v", len(seen), len(acks.all), err)
	}
	if all, err := collect(s.ReadAll(t.Context(), 0, 0)); err != nil || len(all) != len(acks.all) {
		t.Fatalf("read: %d events of %d, %v", len(all), len(acks.all), err)
	}
	// The disk works again, but this store must not touch it any more.
	f.armed.Store(false)
	_, err = s.Append(t.Context(), "b-1", events.Any(), numbered(1, 1))
	if !errors.Is(err, events.ErrStoreFailed) {
		t.Fatalf("an append after the disk has recovered: %v", err)
	}
	kept := f.disk.CrashClone(vfs.CrashCloneCfg{})
	_ = s.Close() // It may report the failure again.

	for what, disk := range map[string]vfs.FS{"same disk": f.disk, "after a power cut": kept} {
		again, report := mustOpen(t, "store", Config{FS: disk})
		if report.Clean {
			t.Fatalf("%s: the shutdown is called clean", what)
		}
		if problem, err := missing(t.Context(), again, acks.all); err != nil || problem != "" {
			t.Fatalf("%s: %s, %v", what, problem, err)
		}
		mustClose(t, again)
	}
}

func TestOpenOnAFullDiskFailsWithoutHarm(t *testing.T) {
	f := &faulty{disk: vfs.NewMem(), fails: func(op errorfs.Op) bool {
		return op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpLock &&
			op.Kind != errorfs.OpFileClose
	}}
	s, _ := mustOpen(t, "store", Config{FS: f.fs()})
	mustAppend(t, s, "a-1", 1)
	mustClose(t, s)
	f.armed.Store(true)
	if _, _, err := Open("store", Config{FS: f.fs()}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("open: %v, want no space", err)
	}
	f.armed.Store(false)
	s, report := mustOpen(t, "store", Config{FS: f.fs()})
	defer mustClose(t, s)
	if report.Last != 1 {
		t.Fatalf("report: %+v", report)
	}
}

func TestOpenWhileTheDiskFailsEndsWithoutHarm(t *testing.T) {
	var n, at atomic.Int64
	f := &faulty{disk: vfs.NewCrashableMem()}
	f.fails = func(op errorfs.Op) bool {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose {
			return false
		}
		return n.Add(1) > at.Load()
	}
	s, _ := mustOpen(t, "store", Config{FS: f.disk})
	acks := newAcknowledged()
	for n := range 30 {
		result := mustAppend(t, s, "a-1", n)
		acks.add(result.Position, place{"a-1", result.Revision, numbered(n, 1)[0].ID})
	}
	kept := f.disk.CrashClone(vfs.CrashCloneCfg{})
	mustClose(t, s)
	f.disk = kept
	for ; ; at.Add(1) {
		n.Store(0)
		f.armed.Store(true)
		s, _, err := Open("store", Config{FS: f.fs(), CacheBytes: smallCache})
		f.armed.Store(false)
		if err == nil && n.Load() <= at.Load() {
			mustClose(t, s)
			break
		}
		if err == nil {
			_ = s.Close() // The change that failed came from the committer.
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("open with change %d failing: %v", at.Load(), err)
		}
		again, _ := mustOpen(t, "store", Config{FS: f.disk.CrashClone(vfs.CrashCloneCfg{})})
		if problem, err := missing(t.Context(), again, acks.all); err != nil || problem != "" {
			t.Fatalf("after change %d failed: %s, %v", at.Load(), problem, err)
		}
		mustClose(t, again)
	}
	if at.Load() < 20 {
		t.Fatalf("only %d changes could fail", at.Load())
	}
}
