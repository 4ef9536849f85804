package prover

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// StoredSlot is a complete slot on disk.
type StoredSlot interface {
	SlotReader
	// Index is the slot's number in the dataset, from 0.
	Index() uint64
	// Slots is the number of slots of the dataset.
	Slots() uint64
	// Blocks is the number of real blocks, without padding.
	Blocks() uint64
	// SlotRoot is the root of the slot tree.
	SlotRoot() fr.Element
	// SlotProof is the path of the slot in the tree over all slot roots.
	SlotProof() []fr.Element
}

// OpenSlot finds a stored slot, or returns events.ErrNoSuchSlot.
type OpenSlot func(slot events.SlotID) (StoredSlot, error)

// SlotProver makes proofs from stored slots. It is safe for concurrent use.
type SlotProver struct {
	prover *Prover
	open   OpenSlot
}

// NewSlotProver returns a prover of the slots that open finds.
func NewSlotProver(p *Prover, open OpenSlot) *SlotProver {
	return &SlotProver{prover: p, open: open}
}

// KeyHash is the key that the contract's configuration must name.
func (p *SlotProver) KeyHash() string { return p.prover.keys.Hash() }

// Prove makes a proof for the job from the stored slot and verifies it. Its errors are those of
// Prover.Prove and OpenSlot; ErrInput also when the stored slot is not the one that the job names.
func (p *SlotProver) Prove(
	ctx context.Context, job events.ProofJob,
) (events.ProofResult, error) {
	root, err := poseidon2.Decode(job.DataSetRoot[:])
	if err != nil {
		return events.ProofResult{}, fmt.Errorf("dataset root: %w: %w", ErrInput, err)
	}
	slot, err := p.open(job.Slot)
	if err != nil {
		return events.ProofResult{}, fmt.Errorf("open slot %s: %w", job.Slot, err)
	}
	if slot.Index() != job.SlotIndex {
		return events.ProofResult{}, fmt.Errorf("slot %s is stored with index %d, asked for %d: %w",
			job.Slot, slot.Index(), job.SlotIndex, ErrInput)
	}
	proof, took, err := p.prover.Prove(ctx, Input{
		Challenge:   job.Challenge,
		DataSetRoot: root,
		SlotIndex:   job.SlotIndex,
		SlotRoot:    slot.SlotRoot(),
		NSlots:      slot.Slots(),
		SlotProof:   slot.SlotProof(),
		Blocks:      slot.Blocks(),
		Slot:        slot,
	})
	if err != nil {
		return events.ProofResult{}, fmt.Errorf("slot %s: %w", job.Slot, err)
	}
	return events.ProofResult{Proof: proof, Challenge: job.Challenge, Took: took}, nil
}
