package poseidon2

import "github.com/consensys/gnark-crypto/ecc/bn254/fr"

// FullRounds is the number of rounds in which every element passes the S-box: half of them come
// first, half last.
const FullRounds = 8

// PartialRounds is the number of rounds in which only the first element passes
// the S-box.
const PartialRounds = 56

// Permute replaces the state s by its permutation.
//
// A round is: add constants, S-box, matrix. Here each matrix adds the constants of the
// round that follows, so that one reduction serves all additions between two S-boxes;
// reducing after each addition costs a third more time, because the processor cannot
// predict the outcome of the comparison.
func Permute(s *[3]fr.Element) {
	const half = FullRounds / 2
	var none [3]fr.Element
	enterPartial := [3]fr.Element{internalConstants[0]}

	mixExternal(s, &externalConstants[0])
	for k := 1; k < half; k++ {
		sboxAll(s)
		mixExternal(s, &externalConstants[k])
	}
	sboxAll(s)
	mixExternal(s, &enterPartial)
	for k := 1; k < PartialRounds; k++ {
		sbox(&s[0])
		mixInternal(s, &internalConstants[k])
	}
	sbox(&s[0])
	mixInternal(s, &none[0])
	for i := range s {
		s[i].Add(&s[i], &externalConstants[half][i])
	}
	for k := half + 1; k < FullRounds; k++ {
		sboxAll(s)
		mixExternal(s, &externalConstants[k])
	}
	sboxAll(s)
	mixExternal(s, &none)
}

// Constants returns those of the full rounds, three each, and those of the partial rounds, for writing
// the permutation in another form, such as a circuit.
func Constants() (external [FullRounds][3]fr.Element, internal [PartialRounds]fr.Element) {
	return externalConstants, internalConstants
}

func sboxAll(s *[3]fr.Element) {
	sbox(&s[0])
	sbox(&s[1])
	sbox(&s[2])
}

// sbox raises a to the fifth power.
func sbox(a *fr.Element) {
	var fourth fr.Element
	fourth.Square(a)
	fourth.Square(&fourth)
	a.Mul(a, &fourth)
}

// mixExternal multiplies by the matrix with 2 on the diagonal and 1 elsewhere, and adds
// constants. No sum exceeds five times the order of the field.
func mixExternal(s, constants *[3]fr.Element) {
	var sum fr.Element
	addRaw(&sum, &s[0], &s[1])
	addRaw(&sum, &sum, &s[2])
	for i := range s {
		addRaw(&s[i], &s[i], &sum)
		addRaw(&s[i], &s[i], &constants[i])
		reduce(&s[i])
	}
}

// mixInternal multiplies by the matrix with 2, 2, 3 on the diagonal and 1 elsewhere, and adds
// constant to the first element. What does not need the first element comes first: the processor
// computes it while the S-box is still busy. No sum exceeds five times the order of the field.
func mixInternal(s *[3]fr.Element, constant *fr.Element) {
	var others, x fr.Element
	addRaw(&others, &s[1], &s[2])
	addRaw(&x, &others, constant)
	addRaw(&s[1], &s[1], &others)
	addRaw(&s[2], &s[2], &s[2])
	addRaw(&s[2], &s[2], &others)

	addRaw(&s[1], &s[1], &s[0])
	addRaw(&s[2], &s[2], &s[0])
	addRaw(&x, &x, &s[0])
	addRaw(&s[0], &x, &s[0])
	reduce(&s[0])
	reduce(&s[1])
	reduce(&s[2])
}
