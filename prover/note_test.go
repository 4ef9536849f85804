package prover

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

const compileStep = "compile circuit"

// keptKeys is a directory with a copy of the shared keys, and the note that belongs to them.
func keptKeys(t *testing.T) (dir string, kept note) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, filepath.Base(home(t))), os.DirFS(home(t))); err != nil {
		t.Fatal(err)
	}
	kept, err := noteFor(smallParams(), sources, dir)
	if err != nil {
		t.Fatal(err)
	}
	kept.keep(mustKeys(t).keys[0].circuitHash)
	return dir, kept
}

// compiles starts with the keys in dir, and reports whether the circuit was compiled.
func compiles(t *testing.T, dir string) bool {
	t.Helper()
	var steps []string
	keys, err := DevelopmentKeys(t.Context(), smallParams(), dir, "a contract", func(s string) { steps = append(steps, s) })
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	if _, err := keys.system.WriteTo(hash); err != nil {
		t.Fatal(err)
	}
	want := mustKeys(t).keys[0]
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.circuitHash || keys.Hash() != want.Hash() {
		t.Fatalf("the keys are for circuit %s, want %s", got, want.circuitHash)
	}
	return slices.Contains(steps, compileStep)
}

func TestAStartWithKeptKeysCompilesNothing(t *testing.T) {
	dir, _ := keptKeys(t)
	if compiles(t, dir) {
		t.Fatal("the circuit was compiled though its hash is known")
	}
}

func TestANoteThatDoesNotFitIsNotBelievedAndMadeAgain(t *testing.T) {
	other := fstest.MapFS{"circuit.go": {Data: []byte("package prover // changed")}}
	for name, spoil := range map[string]func(note) ([]byte, error){
		"there is none":  func(n note) ([]byte, error) { return nil, os.Remove(n.path) },
		"it is empty":    func(note) ([]byte, error) { return nil, nil },
		"a bit flips":    func(n note) ([]byte, error) { b, err := os.ReadFile(n.path); b[70] ^= 1; return b, err },
		"cut in half":    func(n note) ([]byte, error) { b, err := os.ReadFile(n.path); return b[:len(b)/2], err },
		"no hash in it":  func(n note) ([]byte, error) { return n.line(""), nil },
		"a short hash":   func(n note) ([]byte, error) { return n.line("00"), nil },
		"other sources":  func(n note) ([]byte, error) { return otherNote(t, smallParams(), other, n).line(wrongHash), nil },
		"another origin": func(note) ([]byte, error) { return note{origin: wrongHash}.line(wrongHash), nil },
		"nothing there":  func(n note) ([]byte, error) { return n.line(wrongHash), nil }, // No such keys.
	} {
		t.Run(name, func(t *testing.T) {
			dir, kept := keptKeys(t)
			content, err := spoil(kept)
			if err != nil {
				t.Fatal(err)
			}
			if name != "there is none" {
				if err := os.WriteFile(kept.path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !compiles(t, dir) {
				t.Fatal("the note was believed")
			}
			if compiles(t, dir) {
				t.Fatal("the note was not made again")
			}
		})
	}
}

const wrongHash = "00000000000000000000000000000000000000000000000000000000000000ff"

func otherNote(t *testing.T, p Params, from fstest.MapFS, n note) note {
	t.Helper()
	other, err := noteFor(p, from, filepath.Dir(n.path))
	if err != nil || other.origin == n.origin || other.path != n.path {
		t.Fatalf("other sources give %v, %v", other, err)
	}
	return other
}

func TestEverySourceOfTheCircuitAndEverySizeIsInItsOrigin(t *testing.T) {
	_, kept := keptKeys(t)
	for _, file := range []string{"circuit.go", "gadget.go", "params.go", "merkle/tree.go", "poseidon2/constants.go"} {
		if _, err := sources.Open(file); err != nil {
			t.Error(err)
		}
	}
	more := smallParams()
	more.MaxDepth++
	if origin, err := originOf(more, sources); err != nil || origin == kept.origin {
		t.Errorf("other sizes have origin %s, %v", origin, err)
	}
}

// A compiler of unknown sum could be another one each time.
func TestANoteWithoutAnOriginIsNeitherKeptNorBelieved(t *testing.T) {
	n := note{path: filepath.Join(t.TempDir(), "note")}
	n.keep(wrongHash)
	if _, err := os.Stat(n.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was kept: %v", err)
	}
	if err := os.WriteFile(n.path, n.line(wrongHash), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := n.hash(); got != "" {
		t.Errorf("it is believed: %s", got)
	}
}

func TestKeysThatDoNotHoldTheirCircuitAreDamaged(t *testing.T) {
	dir, kept := keptKeys(t)
	path := filepath.Join(dir, filepath.Base(home(t)), circuitFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if kept.hash() == "" {
		t.Fatal("there is no note")
	}
	if _, err := DevelopmentKeys(t.Context(), smallParams(), dir, "", nil); !errors.Is(err, ErrKeysDamaged) {
		t.Fatalf("%v, want ErrKeysDamaged", err)
	}
}
