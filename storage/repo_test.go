package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage/dataset"
)

// TestPowerCutAtAnyMomentLosesNothingThatWasPromised cuts the power after every
// single change to the disk, throws a random part of what was not synced away,
// and demands that the same download then completes.
func TestPowerCutAtAnyMomentLosesNothingThatWasPromised(t *testing.T) {
	d := prepared(t, 3, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	job := jobFor(d, 2)
	finished := false
	for cut := 0; !finished; cut++ {
		random := rand.New(rand.NewPCG(1, uint64(cut)))
		disk := newMemDisk()
		disk.cutAfter(cut)
		stored, err := downloadOn(t, disk, o, job)
		finished = err == nil
		if err != nil && !errors.Is(err, errPowerCut) {
			t.Fatalf("cut %d: %v", cut, err)
		}
		disk = disk.afterCrash(random)
		r, err := openOn(disk, "/repo", Config{})
		if err != nil {
			t.Fatalf("cut %d: open again: %v", cut, err)
		}
		if err := blocksAtLeast(r, job.Slot, stored); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		f := fetcherFor(t, r, FetcherConfig{}, o)
		mustDownload(t, f, job)
		if err := checkSlot(r, d, job); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		f.Close()
	}
}

// downloadOn downloads one block at a time; stored is what the slot had when the
// last grant was asked, which must survive.
func downloadOn(
	t *testing.T, disk disk, o *origin, job events.DownloadJob,
) (stored events.Bytes, err error) {
	r, err := openOn(disk, "/repo", Config{})
	if err != nil {
		return 0, err
	}
	f := fetcherFor(t, r, FetcherConfig{}, o)
	defer f.Close()
	f.batch = 1
	var promised events.Bytes
	job.Grant = func(_ context.Context, total events.Bytes) error {
		stored, promised = promised, total
		return nil
	}
	_, err = f.Download(t.Context(), job)
	return stored, err
}

// blocksAtLeast reads how many blocks a slot says it has.
func blocksAtLeast(r *Repo, slot events.SlotID, want events.Bytes) error {
	e := r.entry(slot)
	if e == nil && want == 0 {
		return nil
	}
	if e == nil {
		return fmt.Errorf("the slot is gone, %d bytes were stored", want)
	}
	w, err := r.openWriter(e)
	if err != nil {
		return err
	}
	if w.occupied < want {
		return fmt.Errorf("%d bytes survived, %d were stored", w.occupied, want)
	}
	return w.close()
}

func TestPowerCutWhileDeletingLeavesAllOrNothing(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	job := jobFor(d, 0)
	whole := newMemDisk()
	if _, err := downloadOn(t, whole, o, job); err != nil {
		t.Fatal(err)
	}
	for cut := 0; ; cut++ {
		random := rand.New(rand.NewPCG(2, uint64(cut)))
		disk := whole.afterCrash(random)
		r, err := openOn(disk, "/repo", Config{})
		if err != nil {
			t.Fatal(err)
		}
		disk.cutAfter(cut)
		deleted := r.Delete(t.Context(), job.Slot) == nil
		if r, err = openOn(disk.afterCrash(random), "/repo", Config{}); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		used, err := r.Usage()
		if err != nil {
			t.Fatal(err)
		}
		stored, _ := r.Stored(t.Context())
		if len(stored) == 0 && used != 0 || deleted && len(stored) != 0 {
			t.Fatalf("cut %d: %d slots, %d bytes, deleted %t", cut, len(stored), used, deleted)
		}
		if len(stored) == 1 {
			if err := checkSlot(r, d, job); err != nil {
				t.Fatalf("cut %d: %v", cut, err)
			}
		}
		if deleted {
			return
		}
	}
}

func TestQuotaIsNeverExceeded(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	slot := d.Layout().SlotSize()
	o := serveObjects(t, d)
	dir := t.TempDir()
	quota := 5 * events.BlockSize
	r := openRepo(t, dir, Config{Quota: quota})
	_, err := fetcherFor(t, r, FetcherConfig{}, o).Download(t.Context(), jobFor(d, 0))
	if !errors.Is(err, events.ErrQuotaExceeded) || !strings.Contains(err.Error(), "raise the quota") {
		t.Fatalf("error %v, want ErrQuotaExceeded with a hint", err)
	}
	if used, err := r.Usage(); err != nil || used > quota || used < 4*events.BlockSize {
		t.Fatalf("%d bytes used (%v), quota %d", used, err, quota)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = openRepo(t, dir, Config{Quota: Overhead(slot) + 6*events.BlockSize})
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 0))
	_, err = fetcherFor(t, r, FetcherConfig{}, o).Download(t.Context(), jobFor(d, 1))
	if !errors.Is(err, events.ErrQuotaExceeded) {
		t.Fatalf("error %v, want ErrQuotaExceeded", err)
	}
	if err := r.Delete(t.Context(), jobFor(d, 0).Slot); err != nil {
		t.Fatal(err)
	}
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 1))
}

