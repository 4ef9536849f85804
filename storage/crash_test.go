package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// TestPowerCutAtAnyMomentLosesNothingThatWasPromised cuts the power after every single change to
// the disk, discards a random part of what was not synced, and demands that the same download then
// completes.
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

// downloadOn downloads one block at a time; stored is what the slot had when a grant was last asked
// for, which must survive.
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

// blocksAtLeast checks that a slot reports at least so many bytes of blocks.
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
