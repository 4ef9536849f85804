// Package tx sends an account's transactions and sees to it that they are mined.
//
// Manager owns the account: it alone signs for it. It takes calls of any contract (Call) and writes
// each intent and each signed attempt to a small synced file, the outbox, before anything is sent.
// It chooses nonces and fees, keeps deadlines, sends what is urgent first, and watches what was
// mined until no reorganisation can drop it. The outbox is copied to the account's stream. A call
// that is repeated, even after a crash, finds its earlier transaction.
//
// The package knows no contract. Config tells it what it needs: the kinds of calls (which are
// duties, which count from their first block on, which need a check before they are sent again),
// what a revert means, and which calls only a host makes, so that another host with the same key is
// noticed.
//
// With Config.RecordFirst several processes own the account in turn: an attempt is sent when the stream
// has it (recordfirst.go), and what another owner sent without is left alone (unknownnonce.go).
//
// Start with manager.go, which takes calls, and step.go, what is done for each block. Manager sends; its parts
// know the rest: record what is written down, heads the newest block, outcomes (mined.go) what became of what was
// sent, duties (order.go) what goes first, fees and gas what is offered, signing, nonces (unknownnonce.go), and
// foreignWatch who else uses the account. docs/transactions.md describes all this from outside.
package tx
