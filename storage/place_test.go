package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func mustDo(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A directory that was moved is not mistaken for slots that are lost: nothing is written where it was, and it is used
// again when it is back. An empty directory in its place is what an unmounted disk leaves.
func TestARepoWhoseDirectoryIsAwayReadsAndWritesNothing(t *testing.T) {
	d := prepared(t, 3, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	for name, mountPoint := range map[string]bool{"moved": false, "not mounted": true} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			dir, elsewhere := filepath.Join(data, "slots"), filepath.Join(data, "elsewhere")
			place := &Place{Dir: dir, Memory: filepath.Join(data, "slots.id")}
			r := openRepo(t, dir, Config{Place: place})
			f := fetcherFor(t, r, FetcherConfig{}, o)
			job, other := jobFor(d, 0), jobFor(d, 1)
			mustDownload(t, f, job)
			reader, err := r.Reader(job.Slot)
			mustDo(t, err, os.Rename(dir, elsewhere))
			if mountPoint {
				mustDo(t, os.Mkdir(dir, 0o755))
			}
			ctx, block := t.Context(), make([]byte, events.BlockSize)
			for call, do := range map[string]func() error{
				"Stored":    func() error { _, err := r.Stored(ctx); return err },
				"Usage":     func() error { _, err := r.Usage(); return err },
				"Room":      func() error { _, err := r.Room(); return err },
				"Reader":    func() error { _, err := r.Reader(job.Slot); return err },
				"ReadBlock": func() error { return reader.ReadBlock(ctx, 0, block) },
				"BlockPath": func() error { _, _, err := reader.BlockPath(ctx, 0); return err },
				"Scrub":     func() error { _, err := r.Scrub(ctx, someday, 1<<30); return err },
				"Check":     func() error { _, err := r.Check(ctx, job.Slot, 0, 1<<30); return err },
				"Extend":    func() error { return r.Extend(ctx, job.Slot, job.Until.Add(1)) },
				"Delete":    func() error { return r.Delete(ctx, job.Slot) },
				"Inspect":   func() error { return f.Inspect(ctx, other) },
				"Download":  func() error { _, err := f.Download(ctx, other); return err },
				"again":     func() error { _, err := f.Download(ctx, job); return err },
				"Repair":    func() error { _, err := f.Repair(ctx, job, nil); return err },
			} {
				if err := do(); !errors.Is(err, events.ErrDiskAway) || errors.Is(err, events.ErrBitRot) {
					t.Errorf("%s: %v, want ErrDiskAway", call, err)
				}
			}
			if written, _ := os.ReadDir(dir); len(written) > 0 {
				t.Errorf("written: %v", written)
			}
			if mountPoint {
				mustDo(t, os.Remove(dir))
			}
			mustDo(t, os.Rename(elsewhere, dir), checkSlot(r, d, job))
			mustDownload(t, f, other)
		})
	}
}

func TestAStartWithoutItsDirectoryGoesOnWhenItIsBack(t *testing.T) {
	d := prepared(t, 3, dataset.Params{K: 2, M: 1})
	job := jobFor(d, 0)
	data := t.TempDir()
	dir, elsewhere := filepath.Join(data, "slots"), filepath.Join(data, "elsewhere")
	open := func(lost bool) *Repo {
		t.Helper()
		r, err := Open(dir, Config{Place: &Place{Dir: dir, Memory: filepath.Join(data, "slots.id"), Lost: lost}})
		mustDo(t, err)
		return r
	}
	r := open(false)
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d)), job)
	mustDo(t, r.Close(), os.Rename(dir, elsewhere), os.Mkdir(dir, 0o755))
	r = open(false)
	if _, err := r.Stored(t.Context()); !errors.Is(err, events.ErrDiskAway) {
		t.Errorf("%v, want ErrDiskAway", err)
	}
	if written, err := os.ReadDir(dir); err != nil || len(written) > 0 {
		t.Errorf("written: %v, %v", written, err)
	}
	mustDo(t, os.Remove(dir), os.Rename(elsewhere, dir), checkSlot(r, d, job))
	if all, err := r.Stored(t.Context()); err != nil || len(all) != 1 || !all[0].Complete {
		t.Errorf("stored when it is back: %+v, %v", all, err)
	}
	mustDo(t, r.Close(), os.RemoveAll(dir))
	r = open(true) // The operator knows that it is lost.
	if all, err := r.Stored(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("stored when it is lost: %+v, %v", all, err)
	}
	mustDo(t, r.Close())
}

