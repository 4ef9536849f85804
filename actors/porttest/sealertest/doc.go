// Package sealertest is the suite of the sealers' port: what each of them does with good and with
// bad input, in order and out of order, after a crash and on a damaged disk. What a proof shows is
// not the same for all; the suite asks each for what it says.
package sealertest
