// Package provider is the contract of sectors, SectorProvider, as one provider sees it: the port
// ProviderChain over what the marketplace of the same account has already.
//
//	cfg.OtherContracts = append(cfg.OtherContracts, provider.Contract(address)) // of the market
//	market, err := chain.Dial(ctx, cfg, store, dir)
//	p, err := provider.New(ctx, provider.Config{Contract: address}, provider.Account{
//		Conn: market.Connection(), Blocks: market.Blocks(), Tx: market.Transactions(), Address: market.Account()})
//
// One connection, one account, one order of nonces: it has none of its own. A host's proofs for the
// market go out before everything here, and proofs of possession before all else of this contract.
//
// # A message, once
//
// Each call waits until nothing for its purpose is under way, reports what was mined under its key,
// and then looks at the contract: what is so already is reported with the message that made it so,
// as far as the contract's own logs tell. Only then it is tried, and sent. A message that a
// reorganisation took back goes out again by itself, unless the contract would not take it any more.
//
// What is read for one answer is read at one block. Epochs are numbers of blocks. What answers a
// block's hash, a seed or a window's randomness, is sent when another block follows on that one,
// because a trial on the newest block does not see its own hash.
package provider
