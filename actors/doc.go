// Package actors is the host: it runs the pure cores as actors, and knows all of them.
//
// An actor owns one machine (a sale, the ledger, the queue). Its loop is
// always the same, and it lives in package shell: load the stream and fold it;
// for a command, Decide; append what follows with the expected revision; when
// that is durable, answer and perform the effects that Next names. What the
// world answers comes back as a command. A crash at any point is followed by
// replay, Next, act, so every effect may be repeated and every port asks
// before it acts (package port).
//
// The tree: a Supervisor spawns Reservations (single writer of the ledger, package
// ledger), the SlotQueue with its bounded workers (package queue), one SalesAgent
// per slot, and the ProofScheduler, and feeds them with what the chain says.
//
// Not for: rules. What a sale does next stands in events/sale and nowhere else.
package actors
