// Package signer has transactions signed by another process, so that this one has no key: by
// go-ethereum's clef, or by anything else that offers clef's JSON-RPC calls account_version,
// account_list and account_signTransaction.
//
// A signer may take its time, be away, refuse, or sign something else than it was asked. Sign says
// which, and takes nothing that differs from what was asked in a single field. What is wrong, and since
// when, is Trouble; while nothing is signed, the signer is asked now and then whether it is there.
package signer
