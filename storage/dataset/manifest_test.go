package dataset_test

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

// manifest returns a valid verifiable manifest of 8 blocks in 3+2 slots.
func manifest(t testing.TB) dataset.Manifest {
	t.Helper()
	var roots []fr.Element
	v := &dataset.Verification{Strategy: dataset.Linear}
	for i := range 5 {
		roots = append(roots, fr.NewElement(uint64(i+1)))
		v.SlotRoots = append(v.SlotRoots, dataset.SlotRootCID(roots[i]))
	}
	root, err := merkle.DatasetRoot(roots)
	if err != nil {
		t.Fatal(err)
	}
	v.VerifyRoot = dataset.ProvingRootCID(root)
	return dataset.Manifest{
		Tree: dataset.TreeCID([32]byte{1}), Size: 15 * dataset.BlockSize,
		Filename: "holiday.tar", MimeType: "application/x-tar",
		Erasure: &dataset.Erasure{
			Params:       dataset.Params{K: 3, M: 2},
			OriginalTree: dataset.TreeCID([32]byte{2}),
			OriginalSize: 8 * dataset.BlockSize,
			Strategy:     dataset.Stepped,
			Verification: v,
		},
	}
}

func encode(t testing.TB, m dataset.Manifest) []byte {
	t.Helper()
	block, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return block
}

var unexported = cmp.AllowUnexported(dataset.CID{})

func TestManifestsSurviveTheirBytes(t *testing.T) {
	plain := dataset.Manifest{Tree: dataset.TreeCID([32]byte{3}), Size: 7}
	protected := manifest(t)
	protected.Erasure.Verification = nil
	for _, want := range []dataset.Manifest{plain, protected, manifest(t)} {
		got, err := dataset.DecodeManifest(encode(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, unexported); diff != "" {
			t.Fatalf("manifest differs (-want +got):\n%s", diff)
		}
	}
}

func TestManifestWritesZerosAndTheHeaderInFieldOne(t *testing.T) {
	block := encode(t, manifest(t))
	field, kind, n := protowire.ConsumeTag(block)
	if field != 1 || kind != protowire.BytesType {
		t.Fatalf("outer field %d of type %d", field, kind)
	}
	header, m := protowire.ConsumeBytes(block[n:])
	if n+m != len(block) {
		t.Fatal("bytes follow the header")
	}
	// The last field of the verification is strategy 0, then come name and type.
	want := []byte{0x18, 0x80, 0x10, 0x20, 0x00, 0x42, 11}
	tail := header[len(header)-len("holiday.tar")-2-len("application/x-tar")-len(want)+0:]
	if diff := cmp.Diff(want, tail[:len(want)]); diff != "" {
		t.Fatalf("end of the verification differs (-want +got):\n%s", diff)
	}
}

func TestManifestThatContradictsItselfIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*dataset.Manifest){
		"tree is a block":        func(m *dataset.Manifest) { m.Tree = dataset.BlockCID([32]byte{}) },
		"original is a block":    func(m *dataset.Manifest) { m.Erasure.OriginalTree = dataset.CID{} },
		"wrong coded size":       func(m *dataset.Manifest) { m.Size++ },
		"wrong original size":    func(m *dataset.Manifest) { m.Erasure.OriginalSize *= 2 },
		"empty":                  func(m *dataset.Manifest) { m.Erasure.OriginalSize = 0 },
		"K too small":            func(m *dataset.Manifest) { m.Erasure.K = 1 },
		"codewords not stepped":  func(m *dataset.Manifest) { m.Erasure.Strategy = dataset.Linear },
		"slots not linear":       func(m *dataset.Manifest) { m.Erasure.Verification.Strategy = 1 },
		"a slot root is missing": func(m *dataset.Manifest) { cutRoot(m) },
		"slot roots swapped":     func(m *dataset.Manifest) { swapRoots(m) },
		"slot root is a cell":    treeAsRoot,
		"another verify root":    treeAsVerifyRoot,
		"name is not text":       func(m *dataset.Manifest) { m.Filename = "\xff" },
		"name is too long":       func(m *dataset.Manifest) { m.Filename = string(make([]byte, 1025)) },
	} {
		m := manifest(t)
		spoil(&m)
		if _, err := m.Encode(); !errors.Is(err, dataset.ErrManifest) {
			t.Fatalf("%s: error %v, want ErrManifest", name, err)
		}
	}
}

func cutRoot(m *dataset.Manifest) {
	v := m.Erasure.Verification
	v.SlotRoots = v.SlotRoots[:len(v.SlotRoots)-1]
}

func treeAsRoot(m *dataset.Manifest) { m.Erasure.Verification.SlotRoots[0] = m.Tree }

func treeAsVerifyRoot(m *dataset.Manifest) { m.Erasure.Verification.VerifyRoot = m.Tree }

func swapRoots(m *dataset.Manifest) {
	r := m.Erasure.Verification.SlotRoots
	r[0], r[1] = r[1], r[0]
}

func TestManifestBytesAreReadStrictly(t *testing.T) {
	block := encode(t, manifest(t))
	_, _, n := protowire.ConsumeTag(block)
	header, _ := protowire.ConsumeBytes(block[n:])
	wrap := func(header []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), header)
	}
	twice := protowire.AppendVarint(
		protowire.AppendTag(append([]byte(nil), header...), 2, protowire.VarintType), 65536)
	wrongType := protowire.AppendBytes(
		protowire.AppendTag(append([]byte(nil), header...), 3, protowire.BytesType), nil)
	for name, b := range map[string][]byte{
		"empty": nil, "cut": block[:len(block)-1], "garbage": []byte("manifest"),
		"field twice": wrap(twice), "wrong type": wrap(wrongType),
		"too long": make([]byte, dataset.MaxManifestSize+1),
	} {
		if _, err := dataset.DecodeManifest(b); !errors.Is(err, dataset.ErrManifest) {
			t.Fatalf("%s: error %v, want ErrManifest", name, err)
		}
	}
	later := protowire.AppendBytes(
		protowire.AppendTag(append([]byte(nil), header...), 99, protowire.BytesType), []byte("new"))
	if _, err := dataset.DecodeManifest(wrap(later)); err != nil {
		t.Fatalf("a field of a later version is not skipped: %v", err)
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add(encode(f, manifest(f)))
	f.Add(encode(f, dataset.Manifest{Tree: dataset.TreeCID([32]byte{3}), Size: 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := dataset.DecodeManifest(b)
		if err != nil {
			if !errors.Is(err, dataset.ErrManifest) {
				t.Fatalf("error %v, want ErrManifest", err)
			}
			return
		}
		again, err := dataset.DecodeManifest(encode(t, m))
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if diff := cmp.Diff(m, again, unexported); diff != "" {
			t.Fatalf("manifest differs (-first +second):\n%s", diff)
		}
	})
}