// TestOverheadIsAnUpperBound fills slots with made-up roots: what is measured are
// the files beside the blocks.
func TestOverheadIsAnUpperBound(t *testing.T) {
	for _, blocks := range []uint64{1, 2, 15, 16, 17, 1000, 1024, 1025, 4096, 8192} {
		r := openRepo(t, t.TempDir(), Config{})
		roots := make([]fr.Element, blocks)
		batch := make([]newBlock, blocks)
		digests := make([][32]byte, blocks)
		for i := range roots {
			roots[i] = fr.NewElement(uint64(i + 1))
			batch[i] = newBlock{index: uint64(i), root: roots[i]}
			digests[i] = [32]byte{byte(i), byte(i >> 8)}
		}
		root, err := merkle.SlotRoot(roots)
		if err != nil {
			t.Fatal(err)
		}
		rec := record{
			Slot: events.SlotID{1}, Slots: 256, Blocks: blocks, Until: someday,
			SlotSize: events.Bytes(paddedBlocks(blocks)) * events.BlockSize,
			Manifest: dataset.ManifestCID(nil), SlotRoot: events.Root(poseidon2.Encode(root)),
		}
		e, leave, err := r.acquire(t.Context(), rec, make([]byte, dataset.MaxManifestSize))
		if err != nil {
			t.Fatal(err)
		}
		w, err := r.openWriter(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.write(batch), w.finish(t.Context(), digests), w.close()); err != nil {
			t.Fatal(err)
		}
		leave()
		stored, _ := r.Stored(t.Context())
		used, err := r.Usage()
		if err != nil || stored[0].Overhead != used {
			t.Fatalf("overhead %d, used %d (%v)", stored[0].Overhead, used, err)
		}
		if limit := Overhead(rec.SlotSize); used > limit {
			t.Fatalf("%d blocks: overhead %d, the bound is %d", blocks, used, limit)
		}
	}
}

func TestLifetimesAreOnlyRaised(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	dir := t.TempDir()
	r := openRepo(t, dir, Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job := jobFor(d, 0)
	mustDownload(t, f, job)
	until := func() time.Time {
		stored, _ := r.Stored(t.Context())
		return stored[0].Until
	}
	if err := r.Extend(t.Context(), job.Slot, someday.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !until().Equal(someday) {
		t.Fatalf("until %s, want %s", until(), someday)
	}
	if err := r.Extend(t.Context(), job.Slot, someday.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	job.Until = someday.Add(2 * time.Hour)
	mustDownload(t, f, job)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = openRepo(t, dir, Config{})
	if want := someday.Add(2 * time.Hour); !until().Equal(want) {
		t.Fatalf("until %s, want %s", until(), want)
	}
	err := r.Extend(t.Context(), events.SlotID{1}, someday)
	if !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("error %v, want ErrNoSuchSlot", err)
	}
}

func TestDeletingTwiceIsDeletingOnce(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job := jobFor(d, 0)
	mustDownload(t, f, job)
	reader, err := r.Reader(job.Slot)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Delete(t.Context(), job.Slot); err != nil {
			t.Fatal(err)
		}
	}
	if used, err := r.Usage(); err != nil || used != 0 {
		t.Fatalf("%d bytes used (%v)", used, err)
	}
	if _, _, err := reader.BlockPath(t.Context(), 0); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("error %v, want ErrNoSuchSlot", err)
	}
	if _, err := r.Reader(job.Slot); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("error %v, want ErrNoSuchSlot", err)
	}
	mustDownload(t, f, job)
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}

func TestRepoOfANewerVersionOrInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	r := openRepo(t, dir, Config{})
	if _, err := Open(dir, Config{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("error %v, want ErrInUse", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]error{
		"2\n": ErrNewerFormat, "": events.ErrMalformed, "one": events.ErrMalformed,
	} {
		if err := os.WriteFile(filepath.Join(dir, formatName), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Config{}); !errors.Is(err, want) {
			t.Fatalf("format %q: error %v, want %v", content, err, want)
		}
	}
}

// damage changes a file of a closed repo.
func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func flipAt(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 1; return b }
}

func cutTo(size int) func([]byte) []byte {
	return func(b []byte) []byte { return b[:size] }
}

