// Package exits tests the settlement matrix of docs/settlement.md against the
// contract: one test for each way in which a sale can end. It has only tests.
//
// Everything in them is real except for the proof system: the actors of a host,
// its disk, its transactions, blocks fetched over HTTP, and the marketplace
// contract in an EVM. Instead of Groth16, a prover hashes the whole slot to a
// number, and a verifier contract accepts every number but zero.
//
// A test seals the blocks itself: one whenever a transaction waits, or the host
// has seen the newest block and has nothing to do. So chain time runs as fast as
// the machine can follow, and never faster.
package exits
