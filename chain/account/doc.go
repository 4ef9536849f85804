// Package account is what contracts that one account calls have in common beside its connection (rpc) and its
// transactions (tx): what each may take of the account's tokens, and how a call is made while this process owns the
// transactions, with the gas that it may use, and without sending twice what was mined already.
//
// # A message that takes tokens
//
// What it will take is promised first, then it is read what there is, then the message is tried, and only if
// something is missing the tokens are approved: the contract looks at tokens last, so the trial shows whether an
// approval is worth its gas. A call with enough tokens waits for no other.
package account
