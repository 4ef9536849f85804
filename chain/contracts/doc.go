// Package contracts is the marketplace on chain as this repository brings it along
// for development and tests: our own Solidity in src, with the interface and the
// rules of the Codex marketplace, the compiled artifacts, and what a deployer and a
// reader of reverts need in Go.
//
// Beside it stands a contract of our own design, in src/sectors, that holds the deposits
// of sectors and checks the proofs that their data are kept: see
// docs/provider-contract.md.
//
// A host talks to any marketplace with that interface. This one exists so that nothing
// else is needed to run one: see package bindings for the calls. To change it, edit
// src and run generate.sh, which needs node; a test notices when that was forgotten.
//
// The order of deployment is token, verifier, marketplace: the marketplace takes the
// addresses of the other two. It refuses to be deployed before block 257, because
// its challenges come from the hashes of the last 256 blocks. The sector provider takes
// the address of the token, in any block.
package contracts