func TestADirectoryIsRecognised(t *testing.T) {
	const id, other = "AAAA\nAAAA\n", "BBBB\nBBBB\n"
	for name, c := range map[string]struct {
		here, remembered string // empty: there is no file
		format           bool
		expected, lost   bool
		away             bool
	}{
		"new":                                   {},
		"the same":                              {here: id, remembered: id},
		"with one damaged byte":                 {here: "AAAB\nAAAA\n", remembered: id},
		"remembered with one damaged byte":      {here: id, remembered: "AAAA\nABAA\n"},
		"another one":                           {here: other, remembered: id, away: true},
		"another one, and the first is lost":    {here: other, remembered: id, lost: true},
		"not there":                             {remembered: id, away: true},
		"not there, and known to be lost":       {remembered: id, lost: true},
		"not remembered any more":               {here: id},
		"of an earlier version":                 {format: true, expected: true},
		"of an earlier version, and not there":  {expected: true, away: true},
		"of an earlier version, known as lost":  {expected: true, lost: true},
		"of an earlier version, never expected": {format: true},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			place := func() *Place {
				return &Place{
					Dir: filepath.Join(data, "slots"), Memory: filepath.Join(data, "id"),
					Expected: c.expected, Lost: c.lost,
				}
			}
			p := place()
			mustDo(t, os.Mkdir(p.Dir, 0o755))
			write := func(path, text string) {
				if text != "" {
					mustDo(t, os.WriteFile(path, []byte(text), 0o600))
				}
			}
			write(filepath.Join(p.Dir, IdentityName), c.here)
			write(p.Memory, c.remembered)
			if c.format {
				write(filepath.Join(p.Dir, formatName), "1\n")
			}
			err := p.Here()
			if errors.Is(err, events.ErrDiskAway) != c.away || err != nil && !c.away {
				t.Fatalf("%v", err)
			}
			has, _ := os.ReadFile(filepath.Join(p.Dir, IdentityName))
			if c.away && string(has) != c.here {
				t.Errorf("it has become %q", has)
			}
			if c.away {
				return
			}
			mustDo(t, p.Here(), os.Rename(p.Dir, p.Dir+".moved"))
			for _, other := range []*Place{p, place()} { // The same process, and the next one.
				other.Lost = false
				if err := other.Here(); !errors.Is(err, events.ErrDiskAway) {
					t.Errorf("moved: %v", err)
				}
			}
			if _, err := os.Stat(p.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("made again: %v", err)
			}
		})
	}
}

func TestOnlyADirectoryThatIsThereCanBeDamaged(t *testing.T) {
	data := t.TempDir()
	p := &Place{Dir: filepath.Join(data, "slots"), Memory: filepath.Join(data, "id")}
	mustDo(t, p.Here())
	rot := &events.DamageError{Reason: "a block is gone"}
	if err := p.Unless(rot); !errors.Is(err, events.ErrBitRot) || errors.Is(err, events.ErrDiskAway) {
		t.Errorf("while it is there: %v", err)
	}
	mustDo(t, os.RemoveAll(p.Dir))
	if err := p.Unless(rot); !errors.Is(err, events.ErrDiskAway) || errors.Is(err, events.ErrBitRot) {
		t.Errorf("while it is away: %v", err)
	}
	if err := p.Unless(nil); err != nil {
		t.Error(err)
	}
	if id, _ := os.ReadFile(p.Memory); len(bytes.Fields(id)) != 2 {
		t.Errorf("remembered: %q", id)
	}
}
