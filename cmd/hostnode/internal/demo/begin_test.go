package demo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestAFileThatIsTooLargeIsRefusedByItsSize(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sparse")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]error{
		1 << 20: nil,
		1 << 40: problem.ErrDemoOptions, // The quota cannot hold it.
		0:       dataset.ErrEmpty,
	} {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		o := Options{Config: config.Config{DataDir: filepath.Join(dir, "data"), Quota: 20 << 30}, File: file, Slots: 3}
		if err := o.begin(madeBytes, o.fits); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	o := Options{Config: config.Config{DataDir: dir, Quota: 1 << 62}, File: file, Slots: 3}
	if err := os.Truncate(file, 1<<41); err != nil {
		t.Fatal(err)
	}
	if err := o.begin(madeBytes, o.fits); err == nil { // No disk of a test machine has twice 3 TB.
		t.Error("a full disk is not seen")
	}
}

func TestADirectoryThatCannotBeUsedIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	used, err := datadir.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "format"), []byte("hostnode 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{used.Root: datadir.ErrInUse, newer: datadir.ErrNewerFormat} {
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		c := config.Default()
		c.DataDir = dir
		if _, err := Run(t.Context(), Options{Config: c, Slots: 3, Periods: 1, Out: t.Output()}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("%s: %d files became %d", dir, len(before), len(after))
		}
	}
}
