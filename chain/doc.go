// Package chain is the marketplace contract for one host, over Ethereum JSON-RPC.
//
// Three things live here. Market answers questions about the contract and carries out
// the host's four transactions; each asks the chain before it acts, so that every call
// may be repeated after a crash. Its transactions go through one owner per account, package tx, and all
// that is asked through one connection, package rpc. Follower delivers what the contract says, block after block, across
// reorganisations and lost connections. Requester is the client's side, for trials.
//
// Time is chain time everywhere. The machine's clock serves only timeouts and waiting.
//
// Start with market.go; the contract's surprises are in docs/spec/marketplace.md, those of nodes
// in docs/spec/ethereum.md. Below are contracts, our own Solidity with the same interface, and
// devchain, a chain for one machine.
//
// Not for: deciding anything about a sale.
package chain
