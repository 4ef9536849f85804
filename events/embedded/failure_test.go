package embedded

import (
	"context"
	"errors"
	"path"
	"runtime"
	"strings"
	"sync"
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
// that must hold then.
func failStore(t *testing.T, f *faulty) {
	s, _ := mustOpen(t, "store", Config{FS: f.fs()})
	acks := newAcknowledged()
	const most = 80 // of 800 KiB: three memory tables
	var failure error
	for n := 0; failure == nil && n < most; n++ {
		if n == 3 {
			f.armed.Store(true)
		}
		batch := numbered(n, 800<<10)
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

// gate is a disk whose log syncs wait until they are let through.
type gate struct {
	arrived chan struct{} // one per sync that waits
	pass    chan struct{} // closed to let all through
	on      atomic.Bool
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 1), pass: make(chan struct{})}
}

func (g *gate) fs() vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData ||
			op.Kind == errorfs.OpFileSyncTo
		if g.on.Load() && sync && strings.HasSuffix(op.Path, ".log") {
			select {
			case g.arrived <- struct{}{}:
			default:
			}
			<-g.pass
		}
		return nil
	}))
}

func TestWhatIsNotSyncedIsNotShown(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	defer mustClose(t, s)
	mustAppend(t, s, "a-1", 0)
	g.on.Store(true)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { mustAppend(t, s, "a-1", 1) })
	<-g.arrived
	// The batch is in pebble now, and pebble shows it.
	if _, closer, err := s.db.Get(appendEventKey(nil, 2)); err != nil {
		t.Fatalf("pebble does not show the batch, so this test proves nothing: %v", err)
	} else if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	if head, err := s.Head(t.Context()); err != nil || head != 1 {
		t.Fatalf("head is %d, %v, want 1", head, err)
	}
	forward := events.ReadStream{}
	backward := events.ReadStream{From: events.End, Backward: true}
	for _, q := range []events.ReadStream{forward, backward} {
		all, err := collect(s.ReadStream(t.Context(), "a-1", q))
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v: %d events, %v, want 1", q, len(all), err)
		}
	}
	if all, err := collect(s.ReadAll(t.Context(), 0, 0)); err != nil || len(all) != 1 {
		t.Fatalf("read all: %d events, %v, want 1", len(all), err)
	}
	if v, err := s.Verify(t.Context()); err != nil || !v.OK() || v.Events != 1 {
		t.Fatalf("verification beside a writer: %+v, %v", v, err)
	}
	close(g.pass)
}

func TestWaitingAppendsShareOneSync(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	g.on.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, s, "first-1", 0) })
	<-g.arrived
	const waiting = 100
	for n := range waiting {
		wg.Go(func() { mustAppend(t, s, "a-1", n+1) })
	}
	for len(s.requests) < waiting {
		runtime.Gosched()
	}
	close(g.pass)
	wg.Wait()
	want := Stats{Appends: waiting + 1, Events: waiting + 1, Syncs: 2}
	if got := s.Stats(); got != want {
		t.Fatalf("stats %+v, want %+v", got, want)
	}
	mustClose(t, s)
}

func TestCallerThatGivesUpInTimeWritesNothing(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	g.on.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	give := func(stream string) {
		_, err := s.Append(ctx, stream, events.NoStream(), numbered(1, 1))
		ended <- err
	}
	go give("taken-1")
	<-g.arrived
	go give("waiting-1")
	for len(s.requests) < 1 {
		runtime.Gosched()
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v, want the context's error", err)
		}
	}
	close(g.pass)
	mustAppend(t, s, "after-1", 2)
	all, err := collect(s.ReadAll(t.Context(), 0, 0))
	if err != nil || len(all) != 2 || all[0].Stream != "taken-1" || all[1].Stream != "after-1" {
		t.Fatalf("events %+v, %v, want those of taken-1 and after-1", all, err)
	}
	// The one whose outcome was unknown is repeated and recognised.
	result, err := s.Append(t.Context(), "taken-1", events.NoStream(), numbered(1, 1))
	if err != nil || !result.Repeated {
		t.Fatalf("repeated: %+v, %v", result, err)
	}
	mustClose(t, s)
}
