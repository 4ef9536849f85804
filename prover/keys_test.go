package prover

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/google/go-cmp/cmp"
)

const makeStep = "make development keys, which may take up to a minute"

func TestTwoCallersAtOnceGetTheSameKeys(t *testing.T) {
	made := mustKeys(t)
	if diff := cmp.Diff(made.keys[0].VerifyingKey(), made.keys[1].VerifyingKey()); diff != "" {
		t.Fatalf("keys differ (-first +second):\n%s", diff)
	}
	setups := 0
	for _, steps := range made.steps {
		if slices.Contains(steps, makeStep) {
			setups++
		}
	}
	if setups != 1 {
		t.Fatalf("%d set-ups, want 1 (steps %v)", setups, made.steps)
	}
	for _, keys := range made.keys {
		if !keys.development {
			t.Fatal("the keys are not marked as development keys")
		}
	}
}

func replaceOnce(t *testing.T, text, old, replacement string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%s is not in\n%s", old, text)
	}
	return strings.Replace(text, old, replacement, 1)
}

// home returns the directory of the shared keys.
func home(t *testing.T) string {
	t.Helper()
	hash := mustKeys(t).keys[0].circuitHash
	return filepath.Join(keyDirectory, "development-"+hash[:16])
}

func TestKeysFromTheCacheProveForTheSameVerifier(t *testing.T) {
	loaded, err := DevelopmentKeys(t.Context(), smallParams(), keyDirectory, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(loaded, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := newInput(t, shape{3, 2, 1}, challengeNumber(9))
	proof, _, err := p.Prove(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := mustProver(t).verifier.Verify(proof, in.Public()); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedKeyFilesAreNoticed(t *testing.T) {
	flip := func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content[len(content)/2] ^= 1
		return os.WriteFile(path, content, 0o644)
	}
	cut := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	for name, damage := range map[string]func(string) error{
		"a bit flips": flip, "cut in half": cut, "removed": os.Remove,
	} {
		for _, file := range []string{circuitFile, provingFile, verifyingFile, metaFile} {
			if name == "a bit flips" && file == metaFile {
				continue // It may hit a blank; the next test covers its content.
			}
			t.Run(file+" "+name, func(t *testing.T) {
				copied := filepath.Join(t.TempDir(), "keys")
				if err := os.CopyFS(copied, os.DirFS(home(t))); err != nil {
					t.Fatal(err)
				}
				if err := damage(filepath.Join(copied, file)); err != nil {
					t.Fatal(err)
				}
				keys := mustKeys(t).keys[0]
				_, err := readKeys(keys.system, keys.circuitHash, keys.params, copied)
				if !errors.Is(err, ErrKeysDamaged) {
					t.Fatalf("error %v, want ErrKeysDamaged", err)
				}
			})
		}
	}
}

func TestMetaThatDoesNotFitIsNoticed(t *testing.T) {
	keys := mustKeys(t).keys[0]
	for name, tc := range map[string]struct{ old, new string }{
		"other circuit":  {keys.circuitHash[:8], "00000000"},
		"other sizes":    {`"samples": 1`, `"samples": 2`},
		"other key hash": {keys.Hash()[:8], "00000000"},
		"other kind":     {`"development"`, `"found somewhere"`},
		"other field":    {`"keyHash"`, `"keyhush"`},
	} {
		t.Run(name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "keys")
			if err := os.CopyFS(copied, os.DirFS(home(t))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(copied, metaFile)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := replaceOnce(t, string(content), tc.old, tc.new)
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = readKeys(keys.system, keys.circuitHash, keys.params, copied)
			if !errors.Is(err, ErrKeysDamaged) || !strings.Contains(err.Error(), copied) {
				t.Fatalf("error %v, want ErrKeysDamaged with the directory", err)
			}
		})
	}
}

func TestLoadingNeverMakesKeys(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "keys")
	keys := mustKeys(t).keys[0]
	_, err := readKeys(keys.system, keys.circuitHash, keys.params, nowhere)
	if !errors.Is(err, ErrKeysMissing) {
		t.Fatalf("error %v, want ErrKeysMissing", err)
	}
}

// A contract accepts only proofs of the keys with which it was deployed, so no others replace them.
func TestDamagedKeysAreNamedAndLeftAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	copied := filepath.Join(dir, filepath.Base(home(t)))
	if err := os.CopyFS(copied, os.DirFS(home(t))); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(copied, provingFile)
	content, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(damaged, content, 0o644); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, copied)
	for _, neededBy := range []string{"", "a contract"} {
		_, err := DevelopmentKeys(t.Context(), smallParams(), dir, neededBy, nil)
		if !errors.Is(err, ErrKeysDamaged) || !strings.Contains(err.Error(), damaged) {
			t.Fatalf("needed by %q: %v; want ErrKeysDamaged with the file", neededBy, err)
		}
	}
	if diff := cmp.Diff(before, filesIn(t, copied)); diff != "" {
		t.Fatalf("the files were changed (-before +after):\n%s", diff)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(damaged, content, 0o644); err != nil {
		t.Fatal(err)
	}
	mended, err := DevelopmentKeys(t.Context(), smallParams(), dir, "a contract", nil)
	if err != nil || mended.Hash() != mustKeys(t).keys[0].Hash() {
		t.Fatalf("after the file was mended: %v", err)
	}
}

