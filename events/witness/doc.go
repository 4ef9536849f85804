// Package witness remembers, in a file beside a host's event store, what the store has
// acknowledged, so that a store that has gone back is noticed: a server that was
// restored from an older backup, an empty database, another store.
//
// At a start New compares: the store's log has one order, so when the last acknowledged
// events are there, all are. While the host runs, the store has gone back when an append
// finds a stream shorter than before, or the newest event is missing at the head. From
// then on nothing is appended: every call returns events.ErrAway. The host does what it
// owes from the state that it has, and goes on by itself when the events are there
// again.
//
// The file is only an aid. If it is lost, or cut by a power failure, what it lacks is
// not noticed, and nothing else follows.
package witness
