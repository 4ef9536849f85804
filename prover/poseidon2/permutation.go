package poseidon2

import "github.com/consensys/gnark-crypto/ecc/bn254/fr"

// FullRounds is the number of rounds in which every element passes the S-box:
// half of them open the permutation, half close it.
const FullRounds = 8

// PartialRounds is the number of rounds in which only the first element passes
// the S-box.
const PartialRounds = 56

// Permute replaces the state s by its permutation.
func Permute(s *[3]fr.Element) {
	external(s)
	for k := range FullRounds / 2 {
		fullRound(s, &externalConstants[k])
	}
	for k := range internalConstants {
		s[0].Add(&s[0], &internalConstants[k])
		sbox(&s[0])
		internal(s)
	}
	for k := FullRounds / 2; k < FullRounds; k++ {
		fullRound(s, &externalConstants[k])
	}
}

// ExternalConstants returns the three constants of full round k (0 to 7), for
// whoever writes the permutation in another form, such as a circuit. It returns
// zeros outside that range.
func ExternalConstants(k int) [3]fr.Element {
	if k < 0 || k >= len(externalConstants) {
		return [3]fr.Element{}
	}
	return externalConstants[k]
}

// InternalConstant returns the constant of partial round k (0 to 55), and zero
// outside that range.
func InternalConstant(k int) fr.Element {
	if k < 0 || k >= len(internalConstants) {
		return fr.Element{}
	}
	return internalConstants[k]
}

func fullRound(s, constants *[3]fr.Element) {
	for i := range s {
		s[i].Add(&s[i], &constants[i])
		sbox(&s[i])
	}
	external(s)
}

// sbox raises a to the fifth power.
func sbox(a *fr.Element) {
	var fourth fr.Element
	fourth.Square(a)
	fourth.Square(&fourth)
	a.Mul(a, &fourth)
}

// external multiplies by the matrix with 2 on the diagonal and 1 elsewhere.
func external(s *[3]fr.Element) {
	var sum fr.Element
	sum.Add(&s[0], &s[1])
	sum.Add(&sum, &s[2])
	s[0].Add(&s[0], &sum)
	s[1].Add(&s[1], &sum)
	s[2].Add(&s[2], &sum)
}

// internal multiplies by the matrix with 2, 2, 3 on the diagonal and 1 elsewhere.
func internal(s *[3]fr.Element) {
	var sum fr.Element
	sum.Add(&s[0], &s[1])
	sum.Add(&sum, &s[2])
	s[0].Add(&s[0], &sum)
	s[1].Add(&s[1], &sum)
	s[2].Double(&s[2])
	s[2].Add(&s[2], &sum)
}
