package dataset_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage/dataset"
)

// reference is the original data of the published example: 8 blocks.
func reference() []byte {
	var data []byte
	for i := range 8 {
		for b := range dataset.BlockSize {
			data = append(data, byte(131*i+7*b+13*(b>>8)))
		}
	}
	return data
}

func random(seed uint64, size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = source.Read(data)
	return data
}

func prepare(t testing.TB, data []byte, p dataset.Params) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Prepare(t.Context(), bytes.NewReader(data), int64(len(data)),
		filepath.Join(t.TempDir(), "dataset"), p, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestReferenceDatasetHasThePublishedNamesAndRoots(t *testing.T) {
	d := prepare(t, reference(), dataset.Params{K: 3, M: 2})
	m, l := d.Manifest(), d.Layout()
	if l.Steps != 3 || l.Rounded() != 9 || l.Total() != 15 || l.PaddedBlocks != 4 {
		t.Fatalf("layout %+v", l)
	}
	if l.SlotSize() != 262144 {
		t.Fatalf("slot size %d, want 262144", l.SlotSize())
	}
	parity := d.BlockCID(9).Digest()
	const wantParity = "4c536be3135ec0ade92e29d5707f4c6fb22466d23b03d841bef2409ebd811204"
	if got := hex.EncodeToString(parity[:]); got != wantParity {
		t.Fatalf("parity block 9 has digest %s, want %s", got, wantParity)
	}
	const original = "zDzSvJTf29LjD22U6sGMXjnDZa5w24PN74ddbLCB2UY4XRkqYnmD"
	const coded = "zDzSvJTfDdDqwWzcow5kBWEn2qQ3UdxHsKNS4aLjV4w4dfTukQW8"
	if got := m.Erasure.OriginalTree.String(); got != original {
		t.Fatalf("original tree %s, want %s", got, original)
	}
	if got := m.Tree.String(); got != coded {
		t.Fatalf("coded tree %s, want %s", got, coded)
	}
	for slot, want := range map[int]string{
		0: "17232119303717243824038900059255730074929096764842493878129064164322042597810",
		3: "14522252858833867550601132397691007032564282336425429873215368642639882664778",
	} {
		digest := m.Erasure.Verification.SlotRoots[slot].Digest()
		root, err := poseidon2.Decode(digest[:])
		if err != nil {
			t.Fatal(err)
		}
		if got := root.BigInt(new(big.Int)).String(); got != want {
			t.Fatalf("root of slot %d is %s, want %s", slot, got, want)
		}
	}
	if !d.BlockCID(8).Empty() || !l.Empty(8) {
		t.Fatal("block 8 is not the empty block")
	}
}

func TestAnyKSlotsGiveTheDataBack(t *testing.T) {
	for _, test := range []struct{ k, m, size int }{
		{2, 1, 65537}, {3, 2, 8 * 65536}, {4, 4, 5*65536 - 1},
	} {
		data := random(uint64(test.size), test.size)
		d := prepare(t, data, dataset.Params{K: test.k, M: test.m})
		rapid.Check(t, func(rt *rapid.T) {
			order := rapid.Permutation(indices(test.k+test.m)).Draw(rt, "slots")
			slots := make([]io.ReaderAt, test.k+test.m)
			for _, slot := range order[:test.k] {
				slots[slot] = d.Slot(slot)
			}
			var out buffer
			if err := dataset.Restore(t.Context(), d.Manifest(), slots, &out); err != nil {
				rt.Fatal(err)
			}
			if !bytes.Equal(out, data) {
				rt.Fatal("restored data differs")
			}
			slots[order[0]] = nil
			err := dataset.Restore(t.Context(), d.Manifest(), slots, &out)
			if !errors.Is(err, dataset.ErrTooFewSlots) {
				rt.Fatalf("error %v, want ErrTooFewSlots", err)
			}
		})
	}
}

func TestSlotsRestoredInBatchesGiveTheDataBack(t *testing.T) {
	// 14 steps of 5 slots take two batches; all data slots but one are lost.
	data := random(1, 39*65536+17)
	d := prepare(t, data, dataset.Params{K: 3, M: 2})
	slots := []io.ReaderAt{nil, d.Slot(1), nil, d.Slot(3), d.Slot(4)}
	var out buffer
	if err := dataset.Restore(t.Context(), d.Manifest(), slots, &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, data) {
		t.Fatal("restored data differs")
	}
}

func TestDamagedSlotDoesNotPassForTheData(t *testing.T) {
	data := random(2, 4*65536)
	d := prepare(t, data, dataset.Params{K: 2, M: 1})
	damaged := make(buffer, d.Layout().Steps*65536)
	slots := []io.ReaderAt{d.Slot(0), nil, bytes.NewReader(damaged)}
	var out buffer
	err := dataset.Restore(t.Context(), d.Manifest(), slots, &out)
	if !errors.Is(err, dataset.ErrWrongData) {
		t.Fatalf("error %v, want ErrWrongData", err)
	}
}

func TestWideCodesGiveTheirShardsBack(t *testing.T) {
	// 193+63 slots do not fit the 8-bit field.
	p := dataset.Params{K: 193, M: 63}
	want := make([][]byte, 256)
	for i := range p.K {
		want[i+p.M] = random(uint64(i), dataset.BlockSize)
	}
	if err := dataset.Reconstruct(p, want); err != nil {
		t.Fatal(err)
	}
	got := append([][]byte(nil), want...)
	for i := range p.M {
		got[4*i] = nil
	}
	if err := dataset.Reconstruct(p, got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			t.Fatalf("shard %d differs", i)
		}
	}
	got[0], got[4], got[1] = nil, nil, nil
	for i := range p.M {
		got[4*i] = nil
	}
	if err := dataset.Reconstruct(p, got); !errors.Is(err, dataset.ErrTooFewSlots) {
		t.Fatalf("error %v, want ErrTooFewSlots", err)
	}
}

