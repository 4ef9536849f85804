package datadir

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestADirectoryBelongsToOneMember(t *testing.T) {
	d, err := Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if m, err := d.Member(); m != "" || err != nil {
		t.Fatalf("a new one belongs to %q: %v", m, err)
	}
	for range 2 {
		if err := d.OwnMember("north"); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := d.Member(); m != "north" || err != nil {
		t.Fatalf("it belongs to %q: %v", m, err)
	}
	if err := d.OwnMember("south"); !errors.Is(err, ErrOtherMember) {
		t.Fatalf("another member: %v", err)
	}
	if err := os.WriteFile(d.memberFile(), []byte("No Name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Member(); !errors.Is(err, ErrOwner) {
		t.Fatalf("a spoilt name: %v", err)
	}
}
