// Package contracts is our own marketplace contract for development and tests: Solidity sources in
// src, with the interface and the rules of the Codex marketplace, the compiled artifacts, and what
// Go code needs to deploy them and to read their reverts.
//
// Beside it is a contract of our own design, in src/sectors, that holds the deposits of sectors and
// checks the proofs that their data are kept: see docs/provider-contract.md.
//
// A third verifies proofs that a piece is in an aggregate, as segment.Proof.Verify does, for any
// client that deploys it: src/InclusionVerifier.sol.
//
// A host works with any marketplace that has this interface; with this one, nothing else is needed
// to run a market. The calls are in package bindings. To change a contract, edit src and run
// generate.sh, which needs node; a test notices when that was forgotten.
//
// Deploy token, verifier and marketplace in this order: the marketplace takes the addresses of the
// other two. It cannot be deployed before block 257, because its challenges come from the hashes of
// the last 256 blocks. The sector provider takes the address of the token, in any block; the
// verifier of inclusion takes nothing.
package contracts