func TestPreparedBlocksAreFoundByName(t *testing.T) {
	data := reference()
	d := prepare(t, data, dataset.Params{K: 3, M: 2})
	for i := range uint64(8) {
		got, err := d.Object(d.BlockCID(i))
		if err != nil || !bytes.Equal(got, data[i*65536:(i+1)*65536]) {
			t.Fatalf("block %d differs (%v)", i, err)
		}
	}
	manifest, err := d.Object(d.CID())
	if err != nil || !d.CID().Verify(manifest) {
		t.Fatalf("manifest does not have its name (%v)", err)
	}
	digests, err := d.Object(d.Manifest().Tree)
	if err != nil || len(digests) != 15*32 {
		t.Fatalf("%d bytes of digests (%v)", len(digests), err)
	}
	var leaves [][32]byte
	for b := digests; len(b) > 0; b = b[32:] {
		leaves = append(leaves, [32]byte(b))
	}
	root, err := merkle.ContentRoot(leaves)
	if err != nil || dataset.TreeCID(root) != d.Manifest().Tree {
		t.Fatalf("the digests do not verify themselves (%v)", err)
	}
	other := dataset.BlockCID(sha256.Sum256([]byte("another")))
	for _, c := range []dataset.CID{other, d.Manifest().Erasure.Verification.VerifyRoot} {
		if _, err := d.Object(c); !errors.Is(err, dataset.ErrNotFound) {
			t.Fatalf("%s: error %v, want ErrNotFound", c, err)
		}
	}
	empty, err := d.Object(dataset.EmptyBlock())
	if err != nil || len(empty) != 0 {
		t.Fatalf("the empty block has %d bytes (%v)", len(empty), err)
	}
}

func TestDamageOnDiskIsNoticed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dataset")
	data := random(5, 3*65536)
	d, err := dataset.Prepare(t.Context(), bytes.NewReader(data), int64(len(data)), dir,
		dataset.Params{K: 2, M: 1}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	flip(t, filepath.Join(dir, "blocks"), 70000)
	if _, err := d.Object(d.BlockCID(1)); !errors.Is(err, dataset.ErrDamaged) {
		t.Fatalf("error %v, want ErrDamaged", err)
	}
	flip(t, filepath.Join(dir, "digests"), 40)
	if _, err := dataset.Open(dir); !errors.Is(err, dataset.ErrDamaged) {
		t.Fatalf("error %v, want ErrDamaged", err)
	}
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPreparingReportsProgressAndNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "holiday.tar")
	if err := os.WriteFile(path, random(3, 36*65536), 0o644); err != nil {
		t.Fatal(err)
	}
	var reports []events.Bytes
	d, err := dataset.PrepareFile(t.Context(), path, filepath.Join(dir, "out"),
		dataset.Params{K: 4, M: 4}, dataset.Options{Progress: func(done, total events.Bytes) {
			reports = append(reports, done)
			if total != 72*65536 {
				t.Errorf("total %d", total)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if len(reports) != 2 || reports[1] != 72*65536 {
		t.Fatalf("progress %v", reports)
	}
	if d.Manifest().Filename != "holiday.tar" {
		t.Fatalf("file name %q", d.Manifest().Filename)
	}
}

func TestPreparingThatFailsLeavesNothingBehind(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	data := random(4, 4*65536)
	dir := t.TempDir()
	p := dataset.Params{K: 2, M: 1}
	for name, run := range map[string]func() error{
		"canceled": func() error {
			_, err := dataset.Prepare(canceled, bytes.NewReader(data), int64(len(data)),
				filepath.Join(dir, "a"), p, dataset.Options{})
			return err
		},
		"file shrinks": func() error {
			_, err := dataset.Prepare(t.Context(), bytes.NewReader(data), int64(len(data))+1,
				filepath.Join(dir, "b"), p, dataset.Options{})
			return err
		},
		"no such file": func() error {
			_, err := dataset.PrepareFile(t.Context(), filepath.Join(dir, "none"),
				filepath.Join(dir, "c"), p, dataset.Options{})
			return err
		},
		"a directory": func() error {
			_, err := dataset.PrepareFile(t.Context(), dir, filepath.Join(dir, "d"), p,
				dataset.Options{})
			return err
		},
	} {
		err := run()
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 0 {
			t.Fatalf("%s: left %v (%v)", name, left, err)
		}
	}
	taken := filepath.Join(dir, "taken")
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := dataset.Prepare(t.Context(), bytes.NewReader(data), int64(len(data)), taken, p,
		dataset.Options{})
	if !errors.Is(err, dataset.ErrExists) {
		t.Fatalf("error %v, want ErrExists", err)
	}
	if _, err := dataset.Open(taken); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want ErrNotExist", err)
	}
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// buffer is a file in memory.
type buffer []byte

func (b *buffer) WriteAt(p []byte, off int64) (int, error) {
	if grow := int(off) + len(p) - len(*b); grow > 0 {
		*b = append(*b, make([]byte, grow)...)
	}
	return copy((*b)[off:], p), nil
}

func BenchmarkPrepare(b *testing.B) {
	data := random(9, 8<<20)
	dir := b.TempDir()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		out := filepath.Join(dir, "dataset")
		d, err := dataset.Prepare(b.Context(), bytes.NewReader(data), int64(len(data)), out,
			dataset.Params{K: 3, M: 2}, dataset.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(d.Close(), os.RemoveAll(out)); err != nil {
			b.Fatal(err)
		}
	}
}
