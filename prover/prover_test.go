package prover

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

func mustWitness(t testing.TB, values *circuit) witness.Witness {
	t.Helper()
	w, err := frontend.NewWitness(values, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEntropyIsTheFirst31BytesLittleEndian(t *testing.T) {
	raw, err := hex.DecodeString("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0")
	if err != nil {
		t.Fatal(err)
	}
	got := Entropy(events.Challenge(raw))
	want := "399106528263183272576821945637403726991374629960579644987980484671642140415"
	if got != decimal(t, want) {
		t.Fatalf("entropy %s, want %s", got.String(), want)
	}
}

func TestSampledCellsAreTheReferenceOnes(t *testing.T) {
	slotRoot := decimal(t, "2890404758151050274312606730350692187558493981946059404326311209060864654379")
	got, err := SampleCells(fr.NewElement(1234567), slotRoot, 512, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{437, 347, 362}, got); diff != "" {
		t.Fatalf("cells differ (-want +got):\n%s", diff)
	}
}

func TestSampledCellsLieInTheSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := uint64(1) << rapid.IntRange(5, 32).Draw(t, "log2 of cells")
		samples := rapid.IntRange(1, 10).Draw(t, "samples")
		entropy := fr.NewElement(rapid.Uint64().Draw(t, "entropy"))
		got, err := SampleCells(entropy, fr.NewElement(1), cells, samples)
		if err != nil || len(got) != samples {
			t.Fatalf("%d cells (%v), want %d", len(got), err, samples)
		}
		for _, cell := range got {
			if cell >= cells {
				t.Fatalf("cell %d of %d", cell, cells)
			}
		}
	})
}

func TestSamplingRefusesImpossibleSizes(t *testing.T) {
	for _, cells := range []uint64{0, 16, 33, 96, 1 << 33} {
		if _, err := SampleCells(fr.Element{}, fr.Element{}, cells, 1); !errors.Is(err, ErrInput) {
			t.Fatalf("%d cells: error %v, want ErrInput", cells, err)
		}
	}
	for _, samples := range []int{-1, 0, MaxSamples + 1} {
		if _, err := SampleCells(fr.Element{}, fr.Element{}, 32, samples); !errors.Is(err, ErrInput) {
			t.Fatalf("%d samples: error %v, want ErrInput", samples, err)
		}
	}
}

