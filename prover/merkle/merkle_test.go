package merkle_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

func decimal(t testing.TB, s string) fr.Element {
	t.Helper()
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		t.Fatalf("%q is not a decimal number", s)
	}
	var e fr.Element
	e.SetBigInt(n)
	return e
}

func upTo(n int) []fr.Element {
	elements := make([]fr.Element, n)
	for i := range elements {
		elements[i].SetUint64(uint64(i + 1))
	}
	return elements
}

func wantElement(t testing.TB, got fr.Element, want string) {
	t.Helper()
	if n := decimal(t, want); !got.Equal(&n) {
		t.Fatalf("got %s, want %s", got.String(), want)
	}
}

func TestRootsOverElementsMatchTheReference(t *testing.T) {
	for n, want := range map[int]string{
		1:  "3725399183367945352080398854175773551921581713520486387171444673504688049612",
		2:  "1200363431219114414119550523646199479423259809629365937886754089111624051137",
		3:  "3290849705974295885356475812949977947719075082723205888372484144436587857608",
		5:  "8797512419619623354301868676697660408674060215007182352266699867257089555918",
		7:  "5618925189910878733331114718351946258062126524237918283575709000172677619746",
		16: "16980404023653621595001952565345111473785834266619087676781785983708180485792",
		33: "13634513843727898927772335038794285458655559239614377841772627165816947638955",
	} {
		leaves := upTo(n)
		root, err := merkle.Root(leaves)
		if err != nil {
			t.Fatal(err)
		}
		wantElement(t, root, want)
		tree, err := merkle.NewTree(leaves)
		if err != nil {
			t.Fatal(err)
		}
		wantElement(t, tree.Root(), want)
		if diff := cmp.Diff(upTo(n), leaves); diff != "" {
			t.Fatalf("the leaves changed (-want +got):\n%s", diff)
		}
	}
}

func TestNoLeavesHaveNoRoot(t *testing.T) {
	_, rootErr := merkle.Root(nil)
	_, treeErr := merkle.NewTree(nil)
	_, slotErr := merkle.SlotRoot(nil)
	_, slotTreeErr := merkle.NewSlotTree(nil)
	_, contentErr := merkle.ContentRoot(nil)
	for _, err := range []error{rootErr, treeErr, slotErr, slotTreeErr, contentErr} {
		if !errors.Is(err, merkle.ErrNoLeaves) {
			t.Fatalf("error %v, want ErrNoLeaves", err)
		}
	}
}

func TestPathOfASingleLeafIsOneZero(t *testing.T) {
	tree, err := merkle.NewTree(upTo(1))
	if err != nil {
		t.Fatal(err)
	}
	path, err := tree.Path(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fr.Element{{}}, path); diff != "" {
		t.Fatalf("path differs (-want +got):\n%s", diff)
	}
	if tree.Depth() != 1 || tree.Leaves() != 1 {
		t.Fatalf("depth %d over %d leaves, want 1 over 1", tree.Depth(), tree.Leaves())
	}
}

func TestEveryPathLeadsToTheRootAndNowhereElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "leaves")
		i := rapid.IntRange(0, n-1).Draw(t, "index")
		leaves := upTo(n)
		tree, err := merkle.NewTree(leaves)
		if err != nil {
			t.Fatal(err)
		}
		path, err := tree.Path(i)
		if err != nil {
			t.Fatal(err)
		}
		if len(path) != merkle.PathLength(uint64(n)) {
			t.Fatalf("path of %d entries, want %d", len(path), merkle.PathLength(uint64(n)))
		}
		root, index, count := tree.Root(), uint64(i), uint64(n)
		if !merkle.Verify(root, leaves[i], index, count, path) {
			t.Fatalf("path of leaf %d of %d does not verify", i, n)
		}
		if merkle.Verify(root, fr.NewElement(1000), index, count, path) {
			t.Fatal("another leaf verifies")
		}
		if merkle.Verify(root, leaves[i], count, count, path) {
			t.Fatal("an index outside the tree verifies")
		}
		if merkle.Verify(root, leaves[i], index, count, append(path, fr.Element{})) {
			t.Fatal("a path that is too long verifies")
		}
		if n > 1 {
			other := (index + 1) % count
			if merkle.Verify(root, leaves[i], other, count, path) {
				t.Fatalf("leaf %d verifies at index %d of %d", i, other, n)
			}
		}
		level := rapid.IntRange(0, len(path)-1).Draw(t, "level")
		if !path[level].IsZero() {
			path[level] = fr.NewElement(1000)
			if merkle.Verify(root, leaves[i], index, count, path) {
				t.Fatalf("a path damaged at level %d verifies", level)
			}
		}
	})
}

