package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage/dataset"
)

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

// TestOverheadIsAnUpperBound fills slots with made-up roots and measures the files other than the
// blocks.
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
		meta := slotMeta{
			Slot: events.SlotID{1}, Slots: 256, Blocks: blocks, Until: someday,
			SlotSize: events.Bytes(paddedBlocks(blocks)) * events.BlockSize,
			Manifest: dataset.ManifestCID(nil), SlotRoot: events.Root(poseidon2.Encode(root)),
		}
		e, leave, err := r.acquire(t.Context(), meta, make([]byte, dataset.MaxManifestSize))
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
		if limit := Overhead(meta.SlotSize); used > limit {
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
	if err := os.WriteFile(filepath.Join(dir, formatName), []byte("2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Config{}); !errors.Is(err, ErrNewerFormat) {
		t.Fatalf("a newer format: %v", err)
	}
}

func TestAFormatThatIsDamagedIsWrittenAgain(t *testing.T) {
	for _, content := range []string{"", "one"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, formatName), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		openRepo(t, dir, Config{})
		if got, err := os.ReadFile(filepath.Join(dir, formatName)); err != nil || string(got) != "1\n" {
			t.Fatalf("format %q: %q, %v", content, got, err)
		}
	}
}

func FuzzDecodeSlotMeta(f *testing.F) {
	meta := slotMeta{
		Slots: 3, Blocks: 3, SlotSize: 4 << 16, Manifest: dataset.ManifestCID(nil), Until: someday,
	}
	b, err := meta.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"slots":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		meta, err := decodeSlotMeta(b)
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("error %v, want ErrMalformed", err)
			}
			return
		}
		b, err = meta.encode()
		if err != nil {
			t.Fatalf("metadata %+v: %v", meta, err)
		}
		again, err := decodeSlotMeta(b)
		if err != nil || !again.sameSlot(meta) || !again.Until.Equal(meta.Until) {
			t.Fatalf("metadata %+v reads as %+v (%v)", meta, again, err)
		}
	})
}

func FuzzDecodeMark(f *testing.F) {
	m := encodeRootEntry(7, merkle.ZeroBlockRoot())
	f.Add(uint64(7), m[:])
	f.Fuzz(func(t *testing.T, index uint64, b []byte) {
		if len(b) != rootEntrySize {
			return
		}
		m := decodeRootEntry(index, b)
		if m.state == rootStored && encodeRootEntry(index, m.root) != [rootEntrySize]byte(b) {
			t.Fatalf("%x reads as %v", b, m)
		}
	})
}
