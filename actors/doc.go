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
// Read assemble.go first: it says which parts a host has and what each is given. Then in the order
// in which they use each other: host.go and commands.go, which others call; supervisor.go, the root
// actor, and rooms.go, sales.go, begin.go, handout.go and orphans.go, which run in its turns; and
// what runs beside it and writes the record: marketrecord.go, livingsales.go, term.go and
// hostrecord.go.
//
// Not for: rules. Only events/sale says what a sale does next.
package actors
