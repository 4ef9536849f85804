package prover

import (
	"context"
	"fmt"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/frontend"

	"github.com/hostnode/hostnode/events"
)

// MaxConcurrentLimit bounds how many proofs are made at the same time. A running proof of five
// samples takes about 190 MB.
const MaxConcurrentLimit = 64

// Prover makes proofs with one pair of keys. It is safe for concurrent use.
type Prover struct {
	keys     *Keys
	verifier *Verifier
	running  chan struct{} // has a token for every proof that is being made
}

// New returns a prover that uses keys, and makes at most so many proofs at the same time. Each uses
// all processors; more than one pays off only by overlapping reads.
func New(keys *Keys, maxConcurrent int) (*Prover, error) {
	if maxConcurrent < 1 || maxConcurrent > MaxConcurrentLimit {
		return nil, fmt.Errorf("%d concurrent proofs, want 1 to %d: %w",
			maxConcurrent, MaxConcurrentLimit, ErrParams)
	}
	verifier, err := NewVerifier(keys.VerifyingKey())
	if err != nil {
		return nil, err
	}
	return &Prover{
		keys:     keys,
		verifier: verifier,
		running:  make(chan struct{}, maxConcurrent),
	}, nil
}

// Prove reads the sampled cells, makes the proof and verifies it, and returns how long that took,
// without waiting for others. It waits while as many
// proofs as may be are being made. ctx ends the waiting and the reading, but not the computation, which takes
// about a second.
//
// Errors: ErrInput when the input is at fault; *DamagedBlockError (an events.ErrBitRot) when a
// stored block or the tree is damaged; events.ErrProofDoesNotVerify when our own verifier refuses
// the result; the error of the slot reader; the error of ctx.
func (p *Prover) Prove(ctx context.Context, in Input) (events.Proof, time.Duration, error) {
	if err := in.check(p.keys.params); err != nil {
		return events.Proof{}, 0, fmt.Errorf("prove: %w", err)
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return events.Proof{}, 0, fmt.Errorf("wait for another proof: %w", ctx.Err())
	}
	started := time.Now()
	proof, err := p.proveNow(ctx, in)
	if err != nil {
		return events.Proof{}, 0, fmt.Errorf("prove: %w", err)
	}
	if err := p.verifier.Verify(proof, in.Public()); err != nil {
		return events.Proof{}, 0, fmt.Errorf("check own proof: %w", err)
	}
	return proof, time.Since(started), nil
}

func (p *Prover) proveNow(ctx context.Context, in Input) (events.Proof, error) {
	samples, err := gather(ctx, p.keys.params, in)
	if err != nil {
		return events.Proof{}, err
	}
	witness, err := frontend.NewWitness(assign(p.keys.params, in, samples), ecc.BN254.ScalarField())
	if err != nil {
		return events.Proof{}, fmt.Errorf("build witness: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return events.Proof{}, err
	}
	made, err := groth16.Prove(p.keys.system, p.keys.proving, witness)
	if err != nil {
		return events.Proof{}, err
	}
	return exportProof(made), nil
}
