package events

// TokenMove is how much of the market's token a transaction moved between an
// account and the contract.
type TokenMove struct {
	// Found says that the chain has the transaction in a block, Succeeded that it
	// was not reverted. A failed one moves nothing.
	Found, Succeeded bool
	// In was paid to the account, Out by it.
	In, Out Amount
}

// SlotHolding is the state of a slot and its collateral, by the contract.
type SlotHolding struct {
	State      SlotState
	Host       Address
	Collateral Amount
}
