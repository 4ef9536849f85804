package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// settled is a store with events in tables and in the log, closed properly.
func settled(t *testing.T) (*vfs.MemFS, []events.Recorded) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, _ := mustOpen(t, "store", Config{FS: disk})
	for n := range 900 {
		mustAppend(t, s, fmt.Sprintf("s-%d", n%7), n)
		if n == 400 || n == 800 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := collect(s.ReadAll(t.Context(), 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	return disk, all
}

func TestFlippedBitsAreReportedAndNeverReadAsEvents(t *testing.T) {
	disk, want := settled(t)
	rng := rand.New(rand.NewPCG(7, 8))
	names, err := disk.List("store/pebble")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, name := range names {
		table, log := strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".log")
		// A flip in a table is slow: pebble tries every bit to find out which it was.
		rounds := 0
		if table {
			rounds = 3
		} else if log {
			rounds = 8
		}
		for range rounds {
			if testing.Short() && (outcomes["table "+readDamaged] > 0 && table || outcomes["log "+openRefused] > 0 && log) {
				break
			}
			kept := disk.CrashClone(vfs.CrashCloneCfg{})
			data, err := kept.UnsafeGetFileDataBuffer("store/pebble/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) == 0 {
				break
			}
			at := rng.IntN(len(data))
			if log { // Its end is space that was reserved and never written.
				at = rng.IntN(min(len(data), 4096))
			}
			data[at] ^= 1 << rng.IntN(8)
			outcome := examine(t, kept, want)
			if outcome == "" {
				t.Fatalf("%s, byte %d of %d: wrong events were read", name, at, len(data))
			}
			kind := "table "
			if log {
				kind = "log "
			}
			outcomes[kind+outcome]++
		}
	}
	t.Logf("outcomes: %v", outcomes)
	if outcomes["table "+readDamaged] == 0 || outcomes["log "+openRefused] == 0 {
		t.Fatalf("no flip was found where most must be: %v", outcomes)
	}
}

// The possible consequences of a flipped bit.
const (
	openRefused = "refused by open"
	readDamaged = "found by reading"
	harmless    = "without effect"
)

// examine opens a store and reads everything; empty when wrong data came out.
func examine(t *testing.T, disk vfs.FS, want []events.Recorded) string {
	t.Helper()
	s, _, err := Open("store", Config{FS: disk, CacheBytes: smallCache})
	if err != nil {
		_ = wantDamaged(t, err)
		return openRefused
	}
	got, err := collect(s.ReadAll(t.Context(), 0, 0))
	damage := err != nil
	if damage && wantDamaged(t, err).Position != events.Position(len(got)+1) {
		t.Fatalf("%d events were read, then %v", len(got), err)
	}
	if !slices.EqualFunc(want[:len(got)], got, sameEvent) || !damage && len(got) != len(want) {
		return ""
	}
	for n := range 7 {
		stream := fmt.Sprintf("s-%d", n)
		part, err := collect(s.ReadStream(t.Context(), stream, events.ReadStream{}))
		if err != nil {
			damage = true
			if d := wantDamaged(t, err); d.Stream != stream {
				t.Fatalf("reading %s: %v", stream, err)
			}
		}
		whole := slices.DeleteFunc(slices.Clone(want), func(r events.Recorded) bool {
			return r.Stream != stream
		})
		if !slices.EqualFunc(whole[:len(part)], part, sameEvent) {
			return ""
		}
	}
	v, err := s.Verify(t.Context())
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if damage && v.OK() {
		t.Fatal("reading found damage that Verify did not find")
	}
	damage = damage || !v.OK()
	_ = s.Close() // Pebble may report what it could not load.
	if damage {
		return readDamaged
	}
	return harmless
}

func sameEvent(a, b events.Recorded) bool {
	same := bytes.Equal(a.Data, b.Data) && a.Recorded.Equal(b.Recorded)
	a.Data, b.Data, a.Recorded, b.Recorded = nil, nil, time.Time{}, time.Time{}
	return same && reflect.DeepEqual(a, b)
}

// TestVerifyFindsWhatIsWrong changes stored values behind the checksums of
// pebble, as a bug or bad memory would.
func TestVerifyFindsWhatIsWrong(t *testing.T) {
	index := appendIndexKey(nil, "s-3", 5)
	entry := appendIndexEntry(nil, indexEntry{1, events.NewEventID("test", "event", 0)})
	for _, c := range []struct {
		name   string
		change func(t *testing.T, db *pebble.DB)
		want   Finding // without the problem's details
		reason error
	}{
		{"a changed byte", flipRecord, Finding{Position: 39}, errChecksum},
		{"an event that is gone", drop(appendEventKey(nil, 39)), Finding{Position: 39}, errMissing},
		{"an event in another's place", moveRecord, Finding{Position: 39}, errIndex},
		{
			"an index entry that is gone", drop(index),
			Finding{Position: 39, Stream: "s-3", Revision: 5},
			pebble.ErrNotFound,
		},
		{
			"an index entry that points elsewhere", put(index, entry),
			Finding{Position: 39, Stream: "s-3", Revision: 5},
			errIndex,
		},
		{
			"an index entry of the wrong size", put(index, entry[1:]),
			Finding{Position: 39, Stream: "s-3", Revision: 5},
			errLayout,
		},
		{
			"a head that is too high", put(appendHeadKey(nil, "s-3"), appendHead(nil, head{count: 99})),
			Finding{Stream: "s-3", Revision: 9},
			errHead,
		},
		{
			"a head that is gone", drop(appendHeadKey(nil, "s-3")),
			Finding{Stream: "s-3", Revision: 9},
			errHead,
		},
		{
			"a head without a stream", put(appendHeadKey(nil, "none-1"), appendHead(nil, head{count: 1})),
			Finding{Stream: "none-1"},
			errHead,
		},
		{"a key that is none of ours", put([]byte{prefixIndex, 1, 2}, nil), Finding{}, errKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
			defer mustClose(t, s)
			for n := range 70 {
				mustAppend(t, s, fmt.Sprintf("s-%d", n%7), n)
			}
			if v, err := s.Verify(t.Context()); err != nil || !v.OK() ||
				v.Events != 70 || v.Streams != 7 || v.Entries != 70 || v.Links != 3*70+7 {
				t.Fatalf("before: %+v, %v", v, err)
			}
			c.change(t, s.db)
			v, err := s.Verify(t.Context())
			if err != nil || v.OK() {
				t.Fatalf("nothing was found: %+v, %v", v, err)
			}
			f := v.Findings[0]
			if !strings.Contains(f.Problem, c.reason.Error()) {
				t.Fatalf("found %v, want %v", f, c.reason)
			}
			f.Problem, f.Through = "", 0
			if f != c.want {
				t.Fatalf("found %+v, want %+v", f, c.want)
			}
		})
	}
}