func TestIndicesOutsideTheTreeAreRefused(t *testing.T) {
	tree, err := merkle.NewTree(upTo(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{-1, 3} {
		if _, err := tree.Path(i); !errors.Is(err, merkle.ErrIndex) {
			t.Fatalf("path %d: error %v, want ErrIndex", i, err)
		}
		if _, err := tree.Leaf(i); !errors.Is(err, merkle.ErrIndex) {
			t.Fatalf("leaf %d: error %v, want ErrIndex", i, err)
		}
	}
}

func TestBlockOfZerosHasTheKnownRoot(t *testing.T) {
	const want = "3952633175115817719652826365077208226235197743380403001936311199014828401604"
	root, err := merkle.BlockRoot(make([]byte, merkle.BlockSize))
	if err != nil {
		t.Fatal(err)
	}
	wantElement(t, root, want)
	wantElement(t, merkle.ZeroBlockRoot(), want)
}

func TestSlotOfOneZeroBlockHasTheKnownRoot(t *testing.T) {
	const want = "4384952928893449621043813462127473665827607506450269414578024890565381960560"
	root, err := merkle.SlotRoot([]fr.Element{merkle.ZeroBlockRoot()})
	if err != nil {
		t.Fatal(err)
	}
	wantElement(t, root, want)
}

func TestBlockWhoseBytesCountUpHasTheKnownRoot(t *testing.T) {
	const want = "6696780137711132283511598199982262931139796690684519198201388971970954729592"
	block := make([]byte, merkle.BlockSize)
	for i := range block {
		block[i] = byte(i)
	}
	root, err := merkle.BlockRoot(block)
	if err != nil {
		t.Fatal(err)
	}
	wantElement(t, root, want)
	tree, err := merkle.NewBlockTree(block)
	if err != nil {
		t.Fatal(err)
	}
	wantElement(t, tree.Root(), want)
	if tree.Depth() != merkle.BlockTreeDepth {
		t.Fatalf("block tree of depth %d, want %d", tree.Depth(), merkle.BlockTreeDepth)
	}
}

func TestBlocksOfAnyOtherSizeAreRefused(t *testing.T) {
	for _, size := range []int{0, merkle.BlockSize - 1, merkle.BlockSize + 1} {
		block := make([]byte, size)
		_, rootErr := merkle.BlockRoot(block)
		_, treeErr := merkle.NewBlockTree(block)
		_, blocksErr := merkle.HashBlocks(t.Context(), [][]byte{block})
		for _, err := range []error{rootErr, treeErr, blocksErr} {
			if !errors.Is(err, poseidon2.ErrLength) {
				t.Fatalf("block of %d bytes: error %v, want ErrLength", size, err)
			}
		}
	}
}

// generated returns the blocks that the reference tools generate for a slot.
func generated(seed uint64, blocks int) [][]byte {
	data := make([][]byte, blocks)
	for b := range data {
		for c := range merkle.CellsPerBlock {
			s1 := seed + 0xdeadcafe
			s2 := uint64(b*merkle.CellsPerBlock+c) + 0x98765432
			state := uint64(1)
			for range merkle.CellSize {
				state = state*(state+s1)*(state+s2) + state*(state^0x5a5a5a5a) + s1*state + s2 + 17
				state %= 1698428844001831
				data[b] = append(data[b], byte(state))
			}
		}
	}
	return data
}

func TestGeneratedSlotHasTheReferenceRoot(t *testing.T) {
	blocks := generated(12345+72, 16)
	wantElement(t, poseidon2.HashBytes(blocks[0][:merkle.CellSize]), "6766626229109438998511650555450160451070280491013064757195345456105349826338")
	roots, err := merkle.HashBlocks(t.Context(), blocks)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := merkle.NewSlotTree(roots)
	if err != nil {
		t.Fatal(err)
	}
	wantElement(t, tree.Root(), "2890404758151050274312606730350692187558493981946059404326311209060864654379")
}

func TestSlotsAreFilledUpWithBlocksOfZeros(t *testing.T) {
	for blocks, want := range map[uint64]uint64{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1025: 2048} {
		got, err := merkle.PaddedBlocks(blocks)
		if err != nil || got != want {
			t.Fatalf("%d blocks are padded to %d (%v), want %d", blocks, got, err, want)
		}
	}
	roots := upTo(3)
	filled := append(upTo(3), merkle.ZeroBlockRoot())
	want, err := merkle.Root(filled)
	if err != nil {
		t.Fatal(err)
	}
	got, err := merkle.SlotRoot(roots)
	if err != nil || got != want {
		t.Fatalf("slot root %s (%v), want %s", got.String(), err, want.String())
	}
	tree, err := merkle.NewSlotTree(roots)
	if err != nil || tree.Root() != want || tree.Leaves() != 4 {
		t.Fatalf("slot tree %+v (%v), want root %s over 4 leaves", tree, err, want.String())
	}
	if _, err := merkle.PaddedBlocks(merkle.MaxSlotBlocks + 1); !errors.Is(err, merkle.ErrIndex) {
		t.Fatalf("a slot that is too large: error %v, want ErrIndex", err)
	}
}

func TestContentTreeHashesChildrenAndKey(t *testing.T) {
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	c := sha256.Sum256([]byte("c"))
	node := func(left, right [32]byte, key byte) [32]byte {
		return sha256.Sum256(append(append(left[:], right[:]...), key))
	}
	want := node(node(a, b, 1), node(c, [32]byte{}, 3), 0)
	got, err := merkle.ContentRoot([][32]byte{a, b, c})
	if err != nil || got != want {
		t.Fatalf("content root %x (%v), want %x", got, err, want)
	}
	tree, err := merkle.Build([][32]byte{a, b, c}, merkle.CompressContent)
	if err != nil || tree.Root() != want {
		t.Fatalf("content tree root differs from %x (%v)", want, err)
	}
	path, err := tree.Path(2)
	if err != nil {
		t.Fatal(err)
	}
	if !merkle.VerifyPath(want, c, 2, 3, path, merkle.CompressContent) {
		t.Fatal("the path of the leaf without a sibling does not verify")
	}
}

func TestHashingBlocksStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := merkle.HashBlocks(ctx, [][]byte{make([]byte, merkle.BlockSize)})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestBlockRootAllocatesNothing(t *testing.T) {
	block := make([]byte, merkle.BlockSize)
	var sink fr.Element
	if n := testing.AllocsPerRun(2, func() { sink, _ = merkle.BlockRoot(block) }); n != 0 {
		t.Fatalf("a block root allocates %v times (%s)", n, sink.String())
	}
}

func BenchmarkSlotHashing(b *testing.B) {
	blocks := generated(1, 16)
	b.Run("one worker", func(b *testing.B) {
		b.SetBytes(merkle.BlockSize)
		for b.Loop() {
			if _, err := merkle.BlockRoot(blocks[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all workers", func(b *testing.B) {
		b.SetBytes(int64(len(blocks)) * merkle.BlockSize)
		for b.Loop() {
			roots, err := merkle.HashBlocks(b.Context(), blocks)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := merkle.SlotRoot(roots); err != nil {
				b.Fatal(err)
			}
		}
	})
}
