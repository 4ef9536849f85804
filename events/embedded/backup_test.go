package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// wantCopy checks that a directory is a store that was closed properly and has what was
// acknowledged.
func wantCopy(t *testing.T, fsys vfs.FS, dir string, made BackupReport, acks map[events.Position]place) {
	t.Helper()
	s, report := mustOpen(t, dir, Config{FS: fsys})
	defer mustClose(t, s)
	if !report.Clean || report.Created || report.Lost != 0 || report.Last != made.Last || made.Files == 0 || made.Bytes == 0 {
		t.Fatalf("the copy opens with %+v, the backup said %+v", report, made)
	}
	if problem, err := missing(t.Context(), s, acks); err != nil || problem != "" {
		t.Fatalf("the copy: %s, %v", problem, err)
	}
	// It is a store of its own.
	if result := mustAppend(t, s, "copy-1", 0); result.Position != made.Last+1 {
		t.Fatalf("the next event of the copy: %+v, want it behind %d", result, made.Last)
	}
}

func TestBackupBesideWritersHasWhatWasAcknowledged(t *testing.T) {
	for name, c := range map[string]struct {
		fs  vfs.FS
		dir string
	}{
		"in memory": {vfs.NewMem(), "disk"},
		"on disk":   {vfs.Default, t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := mustOpen(t, c.fs.PathJoin(c.dir, "store"), Config{FS: c.fs})
			acks := newAcknowledged()
			for round := range 4 {
				ctx, cancel := context.WithCancel(t.Context())
				writers := load(ctx, s, fmt.Sprint("round", round), 8, acks)
				before := acks.wait(len(acks.wait(0)) + 100)
				dir := c.fs.PathJoin(c.dir, "backups", fmt.Sprint(round))
				made, err := s.Backup(t.Context(), dir)
				cancel()
				writers.Wait()
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				wantCopy(t, c.fs, dir, made, before)
				if round == 1 { // From now on there are tables.
					if err := s.db.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if problem, err := missing(t.Context(), s, acks.wait(0)); err != nil || problem != "" {
				t.Fatalf("the store itself: %s, %v", problem, err)
			}
			mustClose(t, s)
		})
	}
}

func TestBackupHasNoEventThatIsNotSynced(t *testing.T) {
	g := newGate()
	fsys := g.fs()
	s, _ := mustOpen(t, "store", Config{FS: fsys})
	acks := newAcknowledged()
	result := mustAppend(t, s, "a-1", 0)
	acks.add(result.Position, place{"a-1", 0, numbered(0, 1)[0].ID})
	g.on.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, s, "a-1", 1) })
	<-g.arrived
	g.on.Store(false) // The copy syncs too; the store's sync still waits.
	made, err := s.Backup(t.Context(), "backup")
	if err != nil || made.Last != 1 {
		t.Fatalf("backup beside a sync that hangs: %+v, %v", made, err)
	}
	g.release()
	wg.Wait()
	wantCopy(t, fsys, "backup", made, acks.wait(1))
	mustClose(t, s)
}

// backupDisk is a disk in memory where chosen changes below "backup" fail.
type backupDisk struct {
	*vfs.MemFS
	fails atomic.Pointer[func(errorfs.Op) error]
}

func (d *backupDisk) fs() vfs.FS {
	return errorfs.Wrap(d.MemFS, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f := d.fails.Load(); f != nil && (strings.HasPrefix(op.Path, "backup") || op.Kind == errorfs.OpLink) &&
			op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return (*f)(op)
		}
		return nil
	}))
}

func (d *backupDisk) set(f func(errorfs.Op) error) { d.fails.Store(&f) }

