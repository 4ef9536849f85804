// Package sim runs the real actors against a simulated world, from a seed.
//
// Every call of the host on the world (package actors/port and the event store) parks on a bus.
// The simulator waits until every goroutine is parked (testing/synctest), then lets exactly one
// call proceed, fail, or succeed with its answer lost. Between calls it seals blocks, lets time
// pass, reorganises the chain, lets other hosts win, or crashes the host and starts it again on
// the same record. After every step, and at the end, the invariants of the project must hold.
// The same seed gives the same run.
//
// Start reading at step.go (what can happen), invariants.go and audit.go (what must hold) and
// scenarios.go. A failing seed prints the command that repeats it; with -tell FILE its trace
// and the host's log are written there. open.go gives the same world to other tests, without a
// simulator.
//
// The world of this package is a fake: a marketplace in memory with the contract's rules
// (docs/spec/marketplace.md), a repo of numbers instead of bytes, and a prover whose proofs
// name their challenge.
package sim
