// Package sealer has three implementations of the port Sealer (package actors/port). The
// method Proves says what the proofs of each show:
//
//	CommD     possession, not replication   real commitments, and Merkle proofs that anyone can verify
//	Sim       simulated                     real CommD, all else a formula: for tests and demos
//	Remote    what the outside prover says  HTTP and JSON to a program that can do more, or less
//
// The first two make no proof of replication (PoRep). An outside prover could, but nothing on
// this host could verify it.
//
//	pieces    → AddPiece     written, and compared with its commitment
//	Packing   → Pack         the rest is filled with zeros
//	          → PreCommit1   the tree is built
//	          → PreCommit2   CommD and CommR are computed
//	          → Commit       the proof for the ticket and the seed is made
//	          → Finalize     what only sealing needed is removed
//	each day  → Challenge    a proof for that day's randomness is made
//	damage    → Restore      the sector is repaired; damaged pieces are added again first
//
// Every call may be repeated, also after a crash, and then returns the same. No result of a
// sealer is used before VerifyCommitments, Verify or VerifyChallenge has checked it.
//
// All pass the suite in actors/porttest/sealertest.
package sealer