// backedUp is a store with tables and a log on such a disk.
func backedUp(t *testing.T) (*backupDisk, *Store, map[events.Position]place) {
	t.Helper()
	d := &backupDisk{MemFS: vfs.NewMem()}
	s, _ := mustOpen(t, "store", Config{FS: d.fs()})
	acks := newAcknowledged()
	for n := range 30 {
		result := mustAppend(t, s, "a-1", n)
		acks.add(result.Position, place{"a-1", result.Revision, numbered(n, 1)[0].ID})
		if n == 20 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d, s, acks.wait(30)
}

func TestBackupThatFailsAnywhereHarmsNothing(t *testing.T) {
	for _, from := range []bool{false, true} { // One change fails; all changes fail from this one on.
		d, s, acks := backedUp(t)
		failures := 0
		for at := 0; ; at++ {
			var count atomic.Int64
			d.set(func(errorfs.Op) error {
				if n := int(count.Add(1)) - 1; n == at || from && n > at {
					return syscall.ENOSPC
				}
				return nil
			})
			dir := fmt.Sprintf("backup/%d", at)
			made, err := s.Backup(t.Context(), dir)
			d.set(func(errorfs.Op) error { return nil })
			if err == nil && int(count.Load()) <= at {
				wantCopy(t, d.fs(), dir, made, acks)
				break
			}
			failures++
			if err == nil {
				// The failure had no consequences, as that of removing an old log.
				wantCopy(t, d.fs(), dir, made, acks)
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("change %d: %v, want the disk's error", at, err)
			} else {
				wantNoCopy(t, d, dir, from)
			}
			mustAppend(t, s, "b-1", at)
		}
		if failures < 20 {
			t.Fatalf("only %d changes could fail: this is no backup", failures)
		}
		mustClose(t, s)
	}
}

// wantNoCopy checks that nothing is left, or, if the disk allowed no removal, nothing that Open
// accepts.
func wantNoCopy(t *testing.T, d *backupDisk, dir string, stuck bool) {
	t.Helper()
	names, err := d.List(dir)
	if !stuck && (err == nil || !errors.Is(err, os.ErrNotExist)) {
		t.Fatalf("%s is left with %v, %v", dir, names, err)
	}
	if err != nil || len(names) == 0 {
		return
	}
	s, _, err := Open(dir, Config{FS: d.MemFS, CacheBytes: smallCache})
	if errors.Is(err, ErrNotAStore) {
		return
	}
	if err != nil {
		t.Fatalf("%s is left with %v: %v, want no store", dir, names, err)
	}
	// The very last change, making the name FORMAT durable, has failed.
	if v, err := s.Verify(t.Context()); err != nil || !v.OK() || v.Events < 30 {
		t.Fatalf("%s looks whole and is not: %+v, %v", dir, v, err)
	}
	mustClose(t, s)
}

func TestBackupCopiesWhereNoLinksAre(t *testing.T) {
	for _, why := range []error{syscall.EXDEV, syscall.EPERM, syscall.EOPNOTSUPP} {
		d, s, acks := backedUp(t)
		links := 0
		d.set(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpLink {
				links++
				return &os.LinkError{Op: "link", Old: "a", New: "b", Err: why}
			}
			return nil
		})
		made, err := s.Backup(t.Context(), "backup")
		if err != nil || links == 0 {
			t.Fatalf("%v: %v after %d links", why, err, links)
		}
		wantCopy(t, d.fs(), "backup", made, acks)
		mustClose(t, s)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	d, s, _ := backedUp(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.set(func(op errorfs.Op) error {
		if strings.HasPrefix(filepath.Base(op.Path), "MANIFEST") {
			cancel()
		}
		return nil
	})
	if _, err := s.Backup(ctx, "backup"); !errors.Is(err, context.Canceled) {
		t.Fatalf("backup: %v", err)
	}
	wantNoCopy(t, d, "backup", false)
	mustAppend(t, s, "b-1", 1)
	mustClose(t, s)
}

func TestCloseEndsABackup(t *testing.T) {
	d, s, _ := backedUp(t)
	closed := make(chan error)
	var once sync.Once
	d.set(func(errorfs.Op) error {
		once.Do(func() {
			go func() { closed <- s.Close() }()
			for s.usable(context.Background()) == nil {
				runtime.Gosched()
			}
		})
		return nil
	})
	if _, err := s.Backup(t.Context(), "backup"); !errors.Is(err, events.ErrClosed) {
		t.Fatalf("backup: %v", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	wantNoCopy(t, d, "backup", false)
}

func TestBackupRefusesWhatIsNoPlaceForIt(t *testing.T) {
	root := t.TempDir()
	store := filepath.Join(root, "store")
	s, _ := mustOpen(t, store, Config{})
	mustAppend(t, s, "a-1", 1)
	full, link := filepath.Join(root, "full"), filepath.Join(root, "link")
	for _, err := range []error{
		os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, "photo"), nil, 0o600), os.Symlink(store, link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{
		full, filepath.Join(full, "photo"), store, filepath.Join(store, "backup"), filepath.Join(store, "x", "..", "y"),
		link, filepath.Join(link, "backup"),
	} {
		if _, err := s.Backup(t.Context(), dir); !errors.Is(err, ErrBackupTarget) {
			t.Errorf("%s: %v, want a refusal", dir, err)
		}
	}
	// An existing empty directory is accepted, and stays when a backup fails.
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := s.Backup(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	wantCopy(t, vfs.Default, empty, made, nil)
	mustClose(t, s)
	if _, err := s.Backup(t.Context(), filepath.Join(root, "late")); !errors.Is(err, events.ErrClosed) {
		t.Fatalf("backup of a closed store: %v", err)
	}
}

func TestOneBackupAtATime(t *testing.T) {
	d, s, _ := backedUp(t)
	var second error
	var once sync.Once
	d.set(func(errorfs.Op) error {
		once.Do(func() { _, second = s.Backup(context.Background(), "backup2") })
		return nil
	})
	if _, err := s.Backup(t.Context(), "backup"); err != nil || !errors.Is(second, ErrBackupRunning) {
		t.Fatalf("backups: %v, and %v, want a refusal", err, second)
	}
	mustClose(t, s)
}
