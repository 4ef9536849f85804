// Package bindings packs the calls of the marketplace, its verifier, its test token,
// the sector provider and the verifier of inclusion, and unpacks their results, events and errors.
// Everything but this file is generated from ../artifacts/bindings.json by ../generate.sh.
//
// The Pack methods panic on a nil *big.Int anywhere in their arguments, and
// UnpackError panics on data shorter than four bytes. Check arguments first,
// and read reverts with contracts.DecodeRevert instead.
//
// Of the overloaded functions, FreeSlot and WithdrawFunds are those that pay to
// the sender; FreeSlotTo and WithdrawFundsTo name recipients. Calldata made here fits
// any contract with the marketplace's interface, not only ours.
package bindings
