package datadir

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestACopyOfADirectoryDoesNotRunTheSameAccount(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	now := time.Unix(1_700_000_000, 0)
	first, copied := &Dir{Layout: At(t.TempDir())}, &Dir{Layout: At(t.TempDir())}
	lock, err := first.LockAccount("0xaa on 1", now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = copied.LockAccount("0xaa on 1", now)
	if !errors.Is(err, ErrAccountInUse) || !strings.Contains(err.Error(), first.Root) ||
		!strings.Contains(err.Error(), "since 2023-11-14T22:13:20Z") {
		t.Fatalf("a copy beside the first: %v", err)
	}
	other, err := copied.LockAccount("0xaa on 2", now)
	if err != nil {
		t.Fatalf("the account in another market: %v", err)
	}
	if err := errors.Join(other.Close(), lock.Close()); err != nil {
		t.Fatal(err)
	}
	lock, err = copied.LockAccount("0xaa on 1", now)
	if err != nil {
		t.Fatalf("when the first has ended: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}
