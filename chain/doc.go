// Package chain is the marketplace contract as one host sees it, over Ethereum JSON-RPC.
//
// It has three parts. Market answers questions about the contract and, while its process owns them
// (transactions.go), sends the host's transactions; before it sends one it asks the chain, so that every
// call may be repeated after a crash. Follower delivers the contract's logs, or heads alone, block by
// block. Requester is the client's side, for trials.
//
// What needs no knowledge of the contract is in packages below: rpc is the connection; tx owns the
// account and sends its transactions; account is what its contracts may take of its tokens; feed follows
// logs. Another contract of the same account uses the same four.
//
// All times are chain time. The machine's clock only measures timeouts and pauses.
//
// Start with market.go. The peculiarities of the contract are described in
// docs/spec/marketplace.md, those of nodes in docs/spec/ethereum.md. The package contracts is our
// own Solidity with the same interface, and devchain a chain for one machine.
//
// Not for: deciding anything about a sale.
package chain
