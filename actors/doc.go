// Package actors is the host: it runs the pure cores as actors and connects them.
//
// An actor owns one machine: a sale, the ledger, the queue. All actors share one loop, the
// journal of package shell: load the stream and fold it; Decide on each command; append the
// resulting events at the expected revision; once they are durable, answer and perform the
// effects that Next names. The outcome of an effect comes back as a command. After a crash the
// stream is replayed and Next asked again, so any effect may be repeated, and every port asks
// before it acts (package port).
//
// The supervisor spawns the ledger's actor, Reservations (package ledger), the SlotQueue with a
// bounded number of workers (package queue), the ProofScheduler (package proofs) and one
// SalesAgent per slot (package selling). A host with a sealer has Sectors, too (package sectors). The
// supervisor passes on to them what the chain says.
//
// Not for: rules. Only events/sale says what a sale does next.
package actors
