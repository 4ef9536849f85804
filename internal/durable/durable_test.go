package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/internal/durable"
)

func TestAFileIsReplacedOrMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, parts := range [][][]byte{{[]byte("long "), []byte("content")}, {[]byte("short")}, nil} {
		if err := durable.Replace(path, parts...); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, part := range parts {
			want = append(want, part...)
		}
		holdsOnly(t, path, string(want))
	}
}

func TestAFileThatIsThereIsNotMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := durable.Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := durable.Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("the second time: %v", err)
	}
	holdsOnly(t, path, "first")
}

func TestWhatCannotBeReplacedStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.MkdirAll(filepath.Join(path, "occupied"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(path, []byte("new")); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 || !names[0].IsDir() {
		t.Fatalf("left behind: %v, %v", names, err)
	}
}

// holdsOnly checks a file's content and mode, and that there is no other file.
func holdsOnly(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("the file has %q, %v; want %q", got, err, want)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Fatalf("beside it: %v, %v", names, err)
	}
	if info, err := names[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("its mode: %v, %v", info.Mode(), err)
	}
}
