// Package tx brings an account's transactions onto the chain.
//
// Manager owns the account: it alone signs for it. It takes calls of any contract (Call), writes each
// intent and each signed attempt to a small synced file, the outbox, before anything is sent, keeps
// nonces, fees, deadlines and the order of what is urgent, and looks after what was mined until no
// reorganisation takes it back. What happened is copied to the account's stream. A repeated
// call finds the transaction of before, also after a crash.
//
// It knows no contract. Config tells it what it must know: the kinds of calls (which are duties, which
// count at once, which are asked about before they are sent again), what a revert means, and which
// calls only a host makes, so that another host with this key is noticed.
//
// Start with manager.go and step.go; order.go says what is sent first. How this looks from outside
// is in docs/transactions.md.
package tx
