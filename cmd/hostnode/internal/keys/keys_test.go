package keys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// The first account of every tutorial, so it is no secret.
const (
	knownKey     = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
	knownAddress = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
)

func TestAMadeKeyIsLoadedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "account.key")
	address, err := Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := Load(path, "")
	if err != nil || AddressOf(key) != address {
		t.Fatalf("loaded %v, %v; want %s", key, err, address)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestAKeyIsImportedWithAndWithout0x(t *testing.T) {
	for i, text := range []string{knownKey, "0x" + knownKey, " " + strings.ToUpper(knownKey) + "\r\n"} {
		path := filepath.Join(t.TempDir(), "account.key")
		address, err := Import(path, strings.NewReader(text), plain, anybody)
		if err != nil || address.String() != knownAddress {
			t.Errorf("%d: address %s, %v", i, address, err)
		}
	}
}

func TestAKeyIsNeverOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	first, err := Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, ""); !errors.Is(err, ErrExists) {
		t.Fatalf("create: %v", err)
	}
	if _, err := Import(path, strings.NewReader(knownKey), plain, anybody); !errors.Is(err, ErrExists) {
		t.Fatalf("import: %v", err)
	}
	if key, err := Load(path, ""); err != nil || AddressOf(key) != first {
		t.Fatalf("the key changed: %v", err)
	}
}

func TestAKeyThatOthersMayUseIsRefusedWithTheRemedy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	if _, err := Create(path, ""); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o660, 0o644, 0o700, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, "")
		if mode == 0o400 && os.Getuid() != 0 && errors.Is(err, fs.ErrPermission) {
			continue
		}
		if !errors.Is(err, ErrPermissions) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	if _, err := Load(t.TempDir(), ""); !errors.Is(err, ErrPermissions) {
		t.Errorf("a directory: %v", err)
	}
}

func TestAMissingKeyIsNamed(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "account.key"), "")
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "account.key does not exist") {
		t.Fatalf("got %v", err)
	}
}

func TestWhatIsNoKeyIsRefusedAndNeverRepeated(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"too short":       knownKey[:63],
		"too long":        knownKey + "0",
		"no digit":        knownKey[:63] + "z",
		"zero":            strings.Repeat("0", 64),
		"above the order": strings.Repeat("f", 64),
		"a whole file":    strings.Repeat(knownKey+"\n", 100),
	} {
		path := filepath.Join(t.TempDir(), "account.key")
		_, err := Import(path, strings.NewReader(text), plain, anybody)
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), knownKey[:8]) {
			t.Errorf("%s: %v repeats the key", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{knownKey, "0x" + knownKey, "", "0x", strings.Repeat("f", 64)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parse([]byte(text))
		if (err == nil) == (key == nil) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
	})
}

// plain is the answer of who wants no password.
func plain(bool) (string, error) { return "", nil }

// anybody takes every key.
func anybody(events.Address) error { return nil }
