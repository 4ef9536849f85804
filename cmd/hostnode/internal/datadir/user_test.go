package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRootAloneCanSpoilAnothersDirectory(t *testing.T) {
	for _, c := range []struct {
		uid, owner int
		spoils     bool
	}{
		{0, 0, false}, {0, 998, true}, {998, 998, false}, {998, 0, false}, {998, 999, false},
	} {
		if got := spoils(c.uid, c.owner); got != c.spoils {
			t.Errorf("user %d in the directory of %d: %v", c.uid, c.owner, got)
		}
	}
}

func TestRootIsRefusedInAnothersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	const other = 65534
	root := filepath.Join(t.TempDir(), "data")
	if err := At(root).CheckUser(); err != nil {
		t.Fatalf("there is no directory yet: %v", err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(root, other, other); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*Dir, error){
		"a host":    func() (*Dir, error) { return Open(root, time.Now()) },
		"a command": func() (*Dir, error) { return OpenBriefly(root, time.Now(), true) },
	} {
		if _, err := open(); !errors.Is(err, ErrOtherUser) || !strings.Contains(err.Error(), "sudo -u ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := At(root).Begin(); !errors.Is(err, ErrOtherUser) {
		t.Errorf("a chain: %v", err)
	}
	if names, err := os.ReadDir(root); err != nil || len(names) > 0 {
		t.Fatalf("something was written: %v, %v", names, err)
	}
	// Root goes on where it has always been the host's user.
	if err := os.Chown(root, 0, 0); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.Close(), os.Chown(root, other, other)); err != nil {
		t.Fatal(err)
	}
	if dir, err = Open(root, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}
