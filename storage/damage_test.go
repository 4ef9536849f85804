package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

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
	d := prepared(t, 64, dataset.Params{K: 2, M: 1}) // Slots of 32, without padding.
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
		{"tree cut", treeFile, cutTo(10), "rebuilt", false},
		{"tree rotten", treeFile, flipAt(40), "", false},
		{"roots cut", rootsFile, cutTo(100), "rebuilt", false},
		{"root rotten", rootsFile, flipAt(36*7 + 3), "", false},
		{"metadata cut", slotMetaName, cutTo(20), "download the slot again", true},
		{"metadata of another slot", slotMetaName, flipAt(20), "download the slot again", true},
		{"roots and blocks cut", blocksFile, cutTo(5 << 16), "cannot be rebuilt", true},
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
			r := openRepo(t, dir, Config{Quota: 1}) // Less than is stored: that does not prevent a repair.
			findings := fmt.Sprint(r.Findings())
			if !strings.Contains(findings, test.finding) || test.finding == "" && findings != "[]" {
				t.Fatalf("findings %s, want %q", findings, test.finding)
			}
			if err := checkSlot(r, d, job); (err != nil) != test.again {
				t.Fatalf("slot: %v, to be downloaded again: %t", err, test.again)
			}
			if test.again {
				size := d.Layout().SlotSize()
				r.Limit(size + Overhead(size)) // Exactly what the ledger reserves for the slot.
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
	_, err := fetcherFor(t, r, FetcherConfig{}, o).Download(t.Context(), job)
	if !errors.Is(err, stop) {
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

// scrubbed runs one pass over everything stored, in small pieces, and returns what it found.
func scrubbed(t *testing.T, r *Repo) (damaged []uint64) {
	t.Helper()
	for {
		piece, err := r.Scrub(t.Context(), time.Unix(1_700_000_000, 0), 3*events.BlockSize)
		if err != nil {
			t.Fatal(err)
		}
		if piece.Ended {
			return damaged
		}
		if piece.Damage != nil {
			damaged = append(damaged, piece.Damage.Blocks...)
		}
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
	found := scrubbed(t, r)
	if fmt.Sprint(found) != "[3 7 16]" {
		t.Fatalf("found %v, want blocks 3, 7 and 16", found)
	}
	r.Limit(1) // Replacing needs no additional space.
	mended, err := f.Repair(t.Context(), job, found)
	if err != nil || !slices.Equal(mended, found) {
		t.Fatalf("mended %v of %v: %v", mended, found, err)
	}
	if found := scrubbed(t, r); len(found) != 0 {
		t.Fatalf("after the repair: %v", found)
	}
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}

// Whatever is lost of a slot, repairing all of it fetches that again and nothing else.
func TestRepairOfTheWholeFetchesWhatIsLost(t *testing.T) {
	for _, test := range []struct {
		name     string
		lose     func(t *testing.T, slot string)
		reopen   bool
		requests int // at most
	}{
		{"a block", func(t *testing.T, slot string) { damage(t, filepath.Join(slot, blocksFile), flipAt(3<<16)) }, false, 2},
		{"the last blocks", func(t *testing.T, slot string) { damage(t, filepath.Join(slot, blocksFile), cutTo(15<<16)) }, true, 3},
		{"all blocks", func(t *testing.T, slot string) { remove(t, filepath.Join(slot, blocksFile)) }, true, 18},
		{"the manifest", func(t *testing.T, slot string) { remove(t, filepath.Join(slot, manifestName)) }, true, 1},
		{"the manifest, while it runs", func(t *testing.T, slot string) { remove(t, filepath.Join(slot, manifestName)) }, false, 1},
		{"the tree", func(t *testing.T, slot string) { damage(t, filepath.Join(slot, treeFile), flipAt(3)) }, false, 0},
		{"the metadata", func(t *testing.T, slot string) { remove(t, filepath.Join(slot, slotMetaName)) }, true, 1},
		{"all of it", func(t *testing.T, slot string) { remove(t, slot) }, true, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := prepared(t, 34, dataset.Params{K: 2, M: 1})
			o := serveObjects(t, d)
			dir, job := t.TempDir(), jobFor(d, 1)
			r := openRepo(t, dir, Config{})
			mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), job)
			test.lose(t, r.entry(job.Slot).dir)
			if test.reopen {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				r = openRepo(t, dir, Config{})
				if stored, err := r.Stored(t.Context()); err != nil ||
					len(stored) == 1 && stored[0].Complete && stored[0].Damage == "" {
					t.Fatalf("the repo says that all is here: %v (%v)", stored, err)
				}
			}
			before := o.requests()
			if _, err := fetcherFor(t, r, FetcherConfig{}, o).Repair(t.Context(), job, nil); err != nil {
				t.Fatal(err)
			}
			if n := o.requests() - before; n > test.requests {
				t.Errorf("%d requests, at most %d were needed", n, test.requests)
			}
			if err := checkSlot(r, d, job); err != nil {
				t.Fatal(err)
			}
			if stored, err := r.Stored(t.Context()); err != nil || len(stored) != 1 || stored[0].Damage != "" {
				t.Fatalf("stored %v (%v)", stored, err)
			}
		})
	}
}

