package storage

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// At every write, a disk that takes nothing is distinguished from faults of others, and the
// download goes on when there is room.
func TestADiskThatTakesNothingIsNamed(t *testing.T) {
	d := prepared(t, 34, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		for _, when := range []string{"before it began", "while it ran"} {
			t.Run(fmt.Sprintf("%v %s", cause, when), func(t *testing.T) {
				disk := newMemDisk()
				r, err := openOn(disk, "repo", Config{})
				if err != nil {
					t.Fatal(err)
				}
				f, job := fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 1)
				refuse := func() { disk.refuse(fmt.Errorf("write: %w", cause)) }
				if when == "before it began" {
					refuse()
				}
				job.Grant = func(context.Context, events.Bytes) error { refuse(); return nil }
				if _, err := f.Download(t.Context(), job); !errors.Is(err, events.ErrDiskFull) || !errors.Is(err, cause) {
					t.Fatalf("error %v, want ErrDiskFull", err)
				}
				if _, err := r.Room(); !errors.Is(err, events.ErrDiskFull) {
					t.Fatalf("room: %v", err)
				}
				disk.refuse(nil)
				if free, err := r.Room(); err != nil || free == 0 {
					t.Fatalf("room %d, %v", free, err)
				}
				mustDownload(t, f, jobFor(d, 1))
				if err := checkSlot(r, d, job); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// A proof needs no space: a damaged tree is rebuilt and used even if it cannot be written.
func TestADamagedTreeIsNoHindranceOnAFullDisk(t *testing.T) {
	d := prepared(t, 64, dataset.Params{K: 2, M: 1})
	disk := newMemDisk()
	r, err := openOn(disk, "repo", Config{})
	if err != nil {
		t.Fatal(err)
	}
	job := jobFor(d, 1)
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d)), job)
	if err := writeWhole(disk, r.entry(job.Slot).dir+"/"+treeFile, make([]byte, treeSize(32))); err != nil {
		t.Fatal(err)
	}
	disk.refuse(syscall.ENOSPC)
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}
