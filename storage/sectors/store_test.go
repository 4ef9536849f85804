package sectors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

var (
	_ sectorstest.Store = (*Store)(nil)
	_ sectorstest.Store = (*sectorstest.Memory)(nil)
)

// fullFile is a file on a disk that may be full.
type fullFile struct {
	events.SectorFile
	full *error
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.full != nil {
		return 0, *f.full
	}
	return f.SectorFile.WriteAt(b, at)
}

func (f fullFile) Sync() error { return errors.Join(*f.full, f.SectorFile.Sync()) }

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheDiskIsAStoreOfSectors(t *testing.T) {
	sectorstest.Run(t, func(t *testing.T) sectorstest.World {
		dir := filepath.Join(t.TempDir(), "sectors")
		s := open(t, dir)
		var full error
		s.wrap = func(f events.SectorFile) events.SectorFile { return fullFile{f, &full} }
		return sectorstest.World{
			Store: s,
			Restart: func() sectorstest.Store {
				again := open(t, dir)
				if found := again.Findings(); len(found) > 0 {
					t.Fatal(found)
				}
				return again
			},
			Full: func(on bool) {
				full = nil
				if on {
					full = fmt.Errorf("write: %w: %w", events.ErrDiskFull, syscall.ENOSPC)
				}
			},
			Cut: func(ref events.SectorRef, part events.SectorPart) {
				if err := os.Truncate(s.path(ref, part.String()), int64(ref.Size)-1); err != nil {
					t.Fatal(err)
				}
			},
			Flip: func(ref events.SectorRef, title string) { flip(t, s.path(ref, title+noteEnd), -1) },
		}
	})
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[(at+len(b))%len(b)] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheFakeIsAStoreOfSectors(t *testing.T) {
	sectorstest.Run(t, func(*testing.T) sectorstest.World {
		m := sectorstest.NewMemory()
		return sectorstest.World{
			Store: m, Restart: func() sectorstest.Store { return m }, Full: m.SetFull,
			Cut: func(ref events.SectorRef, part events.SectorPart) {
				m.Change(ref, part, func(b []byte) []byte { return b[:len(b)-1] })
			},
			Flip: m.DamageNote,
		}
	})
}

var sector = events.SectorRef{Provider: events.Address{1}, Number: 7, Size: 2048}

// An operator deletes the directory of a sector while the host runs: that is seen at once, and it can be written again.
func TestADirectoryThatIsDeletedMeanwhileIsMadeAgain(t *testing.T) {
	s := open(t, t.TempDir())
	write := func() {
		t.Helper()
		f, err := s.Edit(sector, events.SectorUnsealed, sector.Size)
		if err == nil {
			err = errors.Join(f.Close(), s.SetNote(sector, "pieces", []byte("[]")))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := os.RemoveAll(s.path(sector)); err != nil {
		t.Fatal(err)
	}
	if all := s.Sectors(); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
	if _, err := s.Open(sector, events.SectorUnsealed, sector.Size); !errors.Is(err, events.ErrNoSectorPart) {
		t.Errorf("open: %v", err)
	}
	if note, err := s.Note(sector, "pieces"); note != nil || err != nil {
		t.Errorf("note: %q, %v", note, err)
	}
	write()
	again := open(t, s.dir)
	if found := again.Findings(); len(found) > 0 || len(again.Sectors()) != 1 || len(s.Sectors()) != 1 {
		t.Errorf("after a restart there are %v, found was %v", again.Sectors(), found)
	}
	if note, err := again.Note(sector, "pieces"); string(note) != "[]" || err != nil {
		t.Errorf("note: %q, %v", note, err)
	}
}

// The kernel's error for a full disk becomes ErrDiskFull in the store's own files: /dev/full takes
// nothing.
func TestWhatTheKernelSaysOfAFullDiskIsNamed(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := (part{f}).WriteAt([]byte{1}, 0); !errors.Is(err, events.ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %v", err)
	}
}

func TestAStartClearsWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.SetNote(sector, "pieces", []byte("x")); err != nil {
		t.Fatal(err)
	}
	left := []string{"tree.new", "unsealed.new", "pieces.note.123", "sector.json.77"}
	for _, name := range left {
		if err := os.WriteFile(s.path(sector, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trash := filepath.Join(dir, trashDir, "half-removed")
	if err := os.MkdirAll(trash, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"FORMAT.1", "PROBE.2"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	names := func(dir string) (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	if got := names(s.path(sector)); !slices.Equal(got, []string{"pieces.note", "sector.json"}) {
		t.Fatalf("the sector has %v", got)
	}
	if got := names(dir); !slices.Equal(got, []string{nameOf(sector).String(), "FORMAT"}) {
		t.Fatalf("the directory has %v", got)
	}
}

func TestWhatCannotBeReadAtAStartIsNamedAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, s *Store)
		says   string
	}{
		"no sector.json": {func(t *testing.T, s *Store) { remove(t, s.path(sector, metaName)) }, "no such file"},
		"a damaged one":  {func(t *testing.T, s *Store) { flip(t, s.path(sector, metaName), 0) }, "damaged on disk"},
		"that of another one": {func(t *testing.T, s *Store) {
			put(t, s.path(sector, metaName), `{"provider":"0x0200000000000000000000000000000000000000","number":7}`)
		}, "is that of sector 7 of 0x02"},
		"one without provider":  {func(t *testing.T, s *Store) { put(t, s.path(sector, metaName), `{}`) }, "malformed"},
		"one without end":       {func(t *testing.T, s *Store) { put(t, s.path(sector, metaName), strings.Repeat(" ", maxMeta+1)) }, "more than"},
		"a foreign directory":   {func(t *testing.T, s *Store) { mkdir(t, filepath.Join(s.dir, "lost+found")) }, "lost+found is no sector"},
		"another spelling":      {func(t *testing.T, s *Store) { mkdir(t, s.path(sector)[:len(s.path(sector))-1]+"07") }, "is no sector"},
		"a number too large":    {func(t *testing.T, s *Store) { mkdir(t, s.path(sector)+"99999999999999999999") }, "is no sector"},
		"a name without number": {func(t *testing.T, s *Store) { mkdir(t, filepath.Join(s.dir, strings.Repeat("01", 20))) }, "is no sector"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			if f, err := s.Edit(sector, events.SectorUnsealed, sector.Size); err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			c.damage(t, s)
			again := open(t, dir)
			found := again.Findings()
			if len(found) != 1 || !strings.Contains(found[0], c.says) {
				t.Fatalf("findings %q, want %q", found, c.says)
			}
			// A caller that knows the sector takes its files over.
			f, err := again.Edit(sector, events.SectorUnsealed, sector.Size)
			if err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			if third := open(t, dir); !slices.Contains(third.Sectors(), sector) {
				t.Fatalf("then there are %v", third.Sectors())
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestANewerLayoutIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	put(t, filepath.Join(dir, formatName), "2\n")
	if _, err := Open(dir, nil); !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), "use a newer program") {
		t.Fatal(err)
	}
}

func TestHolesOccupyNothing(t *testing.T) {
	s := open(t, t.TempDir())
	large := events.SectorRef{Provider: events.Address{1}, Number: 1, Size: 1 << 30}
	f, err := s.Edit(large, events.SectorUnsealed, large.Size)
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	usage, err := s.Usage(large)
	if err != nil || usage.Parts[events.SectorUnsealed] > 1<<20 || usage.Notes == 0 {
		t.Fatalf("%+v, %v", usage, err)
	}
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add([]byte(`{"provider":"0x0100000000000000000000000000000000000000","number":7,"size":2048}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decodeMeta(b); err != nil && !errors.Is(err, events.ErrSectorDamaged) {
			t.Fatal(err)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("0100000000000000000000000000000000000000-7")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseName(text); err == nil && n.String() != text {
			t.Fatalf("%q is %q", text, n)
		}
	})
}
