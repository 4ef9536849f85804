// Package provider implements the port ProviderChain: the contract of sectors, SectorProvider,
// as one provider sees it. It uses the connection, the block reader and the transaction manager
// that the marketplace of the same account has already.
//
//	cfg.OtherContracts = append(cfg.OtherContracts, provider.Contract(address)) // of the market
//	market, err := chain.Dial(ctx, cfg, store, dir) // Or DialReader, and Own from time to time.
//	p, err := provider.New(ctx, provider.Config{Contract: address}, market.Shared())
//
// So an account has one connection and one sequence of nonces. Proofs, for the market and of
// possession, are sent before all else, those first that are due first.
//
// # A message, once
//
// A call waits until no message for the same purpose is in flight. If one was mined under its
// key, the call returns that receipt. If the contract shows that the work is done already, it
// returns the receipt of the message that did it, as far as the contract's logs tell. Otherwise
// the message is tried and sent. A message that a reorganisation dropped is sent again by
// itself, unless the contract would refuse it now.
//
// Beside what the transaction manager asks, a message usually costs two requests: what is so at the
// newest block, with the account's tokens if it takes some, and whether the contract would take it
// in the next one. The block of a receipt is known from the looks at the chain.
//
// What is read for one answer is read at one block. Epochs are numbers of blocks. A message
// that depends on a block's hash, which is a seed or the randomness of a window, is sent when
// another block follows: a trial on the newest block cannot read that block's own hash.
package provider
