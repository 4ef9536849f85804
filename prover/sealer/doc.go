// Package sealer seals sectors in one of three ways, behind one port. Wherever a way is named, its
// name says what it shows:
//
//	CommD     possession, not replication   real commitments, and Merkle proofs that anybody verifies
//	Sim       simulated                     real CommD, all else a formula: for tests and demos
//	Remote    what the outside prover says  HTTP and JSON to a program that can do more, or less
//
// None of them makes a proof of replication (PoRep). Only an outside prover could, and then nothing
// on this host can verify it.
//
//	pieces    → AddPiece     into place, the commitment verified
//	Packing   → Pack         all pieces are there, and zeros behind them
//	          → PreCommit1   the tree over it
//	          → PreCommit2   CommD and CommR
//	          → Commit       the proof for the ticket and the seed
//	          → Finalize     what only sealing needed is removed
//	each day  → Challenge    a proof for that day's randomness
//	damage    → Restore      sound again, when damaged pieces were added again
//
// Every call may be repeated, also after a crash, and then gives the same. What a sealer answers is
// not believed: VerifyCommitments, Verify and VerifyChallenge compare it.
//
// The port is that of package actors/port, and the suite that they all pass is beside it.
package sealer
