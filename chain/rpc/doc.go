// Package rpc is the connection to an Ethereum node over JSON-RPC.
//
// Conn goes away and comes back, at the first of its endpoints that works, and asks again who is
// there. It leaves a node alone that is asked too often, sends many calls in as few messages as the
// node takes, and compares what it says with what was asked and with what is possible
// (believe.go). Its methods are what the rest of the chain asks: blocks, receipts, logs, reads of
// contracts (View), calls that are only tried (Trial), and transactions that are handed in.
// BlockTime says how far apart blocks are, and Waker when there may be a new one.
//
// It knows no contract: what the bytes of an answer or a revert mean is told by whoever asks. It is
// the only package that speaks JSON-RPC, and the surprises of nodes, which are in
// docs/spec/ethereum.md, end here.
package rpc
