// Package outage proves hosted slots while the start of a host waits for its event store, which
// may take longer than a proof can wait.
//
// A proof needs nothing that only the record has. The contract says which slots are the
// account's, and the block hashes what they owe, by the rule that the proof scheduler uses too
// (package duty). Data, trees and manifests are on disk, and the account's outbox knows what
// was sent, even before a crash. With each new block
//
//  1. the hashes are read that its challenges come from, and once in a period the account's
//     slots;
//  2. each slot that owes a proof which is not known to be handed in gets a task, one at a
//     time: it asks whether the slot is still ours and whether a proof was taken, makes the
//     proof when the pool has room, and hands it in if it is still owed.
//
// It does nothing else. The type Market of this package can only read and submit proofs, so
// whatever costs or decides anything has to wait for the record. Nothing is recorded: the start
// finds the proofs in the outbox and on the chain, as after any crash.
//
// A member of a host is given a Market that names only the slots whose data is on its disk, and
// that sends beside the owner of the account's transactions.
package outage
