package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/commd"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func TestTheIndexTakesItsRoom(t *testing.T) {
	for size, want := range map[uint64]struct{ entries, room uint64 }{
		512: {4, 256}, 32 * kib: {4, 32*kib - 256}, 512 * kib: {4, 512*kib - 256}, mib: {8, mib - 512},
		gib: {8192, gib - 512*kib}, 16 * gib: {131_072, 16*gib - 8*mib}, 32 * gib: {262_144, 34_342_961_152},
		64 * gib: {524_288, 64*gib - 32*mib},
	} {
		if got := Entries(size); got != want.entries || Room(size) != want.room || CheckSize(size) != nil {
			t.Errorf("%d bytes: %d entries, room for %d, %v; want %v", size, got, Room(size), CheckSize(size), want)
		}
	}
	for _, size := range []uint64{0, 1, 128, 256, 768, 32*gib + 1, 128 * gib, 1 << 63} {
		if err := CheckSize(size); !errors.Is(err, ErrSize) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func same(count int, size uint64) (pieces []Piece) {
	for i := range count {
		pieces = append(pieces, Piece{Root: rootOf(uint64(i)), Size: size})
	}
	return Order(pieces)
}

func TestWhatFitsIntoAnAggregate(t *testing.T) {
	half := Piece{Root: rootOf(1), Size: 512 * kib}
	quarter := Piece{Root: rootOf(2), Size: 256 * kib}
	for name, c := range map[string]struct {
		size   uint64
		pieces []Piece
		want   error
	}{
		"none":                              {32 * gib, nil, nil},
		"262,016 of 128 KiB":                {32 * gib, same(262_016, 128*kib), nil},
		"262,144 of 128 KiB":                {32 * gib, same(262_144, 128*kib), ErrTooLarge},
		"more than the index has entries":   {32 * gib, same(262_145, 128), ErrTooManyPieces},
		"as many as a ferry of 16 GiB":      {16 * gib, same(131_008, 128*kib), nil},
		"one more":                          {16 * gib, same(131_009, 128*kib), ErrTooLarge},
		"seven of 4 GiB":                    {32 * gib, same(7, 4*gib), nil},
		"eight of 4 GiB":                    {32 * gib, same(8, 4*gib), ErrTooLarge},
		"the largest piece":                 {64 * gib, same(1, 32*gib), nil},
		"the largest, which is the sector":  {64 * gib, same(1, 64*gib), ErrPieceTooLarge},
		"a piece as large as the aggregate": {32 * gib, same(1, 32*gib), ErrPieceTooLarge},
		"five in 32 KiB":                    {32 * kib, same(5, 128), ErrTooManyPieces},
		"two in the smallest":               {512, same(2, 128), nil},
		"three in the smallest":             {512, same(3, 128), ErrTooLarge},
		"no power of two":                   {mib + 1, nil, ErrSize},
		"a piece of a size that cannot be":  {mib, same(1, 129), ErrPiece},
		"a piece of nothing":                {mib, same(1, 0), ErrPiece},
		"no root":                           {mib, []Piece{{Size: 128}}, ErrPiece},
		"a root with its top bits":          {mib, []Piece{{Root: commd.Node{31: 0x40}, Size: 128}}, ErrPiece},
		"a piece twice":                     {mib, []Piece{quarter, quarter}, ErrSamePiece},
		"a root with two sizes":             {mib, []Piece{half, {Root: half.Root, Size: 128}}, ErrSamePiece},
		"the largest last":                  {mib, []Piece{quarter, half}, ErrOrder},
		"in order":                          {mib, []Piece{half, quarter}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			offsets, err := Place(c.size, c.pieces)
			if !errors.Is(err, c.want) || err == nil && len(offsets) != len(c.pieces) {
				t.Fatalf("%d offsets, %v; want %v", len(offsets), err, c.want)
			}
			if c.want == nil {
				return
			}
			if _, err := Build(c.size, c.pieces); !errors.Is(err, c.want) {
				t.Errorf("build: %v", err)
			}
			if _, err := NewObject(c.size, c.pieces, nil); !errors.Is(err, c.want) {
				t.Errorf("object: %v", err)
			}
		})
	}
}

func TestTheSamePiecesMakeTheSameAggregate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, pieces := filled(t)
		other := Order(rapid.Permutation(pieces).Draw(t, "permutation"))
		if diff := cmp.Diff(pieces, other); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The two files of go-data-segment's samples, and an empty aggregate.
