package events

// TokenMove is what a transaction moved of the market's token between an
// account and the contract.
type TokenMove struct {
	// Found says that the chain has the transaction in a block, Succeeded that it
	// did what it was for. A failed one moves nothing.
	Found, Succeeded bool
	// In came to the account, Out left it.
	In, Out Amount
}

// SlotHolding is what the contract says of a slot and the collateral for it.
type SlotHolding struct {
	State      SlotState
	Host       Address
	Collateral Amount
}
