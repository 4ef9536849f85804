package datadir

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheKeyForHiddenSettingsIsMadeOnceAndReplacedWhenDamaged(t *testing.T) {
	d, err := Open(t.TempDir(), time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	key := func() []byte {
		t.Helper()
		k, err := d.SealKey()
		if err != nil || len(k) != sealKeyBytes || bytes.Equal(k, make([]byte, sealKeyBytes)) {
			t.Fatalf("key %x, %v", k, err)
		}
		return k
	}
	first := key()
	if !bytes.Equal(first, key()) {
		t.Fatal("a second look finds another key")
	}
	path := filepath.Join(d.Root, "settings.key")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, first[:5], 0o600); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first, key()) {
		t.Fatal("a damaged key is used")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SealKey(); err == nil {
		t.Fatal("a directory is a key")
	}
}
