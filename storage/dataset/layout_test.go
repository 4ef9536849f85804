package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestIndicesAreGroupedAsPublished(t *testing.T) {
	for _, test := range []struct {
		strategy dataset.Strategy
		want     [][]uint64
	}{
		{dataset.Linear, [][]uint64{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {10, 11, 12}}},
		{dataset.Stepped, [][]uint64{{0, 3, 6, 9, 12}, {1, 4, 7, 10}, {2, 5, 8, 11}}},
	} {
		for group, want := range test.want {
			got := test.strategy.Group(0, 12, 3, uint64(group))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("strategy %d group %d (-want +got):\n%s", test.strategy, group, diff)
			}
		}
	}
	if got := dataset.Linear.Group(0, 12, 3, 3); got != nil {
		t.Fatalf("group 3 of 3 is %v", got)
	}
}

func TestLayoutAgreesWithTheStrategies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 20).Draw(t, "K")
		m := rapid.IntRange(1, k).Draw(t, "M")
		size := rapid.Uint64Range(uint64(k-1)*65536+1, 100*65536).Draw(t, "size")
		l, err := dataset.NewLayout(size, dataset.Params{K: k, M: m})
		if err != nil {
			t.Fatal(err)
		}
		for slot := range l.Slots() {
			blocks := dataset.Linear.Group(0, l.Total()-1, uint64(l.Slots()), uint64(slot))
			for step, want := range blocks {
				if got := l.Block(slot, uint64(step)); got != want {
					t.Fatalf("block %d of slot %d is %d, want %d", step, slot, got, want)
				}
			}
			if uint64(len(blocks)) != l.Steps {
				t.Fatalf("slot %d has %d blocks, want %d", slot, len(blocks), l.Steps)
			}
		}
		for step := range l.Steps {
			word := dataset.Stepped.Group(0, l.Rounded()-1, l.Steps, step)
			for slot, want := range word {
				if got := l.Block(slot, step); got != want {
					t.Fatalf("shard %d of codeword %d is %d, want %d", slot, step, got, want)
				}
			}
		}
		if l.PaddedBlocks < l.Steps || l.PaddedBlocks >= 2*l.Steps || l.SlotSize()%65536 != 0 {
			t.Fatalf("%d blocks are padded to %d", l.Steps, l.PaddedBlocks)
		}
	})
}

func TestWhatCannotBeLaidOutIsRefusedWithAHint(t *testing.T) {
	for _, test := range []struct {
		name string
		size uint64
		p    dataset.Params
		err  error
		hint string
	}{
		{"empty file", 0, dataset.Params{K: 2, M: 1}, dataset.ErrEmpty, "nothing to store"},
		{"too small", 131072, dataset.Params{K: 3, M: 1}, dataset.ErrTooSmall, "at least 196608 bytes"},
		{"K of one", 1 << 20, dataset.Params{K: 1, M: 1}, dataset.ErrParams, "at least 2 data"},
		{"no parity", 1 << 20, dataset.Params{K: 2}, dataset.ErrParams, "at least 1 parity"},
		{"M above K", 1 << 20, dataset.Params{K: 2, M: 3}, dataset.ErrParams, "no more parity"},
		{"257 slots", 1 << 30, dataset.Params{K: 200, M: 57}, dataset.ErrParams, "at most 256"},
		{"huge K", 1 << 30, dataset.Params{K: 1 << 62, M: 1 << 62}, dataset.ErrParams, "at most 256"},
		{"too large", 1 << 63, dataset.Params{K: 2, M: 1}, dataset.ErrTooLarge, "at most"},
	} {
		_, err := dataset.NewLayout(test.size, test.p)
		if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.hint) {
			t.Fatalf("%s: error %q, want %q with %q", test.name, err, test.err, test.hint)
		}
	}
	// The last block of K may be short: what counts is the number of blocks.
	if _, err := dataset.NewLayout(2*65536+1, dataset.Params{K: 3, M: 1}); err != nil {
		t.Fatalf("three blocks for K = 3: %v", err)
	}
}

func TestTreeVerifierGivesTheRootOfTheTreeInMemory(t *testing.T) {
	var v dataset.TreeVerifier
	if _, err := v.Root(); !errors.Is(err, merkle.ErrNoLeaves) {
		t.Fatalf("error %v, want ErrNoLeaves", err)
	}
	var leaves [][32]byte
	for n := range 70 {
		leaf := [32]byte{byte(n), 1}
		leaves = append(leaves, leaf)
		v.Add(leaf)
		want, err := merkle.ContentRoot(leaves)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Root(); err != nil || got != want {
			t.Fatalf("%d leaves have root %x (%v), want %x", n+1, got, err, want)
		}
	}
}
