package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// lines keeps what is logged as an error.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Debugf(string, ...any) {}

func (l *lines) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}

// flipTable flips a bit in the middle of the first table with that many bytes of a store.
func flipTable(t *testing.T, disk *vfs.MemFS) {
	t.Helper()
	names, err := disk.List("store/pebble")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			data, err := disk.UnsafeGetFileDataBuffer("store/pebble/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/4] ^= 1
			return
		}
	}
	t.Fatal("there is no table")
}

func TestADamagedTableIsToldOnceAndStopsAppendsWithWhatToDo(t *testing.T) {
	disk, _ := settled(t)
	flipTable(t, disk)
	log := &lines{}
	s, _ := mustOpen(t, "store", Config{FS: disk, Log: log})
	s.guard.pause = 0
	// As a compaction does again and again.
	for range 20 {
		if _, err := collect(s.ReadAll(t.Context(), 0, 0)); !errors.Is(err, events.ErrDamaged) {
			t.Fatalf("reading: %v", err)
		}
	}
	err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false)
	if err == nil {
		t.Fatal("the damaged table was compacted")
	}
	<-s.guard.failed
	_, err = s.Append(t.Context(), "new", events.Any(), numbered(1, 10))
	if !errors.Is(err, events.ErrStoreFailed) || !errors.Is(err, events.ErrDamaged) ||
		!strings.Contains(err.Error(), "hostnode repair") || strings.Contains(err.Error(), "\n") {
		t.Errorf("an append is answered: %v", err)
	}
	if r, err := collect(s.ReadStream(t.Context(), "s-1", events.ReadStream{From: events.End, Backward: true, Limit: 1})); err != nil || len(r) != 1 {
		t.Errorf("what is elsewhere cannot be read: %v", err)
	}
	_ = s.Close() // Pebble may report what it could not do.
	said := log.said()
	if len(said) == 0 || len(said) > 3 || strings.Contains(strings.Join(said, ""), "\n") {
		t.Errorf("%d lines were logged: %q", len(said), said)
	}
}

func TestWhatIsLeftOfADamagedStoreCanBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		hurt    func(t *testing.T, disk *vfs.MemFS)
		kept    func(events.Position) bool
		problem string
	}{
		"nothing is damaged": {func(*testing.T, *vfs.MemFS) {}, func(p events.Position) bool { return p == 900 }, ""},
		"a table":            {flipTable, func(p events.Position) bool { return p > 0 && p < 900 }, "mismatch"},
		"FORMAT is missing": {func(t *testing.T, disk *vfs.MemFS) {
			if err := disk.Remove("store/" + formatFile); err != nil {
				t.Fatal(err)
			}
		}, func(p events.Position) bool { return p == 900 }, "FORMAT file: it is missing"},
		"FORMAT is damaged": {func(t *testing.T, disk *vfs.MemFS) {
			data, err := disk.UnsafeGetFileDataBuffer("store/" + formatFile)
			if err != nil {
				t.Fatal(err)
			}
			data[4] ^= 1
		}, func(p events.Position) bool { return p == 900 }, "FORMAT file: it says"},
		"the manifest is not named": {func(t *testing.T, disk *vfs.MemFS) {
			names, err := disk.List("store/pebble")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if strings.HasPrefix(name, "marker.manifest") {
					err = disk.Remove("store/pebble/" + name)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}, func(p events.Position) bool { return p == 0 }, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			disk, want := settled(t)
			c.hurt(t, disk)
			if s, _, err := Open("store", Config{FS: disk.CrashClone(vfs.CrashCloneCfg{})}); err == nil {
				_ = s.Close() // Damage of a table is found by reading.
			} else if _ = wantDamaged(t, err); c.problem == "" {
				t.Fatal(err)
			}
			s, found, err := Salvage(t.Context(), "store", Config{FS: disk, CacheBytes: smallCache})
			if err != nil {
				t.Fatal(err)
			}
			if !c.kept(found.Kept) || found.Last != 900 && found.Last != 0 || found.Readable < uint64(found.Kept) {
				t.Errorf("found %+v", found)
			}
			if (found.Problem != nil) != (c.problem != "") ||
				found.Problem != nil && !strings.Contains(found.Problem.Error(), c.problem) {
				t.Errorf("the problem is %v, want %q", found.Problem, c.problem)
			}
			if s == nil {
				return
			}
			got, err := collect(s.ReadAll(t.Context(), 0, int(found.Kept)))
			if err != nil || len(got) != int(found.Kept) || !sameEvent(got[len(got)-1], want[len(got)-1]) {
				t.Errorf("%d events were read, %v", len(got), err)
			}
			mustClose(t, s)
		})
	}
}

func TestAStoreWithoutAMarkSaysThatItDoesNotKnow(t *testing.T) {
	disk, _ := settled(t)
	data, err := disk.UnsafeGetFileDataBuffer("store/" + markFile)
	if err != nil {
		t.Fatal(err)
	}
	data[7] ^= 1
	s, report := mustOpen(t, "store", Config{FS: disk})
	mustClose(t, s)
	if !report.Unmarked || report.Clean || report.Last != 900 {
		t.Fatalf("report: %+v", report)
	}
	if s, report = mustOpen(t, "store", Config{FS: disk}); report.Unmarked || !report.Clean {
		t.Fatalf("the next time: %+v", report)
	}
	mustClose(t, s)
}
