// Package audit replays all streams of a store and says whether the record is
// in order: whether every event can be read and stands where it should, every
// step of every sale was allowed, and every byte, token and proof is accounted
// for. Start with audit.go; rules.go lists what is checked, with a stable code
// for each rule.
//
// It is an auditor, so it trusts nobody: what a sale may do next is a table of
// its own (table.go, written from the design and not from the core), and every
// event of the ledger and the queue is compared with what the audit knows
// before the core's fold sees it. The cores' own checks of their whole state
// come on top.
//
// One pass over all events in their global order, with memory for what lives:
// the open sales, reservations, queued slots and transactions, some 500 bytes
// for each stream, and two filters of a fixed size. Only when these filters
// cannot say something for sure is there a second pass (recheck.go).
//
// After an event that cannot be read, or is missing, the rest of its stream is
// checked for its form only: everything else would be consequences.
//
// Not for: mending anything, or judging a host that is merely busy. What may be
// so because the host runs at this moment is a warning, never an error.
package audit