func TestDamagedFilesAreRepairedAndReported(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	job := jobFor(d, 1)
	whole := t.TempDir()
	r := openRepo(t, whole, Config{})
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), job)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		file    string
		change  func([]byte) []byte
		finding string
		again   bool // whether the slot must be downloaded again
	}{
		{"tree cut", treeFile, cutTo(10), "made again", false},
		{"tree rotten", treeFile, flipAt(40), "", false},
		{"roots cut", rootsFile, cutTo(100), "made again", false},
		{"root rotten", rootsFile, flipAt(36*7 + 3), "", false},
		{"record cut", recordName, cutTo(20), "download the slot again", true},
		{"record of another slot", recordName, flipAt(20), "download the slot again", true},
		{"roots and blocks cut", blocksFile, cutTo(5 << 16), "cannot be made again", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			slot := filepath.Join(dir, slotsDir, slotName(job.Slot))
			damage(t, filepath.Join(slot, test.file), test.change)
			if test.file == blocksFile {
				damage(t, filepath.Join(slot, rootsFile), cutTo(36*16))
			}
			r := openRepo(t, dir, Config{})
			findings := fmt.Sprint(r.Findings())
			if !strings.Contains(findings, test.finding) || test.finding == "" && findings != "[]" {
				t.Fatalf("findings %s, want %q", findings, test.finding)
			}
			if err := checkSlot(r, d, job); (err != nil) != test.again {
				t.Fatalf("slot: %v, to be downloaded again: %t", err, test.again)
			}
			if test.again {
				mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), job)
				if err := checkSlot(r, d, job); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestTornEntriesOfAnUnfinishedSlotAreFetchedAgain(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	dir := t.TempDir()
	r := openRepo(t, dir, Config{})
	job := jobFor(d, 0)
	stop := errors.New("stop")
	job.Grant = func(_ context.Context, total events.Bytes) error {
		if total > 4*events.BlockSize {
			return stop
		}
		return nil
	}
	if _, err := fetcherFor(t, r, FetcherConfig{}, o).Download(t.Context(), job); !errors.Is(err, stop) {
		t.Fatalf("error %v, want %v", err, stop)
	}
	slot := r.entry(job.Slot).dir
	w, err := r.openWriter(r.entry(job.Slot))
	if err != nil {
		t.Fatal(err)
	}
	stored := 0 // Blocks arrive in any order.
	for slices.Contains(w.missing, uint64(stored)) {
		stored++
	}
	if err := errors.Join(w.close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	damage(t, filepath.Join(slot, rootsFile), flipAt(36*stored))
	leftovers := []string{filepath.Join(newDir, "half"), filepath.Join(trashDir, "old")}
	for _, name := range leftovers {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r = openRepo(t, dir, Config{})
	if len(r.Findings()) != 3 {
		t.Fatalf("findings %v, want two leftovers and a torn block", r.Findings())
	}
	before := o.requests()
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 0))
	if got := o.requests() - before; got != 4 {
		t.Fatalf("%d requests, want 2 + 1 blocks and the list", got)
	}
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}

func TestScrubFindsDamagedBlocksAndRepairReplacesThem(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job := jobFor(d, 1)
	mustDownload(t, f, job)
	slot := r.entry(job.Slot).dir
	damage(t, filepath.Join(slot, blocksFile), flipAt(3<<16))
	damage(t, filepath.Join(slot, blocksFile), flipAt(16<<16))
	damage(t, filepath.Join(slot, rootsFile), flipAt(36*7))
	report, err := r.Scrub(t.Context(), job.Slot)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(report) != "{17 [3 7 16]}" {
		t.Fatalf("report %v, want blocks 3, 7 and 16 of 17", report)
	}
	if err := f.Repair(t.Context(), job.Slot, report.Damaged); err != nil {
		t.Fatal(err)
	}
	report, err = r.Scrub(t.Context(), job.Slot)
	if err != nil || len(report.Damaged) != 0 {
		t.Fatalf("after the repair: %v (%v)", report, err)
	}
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		f.Repair(t.Context(), events.SlotID{1}, nil),
		func() error { _, err := r.Scrub(t.Context(), events.SlotID{1}); return err }(),
	} {
		if !errors.Is(err, events.ErrNoSuchSlot) {
			t.Fatalf("error %v, want ErrNoSuchSlot", err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	rec := record{Slots: 3, Blocks: 3, SlotSize: 4 << 16, Manifest: dataset.ManifestCID(nil), Until: someday}
	b, err := rec.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"slots":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("error %v, want ErrMalformed", err)
			}
			return
		}
		b, err = rec.encode()
		if err != nil {
			t.Fatalf("record %+v: %v", rec, err)
		}
		again, err := decodeRecord(b)
		if err != nil || !again.sameSlot(rec) || !again.Until.Equal(rec.Until) {
			t.Fatalf("record %+v reads as %+v (%v)", rec, again, err)
		}
	})
}

func FuzzDecodeMark(f *testing.F) {
	m := encodeMark(7, merkle.ZeroBlockRoot())
	f.Add(uint64(7), m[:])
	f.Fuzz(func(t *testing.T, index uint64, b []byte) {
		if len(b) != markSize {
			return
		}
		m := decodeMark(index, b)
		if m.state == markStored && encodeMark(index, m.root) != [markSize]byte(b) {
			t.Fatalf("%x reads as %v", b, m)
		}
	})
}