func TestAggregatesAreThoseOfGoDataSegment(t *testing.T) {
	cat := Piece{Root: fromCID(t, "baga6ea4seaqae5ysjdbsr4b5jhotaz5ooh62jrrdbxwygfpkkfjz44kvywycmgy"), Size: 512 * kib}
	other := Piece{Root: fromCID(t, "baga6ea4seaqnrm2n2g4m23t6rs26obxjw2tjtr7tcho24gepj2naqhevytduyoa"), Size: 256 * kib}
	for _, c := range []struct {
		size   uint64
		pieces []Piece
		want   string
	}{
		{mib, []Piece{cat, other}, "baga6ea4seaqnqkeoqevjjjfe46wo2lpfclcbmkyms4wkz5srou3vzmr3w3c72bq"},
		{mib, []Piece{cat}, "baga6ea4seaqko3i6w4rij37dqerctuv4kbakbcylpe6weeu3tjp26fqyd6txcjy"},
		{32 * gib, nil, "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"},
	} {
		a := build(t, c.size, c.pieces)
		if got := commd.CID(a.Root()); got != c.want || a.Len() != len(c.pieces) || a.Size() != c.size {
			t.Errorf("%d pieces: %s of %d, want %s", a.Len(), got, a.Size(), c.want)
		}
	}
	// The second entry of their index.
	var entry [EntrySize]byte
	putEntry(entry[:], other.Root, 512*kib, other.Size)
	want := []byte{132, 3, 181, 210, 141, 102, 112, 210, 53, 106, 33, 44, 114, 197, 58, 3}
	if !bytes.Equal(entry[48:], want) {
		t.Errorf("checksum %v, want %v", entry[48:], want)
	}
}

// wholeRoot is the root computed from all 32 bytes of each leaf, for small aggregates of real pieces.
func wholeRoot(t testing.TB, o io.Reader) commd.Commitment {
	t.Helper()
	calc := commd.NewCalc()
	if _, err := io.Copy(calc, o); err != nil {
		t.Fatal(err)
	}
	c, err := calc.Commitment()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnAggregateOfPayloads(t *testing.T) {
	var contents []content
	for i, length := range []int{100, 1000, 3000, 1016, 127} {
		contents = append(contents, contentOf(t, length, uint64(i)))
	}
	pieces, open := list(contents)
	offsets, err := Place(mib, pieces)
	if diff := cmp.Diff([]uint64{0, 4096, 5120, 6144, 6272}, offsets); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	a := build(t, mib, pieces)
	o, err := NewObject(mib, pieces, open)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := wholeRoot(t, o), (commd.Commitment{Root: a.Root(), Size: mib, Payload: 1_040_384}); got != want {
		t.Fatalf("the object is %+v, the aggregate %+v", got, want)
	}
	depths, lengths := []int{8, 10, 10, 13, 13}, []int{757, 825, 825, 928, 928}
	for i, p := range pieces {
		proof := proofOf(t, a, i)
		if err := proof.Verify(p, a.Root(), mib); err != nil {
			t.Error(i, err)
		}
		if len(proof.Subtree.Nodes) != depths[i] || len(proof.Entry.Nodes) != 14 ||
			proof.Entry.Index != 16_376+uint64(i) || len(proof.Encode()) != lengths[i] {
			t.Errorf("piece %d: %d and %d nodes, entry %d, %d bytes", i,
				len(proof.Subtree.Nodes), len(proof.Entry.Nodes), proof.Entry.Index, len(proof.Encode()))
		}
	}
}

// An aggregate of 32 GiB with pieces of 128 bytes has the longest proofs.
func TestTheLongestProof(t *testing.T) {
	a := build(t, 32*gib, same(3, 128))
	p := proofOf(t, a, 2)
	if len(p.Subtree.Nodes) != 28 || len(p.Entry.Nodes) != 29 || len(p.Encode()) != 1+1+1+2+28*34+1+5+2+29*34 {
		t.Fatalf("%d and %d nodes, %d bytes", len(p.Subtree.Nodes), len(p.Entry.Nodes), len(p.Encode()))
	}
}

// reference computes an aggregate's nodes from the definition, sparsely: every node that is not over zeros.
func reference(size uint64, pieces []Piece) []map[uint64]commd.Node {
	depth := commd.Depth(size)
	layers := make([]map[uint64]commd.Node, depth+1)
	for i := range layers {
		layers[i] = map[uint64]commd.Node{}
	}
	var offset uint64
	for i, p := range pieces {
		layers[commd.Depth(p.Size)][offset/p.Size] = p.Root
		var e [EntrySize]byte
		putEntry(e[:], p.Root, offset, p.Size)
		first := (size-EntrySize*Entries(size))/32 + 2*uint64(i)
		layers[0][first], layers[0][first+1] = commd.Node(e[:]), commd.Node(e[32:])
		offset += p.Size
	}
	for level := range depth {
		get := func(index uint64) commd.Node {
			if n, ok := layers[level][index]; ok {
				return n
			}
			return commd.ZeroNode(level)
		}
		for index := range layers[level] {
			layers[level+1][index/2] = commd.Parent(get(index&^1), get(index|1))
		}
	}
	return layers
}

func TestEachProofVerifiesFromMemoryAndFromAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, pieces := filled(t)
		a, err := Build(size, pieces)
		if err != nil {
			t.Fatal(err)
		}
		layers := reference(size, pieces)
		root, ok := layers[len(layers)-1][0]
		if ok && a.Root() != root {
			t.Fatalf("root %x, want %x", a.Root(), root)
		}
		var file bytes.Buffer
		if _, err := a.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		again, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil || again.Root() != a.Root() || again.Len() != len(pieces) || again.Size() != size {
			t.Fatal(again, err)
		}
		for i, p := range pieces {
			proof, err := a.Proof(i)
			if err != nil {
				t.Fatal(err)
			}
			if err := proof.Verify(p, a.Root(), size); err != nil {
				t.Fatalf("piece %d: %v", i, err)
			}
			if opened, err := again.Proof(i); err != nil || !bytes.Equal(opened.Encode(), proof.Encode()) {
				t.Fatalf("piece %d from the file: %v", i, err)
			}
			for j, n := range proof.Subtree.Nodes {
				level := commd.Depth(p.Size) + j
				want, ok := layers[level][proof.Subtree.Index>>j^1]
				if !ok {
					want = commd.ZeroNode(level)
				}
				if n != want {
					t.Fatalf("piece %d: node %d is %x, want %x", i, j, n, want)
				}
			}
		}
	})
}

