// Package witness remembers, in a file beside a host's event store, what the store has
// acknowledged, so that a store that goes back is known: a server that was restored from
// an older backup, an empty database, another store.
//
// At a start New compares: the store's own log is in one order, so when the events that
// were acknowledged last are there, all are. While the host runs, an append that finds a
// stream shorter than it was, or a look at the head that does not find the newest event,
// says that the store went back. From then on nothing is appended: every call answers
// events.ErrAway, the host does what it owes from what it knows, and goes on by itself
// when the events are there again.
//
// The file is no record. What it lacks, because it was lost, or cut by a loss of power,
// is not known, and nothing else follows.
package witness
