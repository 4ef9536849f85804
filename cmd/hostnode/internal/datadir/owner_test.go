package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
)

func TestADataDirectoryKnowsItsAccount(t *testing.T) {
	dir, err := datadir.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	mine, other := events.Address{1}, events.Address{2}
	if owner, err := dir.Owner(); err != nil || !owner.Zero() {
		t.Fatalf("a new one is of %s, %v", owner, err)
	}
	for range 2 {
		if err := dir.Own(mine); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Own(other); !errors.Is(err, datadir.ErrOtherAccount) || !strings.Contains(err.Error(), mine.String()) {
		t.Errorf("another account: %v", err)
	}
	if owner, err := dir.Owner(); err != nil || owner != mine {
		t.Errorf("it is of %s, %v", owner, err)
	}
	for _, damage := range []string{"", "0x01", "\x00\x00", events.Address{}.String()} {
		if err := os.WriteFile(filepath.Join(dir.Root, "account"), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := dir.Own(mine); !errors.Is(err, datadir.ErrOwner) {
			t.Errorf("%q: %v", damage, err)
		}
	}
}

func TestADirectoryOfBeforeIsOfTheAccountThatSentLast(t *testing.T) {
	dir := datadir.At(t.TempDir())
	if err := os.MkdirAll(dir.Outbox(), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, account := range []events.Address{{1}, {2}} {
		file := filepath.Join(dir.Outbox(), events.TxStream(account)+".outbox")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_750_000_000+int64(i), 0)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if owner, err := dir.Owner(); err != nil || owner != (events.Address{2}) {
		t.Fatalf("it is of %s, %v", owner, err)
	}
}