func TestAPieceThatIsNotThereIsNotFound(t *testing.T) {
	a := build(t, mib, same(3, 256))
	for _, i := range []int{-1, 3} {
		if _, err := a.Proof(i); !errors.Is(err, ErrNoPiece) {
			t.Errorf("proof %d: %v", i, err)
		}
	}
}

func TestAProofIsForOnePieceInOneAggregate(t *testing.T) {
	pieces := []Piece{{Root: rootOf(1), Size: 4096}, {Root: rootOf(2), Size: 1024}, {Root: rootOf(3), Size: 1024}}
	pieces = Order(pieces)
	a := build(t, mib, pieces)
	for i, p := range pieces {
		proof := proofOf(t, a, i)
		encoded := proof.Encode()
		for bit := range 8 * len(encoded) {
			bad := bytes.Clone(encoded)
			bad[bit/8] ^= 1 << (bit % 8)
			other, err := DecodeProof(bad)
			if err == nil {
				err = other.Verify(p, a.Root(), mib)
			}
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrProof) {
				t.Fatalf("piece %d, bit %d: %v", i, bit, err)
			}
		}
		for name, other := range map[string]Piece{
			"doubled": {Root: p.Root, Size: 2 * p.Size}, "halved": {Root: p.Root, Size: p.Size / 2},
			"the next":     pieces[(i+1)%3],
			"another root": {Root: rootOf(9), Size: p.Size},
			"the largest":  {Root: p.Root, Size: 64 * gib},
		} {
			if err := proof.Verify(other, a.Root(), mib); !errors.Is(err, ErrProof) {
				t.Errorf("piece %d, %s: %v", i, name, err)
			}
		}
		for name, err := range map[string]error{
			"another aggregate": proof.Verify(p, rootOf(9), mib),
			"another size":      proof.Verify(p, a.Root(), 2*mib),
		} {
			if !errors.Is(err, ErrProof) {
				t.Errorf("piece %d, %s: %v", i, name, err)
			}
		}
		if err := proof.Verify(Piece{Root: p.Root, Size: p.Size + 1}, a.Root(), mib); !errors.Is(err, ErrPiece) {
			t.Errorf("a size that cannot be: %v", err)
		}
	}
}