func TestProofVerifiesAndItsVariantsDoNot(t *testing.T) {
	p := mustProver(t)
	in := newInput(t, shape{5, 4, 3}, challengeNumber(7))
	proof, _, err := p.Prove(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	public := in.Public()
	if err := p.verifier.Verify(proof, public); err != nil {
		t.Fatal(err)
	}
	again, err := events.ParseProof(proof.String())
	if err != nil || p.verifier.Verify(again, public) != nil {
		t.Fatalf("the proof does not survive its text (%v)", err)
	}
	for name, change := range map[string]func(*events.Proof, *Public){
		"other entropy":      func(_ *events.Proof, q *Public) { q.Entropy = fr.NewElement(8) },
		"other dataset root": func(_ *events.Proof, q *Public) { q.DataSetRoot = fr.NewElement(8) },
		"other slot":         func(_ *events.Proof, q *Public) { q.SlotIndex = 3 },
		"a off the curve":    func(p *events.Proof, _ *Public) { p[0][31] ^= 1 },
		"a too large":        func(p *events.Proof, _ *Public) { p[1] = Word{0: 0xff} },
		"b off the curve":    func(p *events.Proof, _ *Public) { p[3][31] ^= 1 },
		"b swapped": func(p *events.Proof, _ *Public) {
			p[2], p[3], p[4], p[5] = p[3], p[2], p[5], p[4]
		},
		"c instead of a": func(p *events.Proof, _ *Public) { p[0], p[1] = p[6], p[7] },
		"no proof":       func(p *events.Proof, _ *Public) { *p = events.Proof{} },
	} {
		otherProof, otherPublic := proof, public
		change(&otherProof, &otherPublic)
		err := p.verifier.Verify(otherProof, otherPublic)
		if !errors.Is(err, events.ErrProofDoesNotVerify) {
			t.Fatalf("%s: error %v, want ErrProofDoesNotVerify", name, err)
		}
	}
}

func TestPaddingBlocksAreProvenWithoutReadingThem(t *testing.T) {
	in := newInput(t, shape{1, 0, 5}, events.Challenge{})
	in.Slot.(*memorySlot).read = func(index uint64) {
		if index >= 5 {
			t.Fatalf("padding block %d is read", index)
		}
	}
	for n := uint64(1); ; n++ {
		in.Challenge = challengeNumber(n)
		cells, err := SampleCells(Entropy(in.Challenge), in.SlotRoot, 8*merkle.CellsPerBlock, 1)
		if err != nil {
			t.Fatal(err)
		}
		if cells[0] >= 5*merkle.CellsPerBlock {
			break
		}
	}
	if err := solve(smallParams(), assigned(t, smallParams(), in)); err != nil {
		t.Fatal(err)
	}
}

func TestBitRotIsReportedWithItsBlock(t *testing.T) {
	p := mustProver(t)
	in := newInput(t, shape{1, 0, 8}, challengeNumber(7))
	cells, err := SampleCells(Entropy(in.Challenge), in.SlotRoot, 8*merkle.CellsPerBlock, 1)
	if err != nil {
		t.Fatal(err)
	}
	sampled := cells[0] / merkle.CellsPerBlock
	slot := in.Slot.(*memorySlot)
	slot.blocks[sampled][merkle.BlockSize-1] ^= 1
	_, _, err = p.Prove(t.Context(), in)
	damaged, ok := errors.AsType[*DamagedBlockError](err)
	if !ok || damaged.Block != sampled || damaged.Tree {
		t.Fatalf("error %v, want damaged bytes in block %d", err, sampled)
	}
	if !errors.Is(err, events.ErrBitRot) {
		t.Fatalf("error %v, want ErrBitRot", err)
	}
	slot.blocks[sampled][merkle.BlockSize-1] ^= 1
	slot.blocks[(sampled+1)%8][0] ^= 1
	if _, _, err := p.Prove(t.Context(), in); err != nil {
		t.Fatalf("damage in a block that is not sampled: %v", err)
	}
}

func TestDamagedTreesAreReportedWithTheirBlock(t *testing.T) {
	p := mustProver(t)
	in := newInput(t, shape{1, 0, 2}, challengeNumber(7))
	slot := in.Slot.(*memorySlot)
	other, err := merkle.NewTree([]fr.Element{fr.NewElement(1), fr.NewElement(2)})
	if err != nil {
		t.Fatal(err)
	}
	slot.tree = other
	_, _, err = p.Prove(t.Context(), in)
	damaged, ok := errors.AsType[*DamagedBlockError](err)
	if !ok || !damaged.Tree {
		t.Fatalf("error %v, want a damaged tree", err)
	}
}

func TestContradictingInputsAreRefused(t *testing.T) {
	p := mustProver(t)
	for name, change := range map[string]func(*Input){
		"no reader":        func(in *Input) { in.Slot = nil },
		"no blocks":        func(in *Input) { in.Blocks = 0 },
		"too many blocks":  func(in *Input) { in.Blocks = 9 },
		"too many slots":   func(in *Input) { in.NSlots = 9 },
		"no slots":         func(in *Input) { in.NSlots = 0 },
		"slot index":       func(in *Input) { in.SlotIndex = 1 },
		"slot index range": func(in *Input) { in.SlotIndex = 5 },
		"slot proof":       func(in *Input) { in.SlotProof = in.SlotProof[1:] },
		"dataset root":     func(in *Input) { in.DataSetRoot = fr.NewElement(1) },
		"slot root":        func(in *Input) { in.SlotRoot = fr.NewElement(1) },
	} {
		in := newInput(t, shape{5, 2, 1}, challengeNumber(7))
		change(&in)
		if _, _, err := p.Prove(t.Context(), in); !errors.Is(err, ErrInput) {
			t.Fatalf("%s: error %v, want ErrInput", name, err)
		}
	}
}

func TestReadErrorsReachTheCaller(t *testing.T) {
	p := mustProver(t)
	in := newInput(t, shape{1, 0, 1}, challengeNumber(7))
	ctx, cancel := context.WithCancel(t.Context())
	in.Slot.(*memorySlot).read = func(uint64) { cancel() }
	if _, _, err := p.Prove(ctx, in); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestOneProofWaitsForTheOtherUntilItsContextEnds(t *testing.T) {
	p := mustProver(t)
	first := newInput(t, shape{1, 0, 1}, challengeNumber(7))
	reading, goOn := make(chan struct{}), make(chan struct{})
	first.Slot.(*memorySlot).read = func(uint64) { close(reading); <-goOn }
	done := make(chan error, 1)
	go func() {
		_, _, err := p.Prove(t.Context(), first)
		done <- err
	}()
	<-reading
	second := newInput(t, shape{1, 0, 1}, challengeNumber(8))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// If one was free, half of the tries would take it by chance.
	for range 20 {
		_, _, err := p.Prove(ctx, second)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for") {
			t.Fatalf("error %v, want a cancelled wait", err)
		}
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestConcurrencyHasALimit(t *testing.T) {
	for _, n := range []int{-1, 0, MaxConcurrentLimit + 1} {
		if _, err := New(mustKeys(t).keys[0], n); !errors.Is(err, ErrParams) {
			t.Fatalf("%d proofs at once: error %v, want ErrParams", n, err)
		}
	}
}