// The end of a block may be zeros. Without them the block is sound, and the file too short.
func TestZerosThatAreCutOffTheEndComeBack(t *testing.T) {
	d := preparedFrom(t, randomBytes(3, 33*int(events.BlockSize)+100), dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	dir, job := t.TempDir(), jobFor(d, 1) // It has the last block, which is almost all zeros.
	r := openRepo(t, dir, Config{})
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), job)
	file := filepath.Join(r.entry(job.Slot).dir, blocksFile)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	reopen := func() {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openRepo(t, dir, Config{})
	}
	damage(t, file, cutTo(int(info.Size())-1000))
	reopen()
	if !strings.Contains(fmt.Sprint(r.Findings()), "beyond the end") {
		t.Fatalf("findings %v", r.Findings())
	}
	if _, err := fetcherFor(t, r, FetcherConfig{}, o).Repair(t.Context(), job, nil); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(file); err != nil || now.Size() != info.Size() {
		t.Fatalf("the file has %d bytes, and had %d (%v)", now.Size(), info.Size(), err)
	}
	if reopen(); len(r.Findings()) != 0 {
		t.Fatalf("it is missed again: %v", r.Findings())
	}
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}

// A byte that flips in slot.json is noticed, or changes nothing, wherever it is, also in the file of a version that
// wrote no checksum, if it is in a name.
func TestADamagedSlotFileIsNotBelieved(t *testing.T) {
	meta := slotMeta{
		Slots: 3, Blocks: 3, SlotSize: 4 << 16, Manifest: dataset.ManifestCID(nil), Until: someday, Complete: true,
	}
	whole, err := meta.encode()
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`,\s*"sum": "[0-9a-f]+"`).ReplaceAll(whole, nil)
	for name, b := range map[string][]byte{"with a checksum": whole, "without one": old} {
		if got, err := decodeSlotMeta(b); err != nil || got != meta {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		for i := range b {
			for bit := range 8 {
				damaged := bytes.Clone(b)
				damaged[i] ^= 1 << bit
				got, err := decodeSlotMeta(damaged)
				inName := bytes.HasPrefix(bytes.TrimLeft(b[i:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"), []byte(`":`))
				if err == nil && got != meta && (name == "with a checksum" || inName) {
					t.Fatalf("%s, bit %d of byte %d: %s reads as %+v", name, bit, i, damaged, got)
				}
			}
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestABlockThatNoSourceHasIsRepairedFromOtherSlotsAndWhatCannotBeHadHoldsUpNoOther(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	r := openRepo(t, t.TempDir(), Config{})
	f, job := fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 1)
	mustDownload(t, f, job)
	blocks := filepath.Join(r.entry(job.Slot).dir, blocksFile)
	damage(t, blocks, flipAt(3<<16))
	damage(t, blocks, flipAt(5<<16))
	lost := map[dataset.CID]bool{
		d.BlockCID(d.Layout().Block(1, 3)): true, d.BlockCID(d.Layout().Block(0, 3)): true,
		d.BlockCID(d.Layout().Block(1, 5)): true,
	}
	o.spoilWith(func(w http.ResponseWriter, _ *http.Request, c dataset.CID) bool {
		if lost[c] {
			w.WriteHeader(http.StatusNotFound)
		}
		return lost[c]
	})
	mended, err := f.Repair(t.Context(), job, []uint64{3, 5})
	if !errors.Is(err, events.ErrContentUnavailable) || !slices.Equal(mended, []uint64{5}) {
		t.Fatalf("mended %v (%v), want block 5, and that nobody has block 3", mended, err)
	}
	if found := scrubbed(t, r); !slices.Equal(found, []uint64{3}) {
		t.Fatalf("damaged are %v, want block 3", found)
	}
}

func TestACheckFindsTheDamagedBlocksOfItsSlotAlone(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job, other := jobFor(d, 0), jobFor(d, 1)
	mustDownload(t, f, job)
	mustDownload(t, f, other)
	for at, slot := range map[int]events.SlotID{3: job.Slot, 16: job.Slot, 5: other.Slot} {
		damage(t, filepath.Join(r.entry(slot).dir, blocksFile), flipAt(at<<16))
	}
	var found, stops []uint64
	for at := uint64(0); at < 17; {
		c, err := r.Check(t.Context(), job.Slot, at, 8*events.BlockSize)
		if err != nil || c.Blocks != 17 {
			t.Fatalf("%+v, %v", c, err)
		}
		if c.Damage != nil {
			found = append(found, c.Damage.Blocks...)
		}
		at = c.Next
		stops = append(stops, at)
	}
	if !slices.Equal(found, []uint64{3, 16}) || !slices.Equal(stops, []uint64{8, 16, 17}) {
		t.Fatalf("found %v, in steps to %v", found, stops)
	}
	remove(t, filepath.Join(r.entry(job.Slot).dir, rootsFile))
	if c, err := r.Check(t.Context(), job.Slot, 0, 1); err != nil || c.Damage == nil || !c.Damage.Whole {
		t.Fatalf("without its roots: %+v, %v", c, err)
	}
}

func TestOnlyACompleteSlotIsChecked(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	job, stop := jobFor(d, 0), errors.New("stop")
	job.Grant = func(_ context.Context, total events.Bytes) error {
		if total > 4*events.BlockSize {
			return stop
		}
		return nil
	}
	_, err := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d)).Download(t.Context(), job)
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if _, err := r.Check(t.Context(), job.Slot, 0, 1); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("error %v, want ErrIncomplete", err)
	}
}

func TestAProofThatReadsWhatIsGoneIsToldWhich(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	job := jobFor(d, 1)
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d)), job)
	reader, err := r.Reader(job.Slot)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(r.entry(job.Slot).dir, blocksFile))
	err = reader.ReadBlock(t.Context(), 4, make([]byte, events.BlockSize))
	found, ok := errors.AsType[*events.DamageError](err)
	if !ok || !found.Whole || !slices.Equal(found.Blocks, []uint64{4}) {
		t.Fatalf("error %v, want that all is damaged, and block 4 is wanted first", err)
	}
	remove(t, filepath.Join(r.entry(job.Slot).dir, manifestName))
	_, err = r.Reader(job.Slot)
	if found, ok := errors.AsType[*events.DamageError](err); !ok || !found.Whole {
		t.Fatalf("error %v, want damage", err)
	}
}

func TestAScrubGoesOnWhereItWasAfterARestart(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	dir := t.TempDir()
	r := openRepo(t, dir, Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	for index := range uint64(2) {
		mustDownload(t, f, jobFor(d, index))
	}
	begin := time.Unix(1_700_000_000, 0).UTC()
	seen := map[events.SlotID]events.Bytes{}
	for n := 0; ; n++ {
		now := begin.Add(time.Duration(n) * time.Second)
		piece, err := r.Scrub(t.Context(), now, 17*events.BlockSize)
		if err != nil {
			t.Fatal(err)
		}
		if piece.Ended {
			want := events.ScrubProgress{LastBegan: begin, LastEnded: now}
			if piece.Progress != want || r.ScrubProgress() != want {
				t.Fatalf("progress %+v, want %+v", piece.Progress, want)
			}
			break
		}
		seen[piece.Slot] += piece.Bytes
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openRepo(t, dir, Config{})
	}
	for index := range uint64(2) {
		if got := seen[jobFor(d, index).Slot]; got != 17*events.BlockSize {
			t.Errorf("%d bytes of slot %d were looked at, want each once", got, index)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, filepath.Join(dir, scrubName), cutTo(20))
	r = openRepo(t, dir, Config{})
	if len(r.Findings()) != 1 || r.ScrubProgress() != (events.ScrubProgress{}) {
		t.Fatalf("findings %v, progress %v: want to be told, and a new beginning", r.Findings(), r.ScrubProgress())
	}
}
