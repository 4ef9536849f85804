// Package rpc is the connection to an Ethereum node over JSON-RPC.
//
// Conn uses the first of its endpoints that works, reconnects by itself, and then checks that it
// has reached the same chain. It respects rate limits, sends many calls in as few messages as the
// node takes, and checks every answer against the question and against what is possible
// (believe.go). Its methods offer what the rest of the chain adapter needs: blocks, receipts, logs,
// reads of contracts (View), trial calls (Trial) and the sending of transactions. BlockTime is the
// usual time between blocks, and Waker wakes when there may be a new one.
//
// It knows no contract: the caller says what the bytes of an answer or of a revert mean. It is the
// only package that speaks JSON-RPC, and deals with all peculiarities of nodes
// (docs/spec/ethereum.md), so that others need not know them.
package rpc
