// Package members is what the members of one host tell each other, and what each of them knows of
// the others from the record.
//
// A host may be several processes, its members, over one event store. What runs once per host (the
// slot queue, the account's transactions, following the contract, validating) runs on the member
// that has the term, the owner. Each member has a ledger for its own disk, and runs the sales whose
// data is there.
//
// The record says nearly everything that a member must know of another one: Mirror folds it. Two
// things are asked for directly (questions.go): the owner asks a member to sell a slot, and a member
// asks the owner to send a transaction (Market). Any question may arrive twice, or late. A proof for which
// nobody answers waits in the event store (ReadyProofs).
//
// Not for: who has the term, which package actors decides, and how questions travel, which is the
// port's (port.Cluster).
package members
