package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/prover/merkle"
)

// This file makes one proof with the keys on disk.

// provingKeys are those on disk, beside the contract's.
type provingKeys struct {
	Missing bool
	// Have and Wanted are hashes; Wanted is empty if the contract was not read.
	Have, Wanted string
	keys         *prover.Keys
}

func (e *exam) measureKeys(m market) (k provingKeys, err error) {
	k.Wanted = m.Terms.Proofs.KeyHash
	k.keys, err = prover.PresentKeys(node.ProverParams(e.Config.Prover), e.Config.Prover.KeysDir, nil)
	if errors.Is(err, prover.ErrKeysMissing) {
		used, failed := e.dir.Used()
		if failed != nil || used { // A used directory gets no other keys.
			return k, errors.Join(err, failed)
		}
		k.Missing = true
		return k, nil
	}
	if err != nil {
		return k, err
	}
	k.Have = k.keys.Hash()
	return k, nil
}

// proving is how long one proof takes.
type proving struct {
	// Skipped says why none was made; empty: one was.
	Skipped string
	Took    time.Duration
	Samples int
	// Period is the contract's; 0: it was not read. A proof must be ready Margin before its end.
	Period, Margin time.Duration
	// Load is the share of time that proofs may take, in percent; Workers how many slots are taken at once.
	Load, Workers uint64
}

// Memory of a proof: some 190 MB for the five samples of the network's circuit.
const (
	proofMemory  = 64 << 20
	sampleMemory = 32 << 20
)

func (e *exam) measureProof(ctx context.Context, k provingKeys, m market) (p proving, err error) {
	c := e.Config
	p = proving{
		Samples: c.Prover.Samples, Period: m.Terms.Proofs.Period, Load: c.Sales.ProofLoad,
		Workers: uint64(c.Sales.MaxWorkers), Margin: time.Duration(c.Sales.ProofBlocks) * m.BlockTime,
	}
	if k.keys == nil {
		p.Skipped = "there are no proving keys to use"
		return p, nil
	}
	need := events.Bytes(proofMemory + sampleMemory*c.Prover.Samples)
	if free, known := freeMemory(); known && free < need {
		p.Skipped = fmt.Sprintf("it needs %s of memory, and %s is available", need.Human(), free.Human())
		return p, nil
	}
	in, err := sampleInput()
	if err != nil {
		return p, err
	}
	making, err := prover.New(k.keys, 1)
	if err != nil {
		return p, err
	}
	_, p.Took, err = making.Prove(ctx, in)
	return p, err
}

// freeMemory is what the system says is available for programs; false: it does not say.
func freeMemory() (events.Bytes, bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "MemAvailable:" {
			kib, err := strconv.ParseUint(words[1], 10, 50)
			return events.Bytes(kib << 10), err == nil
		}
	}
	return 0, false
}

// sampleSlot is a slot of one block of zeros. A proof of a large one takes as long.
type sampleSlot struct{ tree *merkle.FieldTree }

func (sampleSlot) ReadBlock(_ context.Context, _ uint64, block []byte) error {
	clear(block)
	return nil
}

func (s sampleSlot) BlockPath(_ context.Context, index uint64) (root fr.Element, path []fr.Element, err error) {
	if root, err = s.tree.Leaf(int(index)); err != nil {
		return root, nil, err
	}
	path, err = s.tree.Path(int(index))
	return root, path, err
}

func sampleInput() (in prover.Input, err error) {
	slot, err := merkle.NewSlotTree([]fr.Element{merkle.ZeroBlockRoot()})
	if err != nil {
		return in, err
	}
	set, err := merkle.NewTree([]fr.Element{slot.Root()})
	if err != nil {
		return in, err
	}
	path, err := set.Path(0)
	return prover.Input{
		DataSetRoot: set.Root(), SlotRoot: slot.Root(), NSlots: 1, SlotProof: path, Blocks: 1, Slot: sampleSlot{slot},
	}, err
}
