package sectorstest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

// Store is the interface of a store of sectors' files; package sectors describes each call.
type Store interface {
	Open(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorReader, error)
	Edit(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorFile, error)
	Replace(events.SectorRef, events.SectorPart, events.Bytes, func(events.SectorFile) error) error
	Note(events.SectorRef, string) ([]byte, error)
	SetNote(events.SectorRef, string, []byte) error
	Remove(events.SectorRef, events.SectorPart) error
	RemoveSector(events.SectorRef) error
	Usage(events.SectorRef) (events.SectorUsage, error)
	Sectors() []events.SectorRef
}

// World is a store together with what a test can do to it. Each test has its own.
type World struct {
	Store Store
	// Restart returns the store after a crash and a start.
	Restart func() Store
	// Full sets whether the disk is full.
	Full func(bool)
	// Cut shortens a part by a byte, and Flip flips a bit of a note, bypassing the store.
	Cut  func(events.SectorRef, events.SectorPart)
	Flip func(events.SectorRef, string)
}

var (
	one = events.SectorRef{Provider: events.Address{1}, Number: 1, Size: 2048}
	two = events.SectorRef{Provider: events.Address{1}, Number: 2, Size: 4096}
)

// Run runs the suite.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for name, test := range map[string]func(*testing.T, World){
		"what is not there":                  nothing,
		"a part is written in place":         inPlace,
		"a part is made as a whole":          asAWhole,
		"a part that fails leaves what was":  failing,
		"notes":                              notes,
		"each part is removed on its own":    removeParts,
		"a sector is removed":                removeSector,
		"all of it is there after a restart": restart,
		"damage is found":                    damage,
		"a full disk is named":               fullDisk,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

