// Package audit replays all streams of a store and checks them: whether every event
// can be read, is in the right place and has the cause that it names, whether every
// step of every sale was allowed, and whether every byte, token and proof is accounted
// for. Start with audit.go; rules.go lists what is checked, with a stable code for
// each rule.
//
// An auditor trusts nobody. So the audit has its own tables of the steps of a sale
// and of a sector (table.go, sectortable.go, written from docs and not from the cores), computes ids
// and causes again (origin.go), and compares every event of the ledger and the queue
// with what it knows, before the core's fold sees it. In addition it runs the cores'
// own checks of their whole state. If it can reach the chain, it also compares the
// tokens that moved there (money.go).
//
// It reads all events once, in their global order. Memory holds what is open: sales,
// reservations, queued slots and transactions, some 500 bytes for each stream; some
// 100 bytes for each settled sale (rest.go); and two filters of a fixed size. Only if
// these filters leave a doubt, all events are read a second time (recheck.go). The
// state can be saved in a file, so that an interrupted audit continues, and the next
// one begins where the last one ended (save.go, memory.go).
//
// After an event that cannot be read, or is missing, only the form of the rest of its
// stream is checked: other findings would only be consequences. Streams of the system
// are skipped, except for metadata that lets something of ours be removed
// (truncate.go).
//
// The audit repairs nothing, and does not blame a host for being busy: what may be so
// only because the host is running is a warning, never an error.
package audit
