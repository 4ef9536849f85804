// Package audit replays all streams of a store and says whether the record is
// in order: whether every event can be read and stands where it should, comes
// from where it says, every step of every sale was allowed, and every byte,
// token and proof is accounted for. Start with audit.go; rules.go lists what is
// checked, with a stable code for each rule.
//
// It is an auditor, so it trusts nobody: what a sale may do next is a table of
// its own (table.go, written from docs/architecture.md and not from the core), ids and
// causes are computed again (origin.go), and every event of the ledger and the
// queue is compared with what the audit knows before the core's fold sees it.
// The cores' own checks of their whole state come on top. With a chain at hand
// the tokens that moved there are compared, too (money.go).
//
// One pass over all events in their global order, with memory for what lives:
// the open sales, reservations, queued slots and transactions, some 500 bytes
// for each stream, some 100 for each settled sale (rest.go), and two filters of
// a fixed size. Only when these filters cannot say something for sure is there
// a second pass (recheck.go). What is known can be kept in a file, so that an
// audit that was interrupted continues, and the next one begins where the last
// one ended (save.go, memory.go).
//
// After an event that cannot be read, or is missing, the rest of its stream is
// checked for its form only: everything else would be consequences. Streams of
// the system are passed over; only metadata that lets something of ours be
// removed is of interest (truncate.go).
//
// Not for: mending anything, or judging a host that is merely busy. What may be
// so because the host runs at this moment is a warning, never an error.
package audit
