package commd

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if grow := int(at) + len(p) - len(m.b); grow > 0 {
		m.b = append(m.b, make([]byte, grow)...)
	}
	return copy(m.b[at:], p), nil
}

func (m *memory) ReadAt(p []byte, at int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, at) }

// data is a sector in FR32 form that contains no zeros.
func data(sector uint64, seed uint64) []byte {
	b := noise(int(sector), seed)
	maskNodes(b)
	return b
}

func build(t testing.TB, b []byte) (*Tree, *memory) {
	t.Helper()
	file := &memory{}
	root, err := BuildTree(t.Context(), bytes.NewReader(b), uint64(len(b)), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := OpenTree(file, uint64(len(b)))
	if err != nil || tree.Root() != root {
		t.Fatalf("root %x, %v; built %x", tree.Root(), err, root)
	}
	return tree, file
}

// layersOf are all layers of a tree, from the leaves to the root, by the definition.
func layersOf(b []byte) [][]Node {
	var leaves []Node
	for ; len(b) > 0; b = b[NodeSize:] {
		leaves = append(leaves, Node(b))
	}
	layers := [][]Node{leaves}
	for last := leaves; len(last) > 1; last = layers[len(layers)-1] {
		var above []Node
		for i := 0; i < len(last); i += 2 {
			above = append(above, Parent(last[i], last[i+1]))
		}
		layers = append(layers, above)
	}
	return layers
}

func TestATreeOnDiskHasTheLayoutThatIsDocumented(t *testing.T) {
	for _, sector := range []uint64{2 << 10, 4 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20} {
		b := data(sector, sector)
		_, file := build(t, b)
		if uint64(len(file.b)) != TreeSize(sector) {
			t.Fatalf("the tree of %d bytes has %d, TreeSize says %d", sector, len(file.b), TreeSize(sector))
		}
		layers := layersOf(b)
		want := encodeTreeHeader(sector)
		for _, layer := range layers[min(7, len(layers)-1):] {
			for _, n := range layer {
				want = append(want, n[:]...)
			}
		}
		if !bytes.Equal(file.b, want) {
			t.Fatalf("the tree of %d bytes is not its layers", sector)
		}
	}
	if got := TreeSize(64 << 30); got != 1<<30 {
		t.Fatalf("the tree of the largest sector has %d bytes", got)
	}
}

func TestProgressGoesFromNothingToAll(t *testing.T) {
	var told []float64
	b := data(4<<20, 1)
	_, err := BuildTree(t.Context(), bytes.NewReader(b), uint64(len(b)), &memory{}, func(f float64) { told = append(told, f) })
	if diff := cmp.Diff([]float64{0.25, 0.5, 0.75, 1}, told); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

func TestATreeThatIsCancelledHasNoHeader(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the host stops")
	file := &memory{}
	b := data(4<<20, 1)
	_, err := BuildTree(ctx, bytes.NewReader(b), uint64(len(b)), file, func(done float64) {
		if done == 0.5 {
			cancel(stop)
		}
	})
	if !errors.Is(err, stop) {
		t.Fatalf("building: %v", err)
	}
	if _, err := OpenTree(file, uint64(len(b))); !errors.Is(err, ErrMalformed) {
		t.Fatalf("opening half a tree: %v", err)
	}
}

func TestDataThatCannotBeASectorIsRefused(t *testing.T) {
	b := data(1<<20, 1)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"too short":       {b[:len(b)-1], ErrMalformed},
		"nothing":         {nil, ErrMalformed},
		"bits in padding": {append(bytes.Clone(b[:len(b)-1]), 0xff), ErrMalformed},
	} {
		if _, err := BuildTree(t.Context(), bytes.NewReader(c.data), 1<<20, &memory{}, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("no room")
	if _, err := BuildTree(t.Context(), bytes.NewReader(b), 1<<20, refusing{full}, nil); !errors.Is(err, full) {
		t.Errorf("a disk that is full: %v", err)
	}
	if _, err := BuildTree(t.Context(), bytes.NewReader(b), 1000, &memory{}, nil); !errors.Is(err, ErrSize) {
		t.Errorf("an impossible size: %v", err)
	}
}

type refusing struct{ err error }

func (r refusing) WriteAt([]byte, int64) (int, error) { return 0, r.err }

func TestFilesThatAreNoTree(t *testing.T) {
	_, file := build(t, data(1<<20, 1))
	for name, change := range map[string]func(b []byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"a header":     func(b []byte) []byte { return b[:32] },
		"cut off":      func(b []byte) []byte { return b[:len(b)-1] },
		"another size": func(b []byte) []byte { b[22]++; return b },
		"another base": func(b []byte) []byte { b[31]++; return b },
		"other magic":  func(b []byte) []byte { b[0]++; return b },
	} {
		if _, err := OpenTree(bytes.NewReader(change(bytes.Clone(file.b))), 1<<20); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenTree(file, 3); !errors.Is(err, ErrSize) {
		t.Errorf("an impossible size: %v", err)
	}
	broken := errors.New("broken")
	if _, err := OpenTree(brokenAt{broken}, 1<<20); !errors.Is(err, broken) {
		t.Errorf("a disk that cannot be read: %v", err)
	}
}

type brokenAt struct{ err error }

func (b brokenAt) ReadAt([]byte, int64) (int, error) { return 0, b.err }

var challenge = Challenge{
	Domain: Possession, Ticket: [32]byte{1, 2}, Seed: [32]byte{3, 4}, Provider: [20]byte{5}, Number: 77, Leaves: 10,
}

func TestProofsOfPossessionVerify(t *testing.T) {
	for _, sector := range []uint64{2 << 10, 4 << 10, 8 << 10, 1 << 20} {
		b := data(sector, sector)
		tree, _ := build(t, b)
		layers := layersOf(b)
		proof, err := Prove(tree, bytes.NewReader(b), challenge)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(tree.Root(), sector, challenge, proof); err != nil {
			t.Fatal(err)
		}
		// Byte for byte: each leaf and its siblings, from the lowest up.
		indices, err := challenge.Indices(sector)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, leaf := range indices {
			want = append(want, layers[0][leaf][:]...)
			for level := range len(layers) - 1 {
				want = append(want, layers[level][leaf>>level^1][:]...)
			}
		}
		if !bytes.Equal(proof, want) || len(proof) != ProofSize(sector, challenge.Leaves) {
			t.Fatalf("the proof of a sector of %d bytes has another form", sector)
		}
	}
}

// The contract computes the same; these were computed by a program that shares no code with either.
func TestIndicesAreFixed(t *testing.T) {
	c := challenge
	c.Leaves = 4
	for _, want := range []struct {
		domain  Domain
		indices []uint64
	}{
		{Seal, []uint64{61455945, 508284097, 491176287, 553477574}},
		{Possession, []uint64{687091796, 208403009, 486333027, 927262401}},
	} {
		c.Domain = want.domain
		got, err := c.Indices(32 << 30)
		if diff := cmp.Diff(want.indices, got); err != nil || diff != "" {
			t.Fatal(want.domain, err, diff)
		}
	}
	commR := CommR(c.Provider, c.Number, c.Ticket, zeros[30])
	if got, want := CID(commR), "baga6ea4seaqdyggvxmy4f7lv7p7nhcec7pzppip53tr5udsru5c2h6rjytyjmja"; got != want {
		t.Fatalf("CommR %s, want %s", got, want)
	}
}

func TestAProofIsForOneChallengeOnly(t *testing.T) {
	b := data(64<<10, 1)
	tree, _ := build(t, b)
	proof, err := Prove(tree, bytes.NewReader(b), challenge)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *Challenge){
		"domain":   func(c *Challenge) { c.Domain = Seal },
		"ticket":   func(c *Challenge) { c.Ticket[31]++ },
		"seed":     func(c *Challenge) { c.Seed[31]++ },
		"provider": func(c *Challenge) { c.Provider[19]++ },
		"number":   func(c *Challenge) { c.Number++ },
	} {
		c := challenge
		change(&c)
		if err := Verify(tree.Root(), 64<<10, c, proof); !errors.Is(err, ErrProof) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		sector uint64
		leaves int
		want   error
	}{
		"another size":     {128 << 10, 10, ErrMalformed},
		"fewer leaves":     {64 << 10, 9, ErrMalformed},
		"no leaves":        {64 << 10, 0, ErrSize},
		"too many leaves":  {64 << 10, MaxLeaves + 1, ErrSize},
		"impossible sizes": {63 << 10, 10, ErrSize},
	} {
		with := challenge
		with.Leaves = c.leaves
		if err := Verify(tree.Root(), c.sector, with, proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Verify(zeros[5], 64<<10, challenge, proof); !errors.Is(err, ErrProof) {
		t.Errorf("another CommD: %v", err)
	}
}

func TestEveryFlippedBitOfAProofIsFound(t *testing.T) {
	b := data(4<<10, 1)
	tree, _ := build(t, b)
	proof, err := Prove(tree, bytes.NewReader(b), challenge)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(proof) * 8 {
		proof[i/8] ^= 1 << (i % 8)
		if err := Verify(tree.Root(), 4<<10, challenge, proof); !errors.Is(err, ErrProof) {
			t.Fatalf("bit %d: %v", i, err)
		}
		proof[i/8] ^= 1 << (i % 8)
	}
}

func TestDamageIsFoundWhereItIs(t *testing.T) {
	const sector = 1 << 20
	good := data(sector, 1)
	_, file := build(t, good)
	rapid.Check(t, func(t *rapid.T) {
		b, f := bytes.Clone(good), &memory{bytes.Clone(file.b)}
		tree, err := OpenTree(f, sector)
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.Uint64Range(0, sector-1).Draw(t, "at")
		b[at] ^= 1
		found, err := tree.CheckData(context.Background(), bytes.NewReader(b), 0, sector, 10)
		if diff := cmp.Diff([]Damage{{Offset: at / 4096 * 4096, Length: 4096}}, found); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		// A node that differs does not fit its children, or does not fit its parent.
		f.b[rapid.IntRange(treeHeader, len(f.b)-1).Draw(t, "node")] ^= 1
		if found, err := tree.CheckNodes(context.Background(), 10); err != nil || len(found) == 0 {
			t.Fatalf("damage of the tree: %v, %v", found, err)
		}
	})
	tree, _ := build(t, good)
	if found, err := tree.CheckNodes(t.Context(), 10); err != nil || len(found) > 0 {
		t.Fatalf("of a whole tree: %v, %v", found, err)
	}
	if found, err := tree.CheckData(t.Context(), bytes.NewReader(good), 0, sector, 10); err != nil || len(found) > 0 {
		t.Fatalf("of whole data: %v, %v", found, err)
	}
	b := bytes.Clone(good)
	for i := 0; i < len(b); i += 4096 {
		b[i] ^= 1
	}
	if found, err := tree.CheckData(t.Context(), bytes.NewReader(b), 8192, 20_000, 2); err != nil ||
		!cmp.Equal(found, []Damage{{8192, 4096, 0}, {12288, 4096, 0}}) {
		t.Fatalf("at most two from 8,192 on: %v, %v", found, err)
	}
	if found, err := tree.CheckData(t.Context(), bytes.NewReader(b), sector, sector, 2); err != nil || found != nil {
		t.Fatalf("nothing is looked at: %v, %v", found, err)
	}
}

func TestDamagedDataGivesNoProof(t *testing.T) {
	b := data(64<<10, 1)
	tree, file := build(t, b)
	indices, err := challenge.Indices(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	b[indices[3]*NodeSize+5] ^= 4
	if _, err := Prove(tree, bytes.NewReader(b), challenge); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a flipped bit: %v", err)
	}
	b[indices[3]*NodeSize+5] ^= 4
	if _, err := Prove(tree, bytes.NewReader(b[:indices[0]*NodeSize]), challenge); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a file that is cut off: %v", err)
	}
	broken := errors.New("broken")
	if _, err := Prove(tree, brokenAt{broken}, challenge); !errors.Is(err, broken) {
		t.Fatalf("a disk that cannot be read: %v", err)
	}
	file.b[nodeOffset(64<<10, 7, indices[0]>>7^1)] ^= 1
	if _, err := Prove(tree, bytes.NewReader(b), challenge); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a flipped bit of the tree: %v", err)
	}
	file.b = file.b[:100]
	if _, err := Prove(tree, bytes.NewReader(b), challenge); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a tree that is cut off: %v", err)
	}
	if _, err := tree.CheckNodes(t.Context(), 1); !errors.Is(err, ErrMalformed) {
		t.Fatalf("looking at a tree that is cut off: %v", err)
	}
	if _, err := Prove(tree, bytes.NewReader(b), Challenge{}); !errors.Is(err, ErrSize) {
		t.Fatalf("a challenge without leaves: %v", err)
	}
}

// When a tenth of a sector is lost, 44 leaves find it with 99 %, ten with 65 %.
func TestHowOftenLossIsFound(t *testing.T) {
	const sector, trials = 1 << 20, 4000
	lost := sector / NodeSize / 10
	for leaves, want := range map[int][2]float64{10: {0.63, 0.67}, 44: {0.985, 0.995}} {
		found := 0
		for i := range trials {
			c := challenge
			c.Leaves, c.Seed = leaves, [32]byte{byte(i), byte(i >> 8)}
			indices, err := c.Indices(sector)
			if err != nil {
				t.Fatal(err)
			}
			for _, leaf := range indices {
				if leaf < uint64(lost) {
					found++
					break
				}
			}
		}
		if share := float64(found) / trials; share < want[0] || share > want[1] {
			t.Errorf("%d leaves found it in %.3f of %d trials, want %v", leaves, share, trials, want)
		}
	}
}
