package saved_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/projections/internal/saved"
)

type header struct{ Format string }

type state struct{ Names []string }

func mine(h header) error {
	if h.Format != "mine" {
		return errors.New("another's")
	}
	return nil
}

func encoded(t *testing.T, h header) []byte {
	t.Helper()
	file, err := saved.Encode(h, state{[]string{"a\nb", "\xff"}})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAStateIsReadAsItWasSaved(t *testing.T) {
	var got state
	h, err := saved.Decode(encoded(t, header{"mine"}), mine, &got)
	if err != nil || h.Format != "mine" || len(got.Names) != 2 || got.Names[0] != "a\nb" || got.Names[1] != "\xff" {
		t.Fatalf("%+v of %+v, %v", got, h, err)
	}
}

func TestWhatIsNotACheckpointOfOursIsOfNoUse(t *testing.T) {
	good := encoded(t, header{"mine"})
	bad := map[string][]byte{
		"nothing": nil, "no line": make([]byte, 1<<20), "another's": encoded(t, header{"other"}),
		"longer": append(bytes.Clone(good), 0),
	}
	for i := range good {
		bad["torn"+string(rune(i))] = good[:i]
		damaged := bytes.Clone(good)
		damaged[i] ^= 0x41
		bad["damaged"+string(rune(i))] = damaged
	}
	for name, file := range bad {
		if _, err := saved.Decode(file, mine, &state{}); !errors.Is(err, saved.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.WriteFile(path, []byte("ten bytes."), 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := saved.Read(path, 10); err != nil || len(file) != 10 {
		t.Fatalf("%q, %v", file, err)
	}
	if _, err := saved.Read(path, 9); !errors.Is(err, saved.ErrUnusable) {
		t.Fatal(err)
	}
	if _, err := saved.Read(path+"x", 9); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
