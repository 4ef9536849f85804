// Package prover makes and verifies storage proofs: Groth16 over BN254, verified by a contract.
//
// A proof answers a challenge of the marketplace. The challenge selects some cells of a slot
// (SampleCells). The prover shows that it has them: without revealing the data, it shows that their
// paths lead through the slot root to the dataset root of the storage request. The statement is in
// circuit.go; the contract knows three public inputs of it: entropy, dataset root, slot index.
//
//	keys, err := prover.DevelopmentKeys(ctx, prover.NetworkParams(), dir, "", nil)
//	p, err := prover.New(keys, 1)
//	proof, took, err := p.Prove(ctx, input)
//
// Prove reads the sampled 64 KiB blocks through a SlotReader, computes the tree inside each again
// and compares it with the stored block root. So a damaged disk is reported with the number of the
// block (DamagedBlockError) before a second of computing is wasted. Every proof is verified before
// it is returned.
//
// SlotProver does the same for stored slots, given their ids.
//
// A verifier accepts a proof only if it was deployed with the matching verifying key
// (Keys.VerifyingKey, whose Hash names it). Keys made on one machine are marked as development keys
// and must never guard real money.
//
// The hashes and trees are in the packages poseidon2 and merkle, which are pure and may be imported
// by all. This package knows nothing of chains, storage or actors.
package prover
