// Package outage proves what is hosted while the start of a host waits for its event
// store, which may take longer than a proof can wait.
//
// Nothing that a proof needs is in the record alone. The contract says which slots are the
// account's and the hashes of blocks what they owe, by the same rule that the proof
// scheduler asks (package duty); data, trees and manifests are in the repo; and the outbox
// of the account knows what was sent, also before a crash. With each new block
//
//  1. the hashes are read that its challenges come from, and once in a period the
//     account's slots;
//  2. each slot that owes a proof which is not known to be handed in gets a task, one at a
//     time: it asks whether the slot is still ours and whether a proof was taken, makes the
//     proof when there is a place, and hands it in if it is still what is owed.
//
// It is for nothing else. A Market of this package can hand in proofs and look, so what
// costs or decides anything waits for the record by its type. It records nothing: the
// start finds the proofs in the outbox and on the chain, as after any crash.
package outage