func nothing(t *testing.T, w World) {
	if _, err := w.Store.Open(one, events.SectorTree, 64); !errors.Is(err, events.ErrNoSectorPart) {
		t.Fatalf("open: %v", err)
	}
	if note, err := w.Store.Note(one, "pieces"); note != nil || err != nil {
		t.Fatalf("note: %q, %v", note, err)
	}
	for _, part := range events.SectorParts() {
		if err := w.Store.Remove(one, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Store.RemoveSector(one); err != nil {
		t.Fatal(err)
	}
	if usage := used(t, w.Store, one); usage != (events.SectorUsage{Sector: one}) {
		t.Fatalf("it occupies %+v", usage)
	}
	if all := w.Store.Sectors(); len(all) > 0 {
		t.Fatalf("there are %v", all)
	}
}

func used(t *testing.T, s Store, sector events.SectorRef) events.SectorUsage {
	t.Helper()
	usage, err := s.Usage(sector)
	if err != nil {
		t.Fatal(err)
	}
	return usage
}

func read(t *testing.T, s Store, part events.SectorPart, length events.Bytes) []byte {
	t.Helper()
	f, err := s.Open(one, part, length)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, length)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

// edit writes a byte into the unsealed part.
func edit(t *testing.T, s Store, at int64, b byte) {
	t.Helper()
	f, err := s.Edit(one, events.SectorUnsealed, one.Size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{b}, at); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func inPlace(t *testing.T, w World) {
	edit(t, w.Store, 2047, 7)
	edit(t, w.Store, 0, 9)
	want := make([]byte, 2048)
	want[0], want[2047] = 9, 7
	if got := read(t, w.Store, events.SectorUnsealed, 2048); !bytes.Equal(got, want) {
		t.Fatalf("read %x", got)
	}
	if usage := used(t, w.Store, one); usage.Parts[events.SectorUnsealed] == 0 || usage.Parts[events.SectorTree] != 0 {
		t.Fatalf("it occupies %+v", usage)
	}
}

func replace(s Store, part events.SectorPart, length events.Bytes, b byte) error {
	return s.Replace(one, part, length, func(f events.SectorFile) error {
		_, err := f.WriteAt(bytes.Repeat([]byte{b}, int(length)-1), 1)
		return err
	})
}

func asAWhole(t *testing.T, w World) {
	for _, b := range []byte{5, 6} { // The second replaces the first.
		length := events.Bytes(16 * b)
		if err := replace(w.Store, events.SectorTree, length, b); err != nil {
			t.Fatal(err)
		}
		want := append([]byte{0}, bytes.Repeat([]byte{b}, int(length)-1)...)
		if got := read(t, w.Store, events.SectorTree, length); !bytes.Equal(got, want) {
			t.Fatalf("read %x", got)
		}
	}
}

func failing(t *testing.T, w World) {
	if err := replace(w.Store, events.SectorTree, 64, 5); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	err := w.Store.Replace(one, events.SectorTree, 32, func(f events.SectorFile) error {
		_, err := f.WriteAt([]byte{1}, 0)
		return errors.Join(err, stop)
	})
	if !errors.Is(err, stop) {
		t.Fatalf("replace: %v", err)
	}
	if got := read(t, w.Store, events.SectorTree, 64); got[1] != 5 {
		t.Fatalf("read %x", got)
	}
}

func notes(t *testing.T, w World) {
	for _, text := range []string{"first", "", "second\n{}"} {
		if err := w.Store.SetNote(one, "pieces", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Store.Note(one, "pieces"); err != nil || string(got) != text {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if got, err := w.Store.Note(one, "seal"); got != nil || err != nil {
		t.Fatalf("another one is %q, %v", got, err)
	}
	if err := w.Store.SetNote(one, "pieces", make([]byte, 1<<20+1)); !errors.Is(err, events.ErrMalformed) {
		t.Fatalf("one that is too long: %v", err)
	}
}

func removeParts(t *testing.T, w World) {
	edit(t, w.Store, 0, 1)
	for _, part := range []events.SectorPart{events.SectorSealed, events.SectorTree, events.SectorScratch} {
		if err := replace(w.Store, part, 64, 1); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range events.SectorParts() {
		for range 2 {
			if err := w.Store.Remove(one, part); err != nil {
				t.Fatal(err)
			}
		}
		for j, other := range used(t, w.Store, one).Parts {
			if (other > 0) != (j > i) {
				t.Fatalf("after %s was removed, %s occupies %d bytes", part, events.SectorParts()[j], other)
			}
		}
	}
}

func removeSector(t *testing.T, w World) {
	edit(t, w.Store, 0, 1)
	if err := w.Store.SetNote(two, "pieces", []byte("two")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Store.RemoveSector(one); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]events.SectorRef{two}, w.Store.Sectors()); diff != "" {
		t.Fatal(diff)
	}
	if usage := used(t, w.Store, one); usage != (events.SectorUsage{Sector: one}) {
		t.Fatalf("it occupies %+v", usage)
	}
	edit(t, w.Store, 1, 1) // It may be created again.
	if got := read(t, w.Store, events.SectorUnsealed, 2048); got[0] != 0 || got[1] != 1 {
		t.Fatalf("read %x", got)
	}
}

func restart(t *testing.T, w World) {
	edit(t, w.Store, 3, 3)
	if err := w.Store.SetNote(one, "pieces", []byte("one")); err != nil {
		t.Fatal(err)
	}
	s := w.Restart()
	if note, err := s.Note(one, "pieces"); err != nil || string(note) != "one" {
		t.Fatalf("note %q, %v", note, err)
	}
	if got := read(t, s, events.SectorUnsealed, 2048); got[3] != 3 {
		t.Fatalf("read %x", got)
	}
	if diff := cmp.Diff([]events.SectorRef{one}, s.Sectors()); diff != "" {
		t.Fatal(diff)
	}
}

func damage(t *testing.T, w World) {
	edit(t, w.Store, 3, 3)
	larger := one
	larger.Size *= 2
	if _, err := w.Store.Open(larger, events.SectorUnsealed, larger.Size); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("the sector with another size: %v", err)
	}
	w.Cut(one, events.SectorUnsealed)
	if _, err := w.Store.Open(one, events.SectorUnsealed, one.Size); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("a part that is cut, read: %v", err)
	}
	if _, err := w.Store.Edit(one, events.SectorUnsealed, one.Size); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("a part that is cut, written: %v", err)
	}
	if err := w.Store.SetNote(one, "pieces", []byte("one")); err != nil {
		t.Fatal(err)
	}
	w.Flip(one, "pieces")
	if note, err := w.Store.Note(one, "pieces"); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("a note that is damaged: %q, %v", note, err)
	}
	if err := w.Store.SetNote(one, "pieces", []byte("again")); err != nil {
		t.Fatal(err)
	}
	if note, err := w.Store.Note(one, "pieces"); err != nil || string(note) != "again" {
		t.Fatalf("a note that was written anew: %q, %v", note, err)
	}
}

func fullDisk(t *testing.T, w World) {
	edit(t, w.Store, 3, 3)
	f, err := w.Store.Edit(one, events.SectorUnsealed, one.Size)
	if err != nil {
		t.Fatal(err)
	}
	w.Full(true)
	if _, err := f.WriteAt([]byte{1}, 0); !errors.Is(err, events.ErrDiskFull) {
		t.Fatalf("write: %v", err)
	}
	if err := replace(w.Store, events.SectorTree, 64, 1); !errors.Is(err, events.ErrDiskFull) {
		t.Fatalf("replace: %v", err)
	}
	w.Full(false)
	if _, err := w.Store.Open(one, events.SectorTree, 64); !errors.Is(err, events.ErrNoSectorPart) {
		t.Fatalf("what could not be made: %v", err)
	}
	if _, err := f.WriteAt([]byte{1}, 0); err != nil {
		t.Fatalf("write when there is room: %v", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), replace(w.Store, events.SectorTree, 64, 1)); err != nil {
		t.Fatal(err)
	}
}
