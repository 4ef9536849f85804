package embedded

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

// format1 is a disk with testdata/format1, a directory that a build of format 1 wrote: four
// sales, a ledger and a plain stream, a name and a correlation id with a NUL, and what format 1
// accepted unchecked: metadata, good and bad, a stream whose name now belongs to a virtual one,
// and a tombstone.
func format1(t *testing.T) *vfs.MemFS { return recordedDirectory(t, "testdata/format1") }

func recordedDirectory(t *testing.T, dir string) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	if ok, err := vfs.Clone(vfs.Default, disk, dir, "store", vfs.CloneSync); err != nil || !ok {
		t.Fatalf("copy the recorded directory: %v, %v", ok, err)
	}
	return disk
}

// wantVirtual demands that every virtual stream holds what the events say.
func wantVirtual(t *testing.T, s *Store) {
	t.Helper()
	all, err := collect(s.ReadAll(t.Context(), 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]events.Recorded{}
	for _, e := range all {
		for _, name := range events.VirtualOf(&e) {
			linked := e
			linked.Link = events.LinkTo(&e, name, uint64(len(want[name])))
			if linked, err = events.ResolveLink(t.Context(), s, linked); err != nil {
				t.Fatal(err)
			}
			want[name] = append(want[name], linked)
		}
	}
	if len(want) == 0 {
		t.Fatal("no event is in a virtual stream: this proves nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, err := collect(s.ReadStream(t.Context(), name, events.ReadStream{}))
		if diff := cmp.Diff(want[name], got); err != nil || diff != "" {
			t.Fatalf("%q: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if v, err := s.Verify(t.Context()); err != nil || !v.OK() {
		t.Fatalf("verification: %+v, %v", v, err)
	}
}

// wantFormat1 demands what format1 holds.
func wantFormat1(t *testing.T, s *Store) {
	t.Helper()
	wantVirtual(t, s)
	for stream, want := range map[string]int{
		"sale-a-0": 10, "sale-a-3": 6, "capacity-a": 20, "plain": 20, "nul\x00-1": 1,
		"$ce-sale": 36, "$bc-co\x00rr": 1, "$et-SlotFilled": 18, "$streams": 8, "$$plain": 1,
	} {
		all, err := collect(s.ReadStream(t.Context(), stream, events.ReadStream{}))
		all = slices.DeleteFunc(all, func(r events.Recorded) bool { return r.Gone() })
		if err != nil || len(all) != want {
			t.Errorf("%q has %d events, %v, want %d", stream, len(all), err, want)
		}
	}
	_, err := collect(s.ReadStream(t.Context(), "gone-1", events.ReadStream{}))
	if !errors.Is(err, events.ErrStreamDeleted) {
		t.Fatalf("reading behind a tombstone: %v", err)
	}
	e, err := collect(s.ReadStream(t.Context(), "sale-a-3", events.ReadStream{Limit: 1}))
	if err != nil || e[0].Revision != 4 || e[0].Meta.Node != "old" {
		t.Fatalf("the first event behind $tb: %+v, %v", e, err)
	}
}

func TestDirectoryOfFormat1IsUpgraded(t *testing.T) {
	disk := format1(t)
	s, report := mustOpen(t, "store", Config{FS: disk})
	if report.UpgradedFrom != 1 || report.Unread != 0 || !report.Clean || report.Last != 86 {
		t.Fatalf("report: %+v", report)
	}
	wantFormat1(t, s)
	// What the old build wrote is recognised and continued.
	result := mustAppend(t, s, "sale-a-0", 1)
	if result.Revision != 10 || result.Position != 87 {
		t.Fatalf("the next event: %+v", result)
	}
	last, err := collect(s.ReadStream(t.Context(), "$ce-sale", events.ReadStream{From: events.End, Backward: true, Limit: 1}))
	if err != nil || last[0].Position != 87 || last[0].Link.Revision != 40 {
		t.Fatalf("the virtual stream goes on with %+v, %v", last, err)
	}
	wantVirtual(t, s)
	mustClose(t, s)
	s, report = mustOpen(t, "store", Config{FS: disk})
	defer mustClose(t, s)
	if report.UpgradedFrom != 0 || !report.Clean {
		t.Fatalf("report of the second start: %+v", report)
	}
	wantVirtual(t, s)
	if got := string(fileBytes(t, disk, "store/"+formatFile)); got != fmt.Sprintf("%s%d\n", formatPrefix, formatVersion) {
		t.Fatalf("FORMAT says %q", got)
	}
}

// wantFormat2 checks the contents of testdata/format2, a directory that a build of format 2
// wrote: names with, without and before a dash, a link, numbers as correlation ids, metadata,
// and streams that were deleted, undeleted and tombstoned.
func wantFormat2(t *testing.T, s *Store) {
	t.Helper()
	wantVirtual(t, s)
	for name, want := range map[string]string{
		"$ce-sale":     "0@sale-1:gone 1@sale-1 2@sale-1 0@sale-2:gone 0@sale-3 1@sale-3 0@$$sale-2 0@sale-4:gone 0@$$sale-4:gone 1@sale-4",
		"$ce-pick":     "1@sale-1 1@pick-1",
		"$ce-gone":     "0@gone-1:gone 9223372036854775807@gone-1:gone 9223372036854775807@gone-2:gone",
		"$bc-7":        "0@sale-3",
		"$et-$deleted": "0@$$sale-2 0@$$sale-4:gone 9223372036854775807@gone-1:gone 9223372036854775807@gone-2:gone",
		"$streams": "0@sale-1:gone 0@sale-2:gone 0@plain 0@-lead 0@sale-3 0@pick-1 0@$$sale-1 0@$$sale-2 0@sale-4:gone " +
			"0@$$sale-4:gone 0@gone-1:gone",
		"$ce-plain": "", "$ce-": "",
	} {
		var got []string
		all, err := collect(s.ReadStream(t.Context(), name, events.ReadStream{}))
		for _, r := range all {
			if got = append(got, r.Link.Target); r.Gone() {
				got[len(got)-1] += ":gone"
			}
		}
		if strings.Join(got, " ") != want || want == "" != errors.Is(err, events.ErrStreamNotFound) {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestDirectoryOfFormat2HasItsIndexesMadeAnew(t *testing.T) {
	disk := recordedDirectory(t, "testdata/format2")
	s, report := mustOpen(t, "store", Config{FS: disk})
	if report.UpgradedFrom != 2 || report.Unread != 0 || !report.Clean {
		t.Fatalf("report: %+v", report)
	}
	wantFormat2(t, s)
	mustClose(t, s)
	s, report = mustOpen(t, "store", Config{FS: disk})
	defer mustClose(t, s)
	if report.UpgradedFrom != 0 {
		t.Fatalf("report of the second start: %+v", report)
	}
	wantFormat2(t, s)
}

// large is a directory of format 1 with enough events for several steps of an
// upgrade: one of format 2 without what format 1 does not have.
func large(t *testing.T, count int) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, _ := mustOpen(t, "store", Config{FS: disk})
	for n := 0; n < count; n += 1000 {
		var batch []events.NewEvent
		for i := range 1000 {
			e := numbered(n+i, 10)[0]
			e.Meta.Correlation = fmt.Sprint("c", (n+i)%17)
			batch = append(batch, e)
		}
		stream := fmt.Sprintf("s-%d", n/1000%7)
		if _, err := s.Append(t.Context(), stream, events.Any(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for _, letter := range []byte{prefixVirtual, prefixVirtualHead} {
		if err := s.db.DeleteRange([]byte{letter}, []byte{letter + 1}, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s)
	f, err := disk.Create("store/"+formatFile, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(formatPrefix + "1\n"))
	if err := errors.Join(err, f.Sync(), f.Close(), syncDir(disk, "store")); err != nil {
		t.Fatal(err)
	}
	return disk
}

func TestUpgradeGoesOnAfterAnyPowerCut(t *testing.T) {
	const count = 2*upgradeEvents + 1000
	disk := large(t, count)
	var kept []*vfs.MemFS
	s, _ := mustOpen(t, "store", Config{FS: disk, stepped: func(done events.Position) {
		nothing, all := vfs.CrashCloneCfg{}, vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: seeded(1)}
		kept = append(kept, disk.CrashClone(nothing), disk.CrashClone(all))
		if done != 2*upgradeEvents {
			return // Pebble looks at a torn log for a second or two.
		}
		torn := disk.CrashClone(all)
		path := "store/pebble/" + newestLog(t, torn)
		copyFile(t, torn, torn, path, len(fileBytes(t, torn, path))*2/3)
		kept = append(kept, torn)
	}})
	mustClose(t, s)
	if len(kept) != 2*3+1 {
		t.Fatalf("%d power cuts, want two behind each of 3 steps and one more", len(kept))
	}
	resumed := 0
	for n, disk := range kept {
		first := events.Position(0)
		cfg := Config{FS: disk, CacheBytes: DefaultCacheBytes}
		cfg.stepped = func(done events.Position) {
			if first == 0 {
				first = done
			}
		}
		s, report := mustOpen(t, "store", cfg)
		if report.UpgradedFrom != 1 || report.Last != count {
			t.Fatalf("cut %d: report %+v", n, report)
		}
		if first != upgradeEvents {
			resumed++
		}
		if v, err := s.Verify(t.Context()); err != nil || !v.OK() || v.Links < 2*count {
			t.Fatalf("cut %d: verification %+v, %v", n, v, err)
		}
		mustClose(t, s)
	}
	if resumed == 0 {
		t.Fatal("no upgrade went on where it was: all began anew")
	}
}

func TestUpgradeLeavesOutWhatIsDamaged(t *testing.T) {
	disk := format1(t)
	damage(t, disk, 5, 6, 50)
	s, report := mustOpen(t, "store", Config{FS: disk})
	defer mustClose(t, s)
	if report.UpgradedFrom != 1 || report.Unread != 3 {
		t.Fatalf("report: %+v", report)
	}
	v, err := s.Verify(t.Context())
	if err != nil || v.Events != 83 {
		t.Fatalf("verification: %+v, %v", v, err)
	}
	for _, f := range v.Findings {
		if f.Stream != "" { // Nothing but the events themselves.
			t.Fatalf("found %v", f)
		}
	}
	mustAppend(t, s, "sale-a-0", 1)
}

// damage changes a byte of stored events without the store's knowledge.
func damage(t *testing.T, disk vfs.FS, positions ...events.Position) {
	t.Helper()
	db, err := pebble.Open("store/"+dataDir, &pebble.Options{FS: disk, Logger: &logger{guard: newGuard(disk)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, position := range positions {
		value := record(t, db, position)
		value[len(value)-9] ^= 1
		put(appendEventKey(nil, position), value)(t, db)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
