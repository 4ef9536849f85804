package prover

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// storedSlot is a slot in memory.
type storedSlot struct {
	*memorySlot
	in Input
}

func (s storedSlot) Index() uint64           { return s.in.SlotIndex }
func (s storedSlot) Slots() uint64           { return s.in.NSlots }
func (s storedSlot) Blocks() uint64          { return s.in.Blocks }
func (s storedSlot) SlotRoot() fr.Element    { return s.in.SlotRoot }
func (s storedSlot) SlotProof() []fr.Element { return s.in.SlotProof }

// storedJob returns a prover that has one slot, and a job for it.
func storedJob(t *testing.T) (*SlotProver, Input, events.ProofJob) {
	t.Helper()
	in := newInput(t, shape{3, 1, 2}, challengeNumber(11))
	job := events.ProofJob{
		Slot:        events.SlotID{1},
		SlotIndex:   in.SlotIndex,
		DataSetRoot: poseidon2.Encode(in.DataSetRoot),
		Challenge:   in.Challenge,
	}
	open := func(slot events.SlotID) (StoredSlot, error) {
		if slot != job.Slot {
			return nil, events.ErrNoSuchSlot
		}
		return storedSlot{in.Slot.(*memorySlot), in}, nil
	}
	return NewSlotProver(mustProver(t), open), in, job
}

func TestProofJobsAreAnsweredFromStoredSlots(t *testing.T) {
	p, in, job := storedJob(t)
	result, err := p.Prove(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if err := mustProver(t).verifier.Verify(result.Proof, in.Public()); err != nil {
		t.Fatal(err)
	}
	if result.Challenge != job.Challenge || result.Took <= 0 {
		t.Fatalf("result for challenge %x after %v", result.Challenge, result.Took)
	}
	if p.KeyHash() != mustKeys(t).keys[0].Hash() {
		t.Fatalf("key hash %s, want %s", p.KeyHash(), mustKeys(t).keys[0].Hash())
	}
}

func TestProofJobsThatDoNotFitTheStoredSlotAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*events.ProofJob)
		want   error
	}{
		"no such slot":   {func(j *events.ProofJob) { j.Slot[0]++ }, events.ErrNoSuchSlot},
		"other index":    {func(j *events.ProofJob) { j.SlotIndex++ }, ErrInput},
		"other dataset":  {func(j *events.ProofJob) { j.DataSetRoot[0]++ }, ErrInput},
		"root too large": {func(j *events.ProofJob) { j.DataSetRoot[31] = 0xff }, ErrInput},
	} {
		p, _, job := storedJob(t)
		tc.change(&job)
		if _, err := p.Prove(t.Context(), job); !errors.Is(err, tc.want) {
			t.Fatalf("%s: error %v, want %v", name, err, tc.want)
		}
	}
}
