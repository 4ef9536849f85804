// Package sealertest is the test suite of the sealers' port: what each of them must do with good
// and with bad input, in order and out of order, after a crash and on a damaged disk. Proofs of
// different sealers show different things; the suite takes that into account.
package sealertest