// filesIn are the checksums of the files in a directory.
func filesIn(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		sums[path] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func TestKeysOnWhichSomethingDependsAreNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	_, err := DevelopmentKeys(t.Context(), smallParams(), dir, "the contract", nil)
	if !errors.Is(err, ErrKeysMissing) || !strings.Contains(err.Error(), "the contract") {
		t.Fatalf("%v, want ErrKeysMissing with what depends on them", err)
	}
	if made, err := filepath.Glob(filepath.Join(dir, "development-*", "*")); err != nil || len(made) > 0 {
		t.Fatalf("there is %v, %v", made, err)
	}
}

func TestPresentKeysAreFoundWithAndWithoutTheirNoteAndNeverMade(t *testing.T) {
	dir := t.TempDir()
	if _, err := PresentKeys(smallParams(), dir, nil); !errors.Is(err, ErrKeysMissing) {
		t.Fatalf("none: %v", err)
	}
	if _, err := PresentKeys(Params{}, dir, nil); !errors.Is(err, ErrParams) {
		t.Fatalf("sizes: %v", err)
	}
	want := mustKeys(t).keys[0].Hash()
	if err := os.CopyFS(dir, os.DirFS(keyDirectory)); err != nil {
		t.Fatal(err)
	}
	for _, noted := range []bool{true, false} {
		if keys, err := PresentKeys(smallParams(), dir, nil); err != nil || keys.Hash() != want {
			t.Fatalf("with a note %v: %v", noted, err)
		}
		notes, err := filepath.Glob(filepath.Join(dir, "circuit-*"))
		if err != nil || noted != (len(notes) == 1) {
			t.Fatalf("with a note %v: there are %v, %v", noted, notes, err)
		}
		for _, note := range notes {
			if err := os.Remove(note); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := smallParams()
	other.Samples = 2
	if _, err := PresentKeys(other, dir, nil); !errors.Is(err, ErrKeysMissing) {
		t.Fatalf("of another circuit: %v", err)
	}
}

func TestKeysThatACrashLeftHalfMadeAreMade(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, filepath.Base(home(t)))
	if err := os.CopyFS(made+".new", os.DirFS(home(t))); err != nil { // A process was killed while it wrote.
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(made+".new", metaFile)); err != nil {
		t.Fatal(err)
	}
	keys, err := DevelopmentKeys(t.Context(), smallParams(), dir, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readKeys(keys.system, keys.circuitHash, keys.params, made)
	if err != nil || kept.Hash() != keys.Hash() {
		t.Fatalf("the new keys are not in the cache (%v)", err)
	}
	if _, err := os.Stat(made + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the temporary directory is left (%v)", err)
	}
}

func TestKeyHashCoversEveryWordInItsOrder(t *testing.T) {
	key := mustKeys(t).keys[0].VerifyingKey()
	words := key.Words()
	if len(words) != 22 {
		t.Fatalf("%d words, want 22", len(words))
	}
	if words[0] != key.Alpha1.X || words[2] != key.Beta2.X.Real || words[3] != key.Beta2.X.Imag ||
		words[14] != key.IC[0].X || words[21] != key.IC[3].Y {
		t.Fatal("the words are not in the documented order")
	}
}

func TestKeyHashIsTheSHA256OfAllWords(t *testing.T) {
	word := func(n byte) Word { return Word{31: n} }
	g2 := func(n byte) G2 {
		return G2{X: Fp2{word(n), word(n + 1)}, Y: Fp2{word(n + 2), word(n + 3)}}
	}
	key := VerifyingKey{
		Alpha1: G1{word(1), word(2)}, Beta2: g2(3), Gamma2: g2(7), Delta2: g2(11),
		IC: []G1{{word(15), word(16)}, {word(17), word(18)}, {word(19), word(20)}, {word(21), word(22)}},
	}
	// SHA-256 of the numbers 1 to 22, each as 32 bytes.
	want := "0b938c5706ff351bedbafe07aea382250b1d7a19d43e5f6e3d09853e97ee28ff"
	if diff := cmp.Diff(want, key.Hash()); diff != "" {
		t.Fatalf("hash differs (-want +got):\n%s", diff)
	}
}

func FuzzPointsAreReadExactlyOrRefused(f *testing.F) {
	_, _, one, two := curve.Generators()
	first, second := exportG1(&one), exportG2(&two)
	f.Add(first.X[:], first.Y[:], second.X.Real[:], second.X.Imag[:], second.Y.Real[:], second.Y.Imag[:])
	none := make([]byte, 32)
	f.Add(none, none, none, none, none, none)
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g []byte) {
		var words [6]Word
		for i, raw := range [][]byte{a, b, c, d, e, g} {
			copy(words[i][:], raw)
		}
		wantFirst := G1{words[0], words[1]}
		wantSecond := G2{Fp2{words[2], words[3]}, Fp2{words[4], words[5]}}
		var gotFirst curve.G1Affine
		var gotSecond curve.G2Affine
		var reader pointReader
		reader.g1("first", wantFirst, &gotFirst)
		if reader.err == nil && exportG1(&gotFirst) != wantFirst {
			t.Fatalf("%x is read as %x", wantFirst, exportG1(&gotFirst))
		}
		reader = pointReader{}
		reader.g2("second", wantSecond, &gotSecond)
		if reader.err == nil && exportG2(&gotSecond) != wantSecond {
			t.Fatalf("%x is read as %x", wantSecond, exportG2(&gotSecond))
		}
	})
}

