package prover

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

// smallParams is a circuit that is quick to set up: one sample, slots of up to eight
// blocks, datasets of up to eight slots.
func smallParams() Params {
	p := NetworkParams()
	p.MaxDepth, p.MaxLog2NSlots, p.Samples = 8, 3, 1
	return p
}

// madeKeys are the keys that all tests share, requested by two callers at the same time.
type madeKeys struct {
	keys  [2]*Keys
	steps [2][]string
}

// keyDirectory is the directory of sharedKeys; TestMain creates and removes it.
var keyDirectory string

var sharedKeys = sync.OnceValues(func() (madeKeys, error) {
	var made madeKeys
	var errs [2]error
	var callers sync.WaitGroup
	for i := range made.keys {
		callers.Go(func() {
			say := func(step string) { made.steps[i] = append(made.steps[i], step) }
			made.keys[i], errs[i] = DevelopmentKeys(
				context.Background(), smallParams(), keyDirectory, "", say)
		})
	}
	callers.Wait()
	return made, errors.Join(errs[:]...)
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hostnode-keys-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	keyDirectory = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func mustKeys(t testing.TB) madeKeys {
	t.Helper()
	made, err := sharedKeys()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func mustProver(t testing.TB) *Prover {
	t.Helper()
	p, err := New(mustKeys(t).keys[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// memorySlot is a slot in memory.
type memorySlot struct {
	blocks [][]byte
	tree   *merkle.FieldTree
	read   func(index uint64) // called before a block is read, when set
}

func (s *memorySlot) ReadBlock(ctx context.Context, index uint64, block []byte) error {
	if s.read != nil {
		s.read(index)
	}
	if index >= uint64(len(s.blocks)) {
		return fmt.Errorf("block %d of %d", index, len(s.blocks))
	}
	copy(block, s.blocks[index])
	return ctx.Err()
}

func (s *memorySlot) BlockPath(_ context.Context, index uint64) (fr.Element, []fr.Element, error) {
	root, err := s.tree.Leaf(int(index))
	if err != nil {
		return fr.Element{}, nil, err
	}
	path, err := s.tree.Path(int(index))
	return root, path, err
}

// shape is the size of a dataset and the slot in it.
type shape struct{ slots, index, blocks int }

// newInput makes a slot of generated data in a dataset of that shape.
func newInput(t testing.TB, s shape, challenge events.Challenge) Input {
	t.Helper()
	slot := &memorySlot{blocks: generatedBlocks(12345+72, s.blocks)}
	roots, err := merkle.HashBlocks(t.Context(), slot.blocks)
	if err != nil {
		t.Fatal(err)
	}
	if slot.tree, err = merkle.NewSlotTree(roots); err != nil {
		t.Fatal(err)
	}
	slotRoots := make([]fr.Element, s.slots)
	for i := range slotRoots {
		slotRoots[i].SetUint64(uint64(1000 + i)) // Other hosts' slots.
	}
	slotRoots[s.index] = slot.tree.Root()
	dataset, err := merkle.NewTree(slotRoots)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := dataset.Path(s.index)
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Challenge:   challenge,
		DataSetRoot: dataset.Root(),
		SlotIndex:   uint64(s.index),
		SlotRoot:    slot.tree.Root(),
		NSlots:      uint64(s.slots),
		SlotProof:   proof,
		Blocks:      uint64(s.blocks),
		Slot:        slot,
	}
}

// generatedBlocks is the data generator of the reference tools.
func generatedBlocks(seed uint64, blocks int) [][]byte {
	data := make([][]byte, blocks)
	for b := range data {
		data[b] = make([]byte, merkle.BlockSize)
		for i := range data[b] {
			if i%merkle.CellSize != 0 {
				continue
			}
			s1 := seed + 0xdeadcafe
			s2 := uint64(b*merkle.CellsPerBlock+i/merkle.CellSize) + 0x98765432
			state := uint64(1)
			for j := range merkle.CellSize {
				state = state*(state+s1)*(state+s2) + state*(state^0x5a5a5a5a) + s1*state + s2 + 17
				state %= 1698428844001831
				data[b][i+j] = byte(state)
			}
		}
	}
	return data
}

// challengeNumber is a challenge whose entropy is n.
func challengeNumber(n uint64) events.Challenge {
	var c events.Challenge
	binary.LittleEndian.PutUint64(c[:], n)
	return c
}

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