func put(key, value []byte) func(*testing.T, *pebble.DB) {
	return func(t *testing.T, db *pebble.DB) {
		if err := db.Set(key, value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
}

func drop(key []byte) func(*testing.T, *pebble.DB) {
	return func(t *testing.T, db *pebble.DB) {
		if err := db.Delete(key, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
}

func record(t *testing.T, db *pebble.DB, position events.Position) []byte {
	t.Helper()
	value, closer, err := db.Get(appendEventKey(nil, position))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return slices.Clone(value)
}

func flipRecord(t *testing.T, db *pebble.DB) {
	value := record(t, db, 39)
	value[len(value)-20] ^= 1
	put(appendEventKey(nil, 39), value)(t, db)
}

func moveRecord(t *testing.T, db *pebble.DB) {
	put(appendEventKey(nil, 39), record(t, db, 40))(t, db)
}

func TestDamagedEventNamesStreamRevisionAndPosition(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *pebble.DB){
		"changed": flipRecord, "moved": moveRecord, "gone": drop(appendEventKey(nil, 39)),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
			defer mustClose(t, s)
			for n := range 70 {
				mustAppend(t, s, fmt.Sprintf("s-%d", n%7), n)
			}
			change(t, s.db)
			for _, q := range []events.ReadStream{{}, {From: events.End, Backward: true}} {
				_, err := collect(s.ReadStream(t.Context(), "s-3", q))
				d := wantDamaged(t, err)
				if d.Stream != "s-3" || d.Revision != 5 || d.Position != 39 {
					t.Fatalf("%+v: damage at %+v", q, d)
				}
			}
			before, err := collect(s.ReadAll(t.Context(), 0, 0))
			if d := wantDamaged(t, err); d.Position != 39 || len(before) != 38 {
				t.Fatalf("read all: %d events, then %v", len(before), err)
			}
			if after, err := collect(s.ReadAll(t.Context(), 39, 0)); err != nil || len(after) != 31 {
				t.Fatalf("behind the damage: %d events, %v", len(after), err)
			}
			// The store goes on in spite of a damaged event.
			mustAppend(t, s, "s-3", 1000)
		})
	}
}

func TestOpenRefusesWhatItMustNotTouch(t *testing.T) {
	write := func(disk vfs.FS, name, text string) {
		f, err := disk.Create("store/"+name, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.Write([]byte(text))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, file, text string
		want             error
	}{
		{"a newer format", formatFile, fmt.Sprintf("%s%d\n", formatPrefix, formatVersion+1), ErrNewerFormat},
		{"a format that is no number", formatFile, formatPrefix + "one\n", ErrNotAStore},
		{"format zero", formatFile, formatPrefix + "0\n", ErrNotAStore},
		{"something else's format", formatFile, "tar\n", ErrNotAStore},
		{"something else's files", "holiday.jpg", "", ErrNotAStore},
	} {
		disk := vfs.NewMem()
		if err := disk.MkdirAll("store", 0o700); err != nil {
			t.Fatal(err)
		}
		write(disk, c.file, c.text)
		if _, _, err := Open("store", Config{FS: disk}); !errors.Is(err, c.want) {
			t.Fatalf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	disk := vfs.NewMem()
	s, _ := mustOpen(t, "store", Config{FS: disk})
	if _, _, err := Open("store", Config{FS: disk}); !errors.Is(err, ErrInUse) {
		t.Fatalf("opened twice: %v, want in use", err)
	}
	mustClose(t, s)
	s, _ = mustOpen(t, "store", Config{FS: disk})
	mustClose(t, s)
}
