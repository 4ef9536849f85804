// Package chain is the marketplace contract for one host, over Ethereum JSON-RPC.
//
// Three things live here. Market answers questions about the contract and carries out
// the host's transactions; each asks the chain before it acts, so that every call
// may be repeated after a crash. Follower delivers what the contract says, block after block.
// Requester is the client's side, for trials.
//
// What knows no contract is in rooms of its own, imported in this order: rpc, the connection; tx,
// which owns the account and brings calls onto the chain; feed, which follows logs. Another
// contract of the same account uses the same three.
//
// Time is chain time everywhere. The machine's clock serves only timeouts and waiting.
//
// Start with market.go; the contract's surprises are in docs/spec/marketplace.md, those of nodes
// in docs/spec/ethereum.md. Below are contracts, our own Solidity with the same interface, and
// devchain, a chain for one machine.
//
// Not for: deciding anything about a sale.
package chain