func TestVerifyingKeyExportsRealBeforeImaginary(t *testing.T) {
	var raw groth16.VerifyingKey
	raw.G1.K = make([]curve.G1Affine, 4)
	raw.G2.Beta.X.A0 = fp.NewElement(1)
	raw.G2.Beta.X.A1 = fp.NewElement(2)
	exported, err := exportKey(&raw)
	if err != nil {
		t.Fatal(err)
	}
	want := Fp2{Real: Word{31: 1}, Imag: Word{31: 2}}
	if diff := cmp.Diff(want, exported.Beta2.X); diff != "" {
		t.Fatalf("beta2.x differs (-want +got):\n%s", diff)
	}
}

func TestVerifyingKeysWithBadPointsAreRefused(t *testing.T) {
	good := mustKeys(t).keys[0].VerifyingKey()
	for name, change := range map[string]func(*VerifyingKey){
		"alpha off the curve": func(k *VerifyingKey) { k.Alpha1.Y[31] ^= 1 },
		"gamma off the curve": func(k *VerifyingKey) { k.Gamma2.Y.Imag[31] ^= 1 },
		"a word not reduced": func(k *VerifyingKey) {
			fp.Modulus().FillBytes(k.Delta2.X.Real[:])
		},
		"ic off the curve":  func(k *VerifyingKey) { k.IC[3].X = Word{31: 5} },
		"one input missing": func(k *VerifyingKey) { k.IC = k.IC[:3] },
	} {
		key := good
		key.IC = slices.Clone(good.IC)
		change(&key)
		if _, err := NewVerifier(key); err == nil {
			t.Fatalf("%s: the key is accepted", name)
		}
	}
}

func FuzzMetaIsParsedOrRefused(f *testing.F) {
	f.Add([]byte(`{"kind":"development"}`))
	f.Add([]byte(`{"kind":"ceremony","filesSha256":{"a":"b"}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMeta(raw)
		if err != nil && !errors.Is(err, ErrKeysDamaged) {
			t.Fatalf("error %v, want ErrKeysDamaged", err)
		}
		if err == nil && m.Kind != developmentKind && m.Kind != ceremonyKind {
			t.Fatalf("kind %q is accepted", m.Kind)
		}
	})
}
