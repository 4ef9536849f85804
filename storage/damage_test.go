package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
			r := openRepo(t, dir, Config{Quota: 1}) // Less than is there: that hinders no repair.
			findings := fmt.Sprint(r.Findings())
			if !strings.Contains(findings, test.finding) || test.finding == "" && findings != "[]" {
				t.Fatalf("findings %s, want %q", findings, test.finding)
			}
			if err := checkSlot(r, d, job); (err != nil) != test.again {
				t.Fatalf("slot: %v, to be downloaded again: %t", err, test.again)
			}
			if test.again {
				size := d.Layout().SlotSize()
				r.Limit(size + Overhead(size)) // All that a ledger has for the slot, and nothing more.
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
	r.Limit(1) // What is replaced needs no more room than it has.
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
