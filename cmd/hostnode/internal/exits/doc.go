// Package exits holds the settlement matrix of docs/settlement.md to the contract:
// one test for each way in which a sale can end. It is all tests.
//
// Everything in them is real but the proof system: the actors of a host, its disk,
// its transactions, blocks fetched over HTTP, and the marketplace contract in an
// EVM. In place of Groth16, a prover that reads and hashes the whole slot makes a
// number out of it, and a verifier contract takes every number but zero.
//
// A test seals the blocks itself: one whenever a transaction waits or the host has
// seen the newest block and has nothing to do, so that chain time runs as fast as
// the machine can follow and never faster.
package exits