// An index outside of the aggregate's index area proves nothing, although the paths are right: the data itself may look
// like an entry.
func TestAnEntryMustLieInTheIndex(t *testing.T) {
	inner := Piece{Root: rootOf(1), Size: 128}
	var e [EntrySize]byte
	putEntry(e[:], inner.Root, 0, inner.Size)
	fake := commd.Parent(commd.Node(e[:]), commd.Node(e[32:]))
	// 512 bytes: the piece, then what looks like its entry.
	zero := commd.ZeroNode
	half := commd.Parent(inner.Root, commd.Parent(fake, zero(1)))
	p := Proof{
		Subtree: Path{0, []commd.Node{commd.Parent(fake, zero(1)), zero(3)}},
		Entry:   Path{2, []commd.Node{zero(1), inner.Root, zero(3)}},
	}
	root := commd.Parent(half, zero(3))
	if got, err := p.Subtree.root(inner.Root); err != nil || got != root {
		t.Fatal("the test is wrong", err)
	}
	if got, err := p.Entry.root(fake); err != nil || got != root {
		t.Fatal("the test is wrong", err)
	}
	if err := p.Verify(inner, root, 512); !errors.Is(err, ErrProof) {
		t.Fatal(err)
	}
	for index := range uint64(1) << 5 {
		bad := p
		bad.Subtree.Index = index << 59
		if index > 0 {
			if err := bad.Verify(inner, root, 512); !errors.Is(err, ErrProof) {
				t.Fatalf("index %d: %v", bad.Subtree.Index, err)
			}
		}
	}
}

func TestADamagedFileGivesNoProof(t *testing.T) {
	pieces := Order([]Piece{{Root: rootOf(1), Size: 4096}, {Root: rootOf(2), Size: 1024}, {Root: rootOf(3), Size: 128}})
	file := stored(t, build(t, mib, pieces))
	length := int64(len(file))
	for at := range file {
		bad := bytes.Clone(file)
		bad[at] ^= 1
		a, err := Open(bytes.NewReader(bad), length)
		if errors.Is(err, ErrMalformed) {
			continue
		}
		if err != nil {
			t.Fatal(at, err)
		}
		for i := range a.Len() {
			proof, err := a.Proof(i)
			if err == nil {
				p, _, _ := a.Piece(i)
				err = proof.Verify(p, a.Root(), a.Size())
			} else if errors.Is(err, ErrDamaged) {
				err = nil
			}
			if err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	}
	for _, cut := range []int64{0, 100, 255, 256, length - 1} {
		if _, err := Open(bytes.NewReader(file[:cut]), cut); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if _, err := Open(bytes.NewReader(file[:cut]), length); err == nil {
			t.Errorf("cut at %d, of another length than it says", cut)
		}
	}
	if _, err := Open(bytes.NewReader(append(file, 0)), length+1); !errors.Is(err, ErrMalformed) {
		t.Errorf("one byte more: %v", err)
	}
}

// The largest aggregate of small pieces, whose file has the size that the documentation names.
func TestTheFileOfManyPieces(t *testing.T) {
	pieces := same(262_016, 128*kib)
	a := build(t, 32*gib, pieces)
	if got := len(stored(t, a)); got > 34_000_000 {
		t.Errorf("the file has %d bytes", got)
	}
	for i := 0; i < len(pieces); i += 37_000 {
		if err := proofOf(t, a, i).Verify(pieces[i], a.Root(), 32*gib); err != nil {
			t.Error(i, err)
		}
	}
}

func TestTheFileHasTheLayoutThatIsDocumented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, pieces := filled(t)
		if len(pieces) == 0 {
			return
		}
		a, err := Build(size, pieces)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		want.WriteString("hostnode/aggr/1\n")
		counts := map[int]int{}
		for _, p := range pieces {
			counts[bits.TrailingZeros64(p.Size)]++
		}
		number := func(n uint64) { _, _ = want.Write(bigEndian(n)) }
		number(size)
		for level := 7; level <= 35; level++ {
			number(uint64(counts[level]))
		}
		layers := reference(size, pieces)
		for _, layer := range layers[1:] {
			for _, index := range sortedKeys(layer) {
				n := layer[index]
				want.Write(n[:])
			}
		}
		var got bytes.Buffer
		if _, err := a.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("%d bytes, want %d, %v", got.Len(), want.Len(), err)
		}
	})
}

func ExampleOrder() {
	pieces := Order([]Piece{{Root: rootOf(1), Size: 128}, {Root: rootOf(2), Size: 4096}, {Root: rootOf(3), Size: 1024}})
	offsets, err := Place(mib, pieces)
	fmt.Println(offsets, err)
	// Output: [0 4096 5120] <nil>
}
