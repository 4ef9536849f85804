package poseidon2

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// The order r of the field is below 2^254, so four words hold sums of up to five
// elements (5.29 r = 2^256). Between S-boxes elements are added without comparing with
// r, and then reduced once.

// addRaw adds as 256-bit integers; the caller knows that the sum fits. It is small
// enough to be inlined.
func addRaw(z, x, y *fr.Element) {
	var carry uint64
	z[0], carry = bits.Add64(x[0], y[0], 0)
	z[1], carry = bits.Add64(x[1], y[1], carry)
	z[2], carry = bits.Add64(x[2], y[2], carry)
	z[3], _ = bits.Add64(x[3], y[3], carry)
}

// quotientFactor is 2^317 / r, rounded down.
const quotientFactor = 0xa948e8c4c474094f

// topLimb is the most significant word of r.
const topLimb = 0x30644e72e131a029

// reduce brings any 256-bit integer below r.
//
// The top word times quotientFactor, divided by 2^125, is the quotient by r or, when the remainder
// is within 2^-60 r of zero or r, one less. So the second subtraction is hardly ever needed, and
// the branch before it costs nothing.
func reduce(z *fr.Element) {
	high, _ := bits.Mul64(z[3], quotientFactor)
	m := &multiples[high>>61]
	var borrow uint64
	z[0], borrow = bits.Sub64(z[0], m[0], 0)
	z[1], borrow = bits.Sub64(z[1], m[1], borrow)
	z[2], borrow = bits.Sub64(z[2], m[2], borrow)
	z[3], _ = bits.Sub64(z[3], m[3], borrow)
	if z[3] >= topLimb {
		var zero fr.Element
		z.Add(z, &zero) // The library's addition subtracts r where needed.
	}
}

// multiples holds k*r for k up to 5, with zeros up to eight entries for a cheap bounds check; a
// test computes them.
var multiples = [8][4]uint64{
	{0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000},
	{0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029},
	{0x87c3eb27e0000002, 0x5067d090f372e122, 0x70a08b6d0302b0ba, 0x60c89ce5c2634053},
	{0xcba5e0bbd0000003, 0x789bb8d96d2c51b3, 0x28f0d12384840917, 0x912ceb58a394e07d},
	{0x0f87d64fc0000004, 0xa0cfa121e6e5c245, 0xe14116da06056174, 0xc19139cb84c680a6},
	{0x5369cbe3b0000005, 0xc903896a609f32d6, 0x99915c908786b9d1, 0xf1f5883e65f820d0},
}
