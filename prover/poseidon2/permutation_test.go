package poseidon2

import (
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"pgregory.net/rapid"
)

// drawElement prefers numbers at the ends of the field.
func drawElement(t *rapid.T, name string) fr.Element {
	n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, name))
	switch rapid.IntRange(0, 3).Draw(t, name+" kind") {
	case 0:
		n.SetInt64(rapid.Int64Range(-3, 3).Draw(t, name+" near zero"))
	case 1:
		n.Lsh(big.NewInt(1), uint(rapid.IntRange(0, 253).Draw(t, name+" bit")))
	}
	var e fr.Element
	e.SetBigInt(n)
	return e
}

// permuteByDefinition follows the definition, with big integers.
func permuteByDefinition(s [3]fr.Element) [3]fr.Element {
	mod := func(n *big.Int) *big.Int { return n.Mod(n, fr.Modulus()) }
	var state [3]*big.Int
	for i := range s {
		state[i] = s[i].BigInt(new(big.Int))
	}
	mix := func(diagonal [3]int64) {
		sum := new(big.Int).Add(state[0], state[1])
		sum.Add(sum, state[2])
		for i := range state {
			more := new(big.Int).Mul(state[i], big.NewInt(diagonal[i]-1))
			state[i] = mod(more.Add(more, sum))
		}
	}
	step := func(i int, constant fr.Element) {
		state[i].Add(state[i], constant.BigInt(new(big.Int)))
		state[i].Exp(state[i], big.NewInt(5), fr.Modulus())
	}
	full := func(k int) {
		for i, constant := range externalConstants[k] {
			step(i, constant)
		}
		mix([3]int64{2, 2, 2})
	}
	mix([3]int64{2, 2, 2})
	for k := range FullRounds / 2 {
		full(k)
	}
	for k := range PartialRounds {
		step(0, internalConstants[k])
		mix([3]int64{2, 2, 3})
	}
	for k := FullRounds / 2; k < FullRounds; k++ {
		full(k)
	}
	var out [3]fr.Element
	for i := range out {
		out[i].SetBigInt(state[i])
	}
	return out
}

func TestPermutationFollowsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := [3]fr.Element{drawElement(t, "x"), drawElement(t, "y"), drawElement(t, "z")}
		want := permuteByDefinition(s)
		Permute(&s)
		if s != want {
			t.Fatalf("permutation is %v, want %v", s, want)
		}
	})
}

// wide is a 256-bit integer in the limbs of an element.
func wide(n *big.Int) fr.Element {
	var e fr.Element
	rest := new(big.Int).Set(n)
	for i := range e {
		e[i] = new(big.Int).And(rest, new(big.Int).SetUint64(^uint64(0))).Uint64()
		rest.Rsh(rest, 64)
	}
	return e
}

func checkReduced(t *testing.T, n *big.Int) {
	t.Helper()
	got := wide(n)
	reduce(&got)
	if want := wide(new(big.Int).Mod(n, fr.Modulus())); got != want {
		t.Fatalf("%x is reduced to limbs %x, want %x", n, [4]uint64(got), [4]uint64(want))
	}
}

func TestReductionIsExactAtEveryMultipleOfTheOrder(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 256)
	for k := int64(0); k <= 5; k++ {
		multiple := new(big.Int).Mul(fr.Modulus(), big.NewInt(k))
		if wide(multiple) != fr.Element(multiples[k]) {
			t.Fatalf("table entry %d is %x, want %x", k, multiples[k], multiple)
		}
		for bit := -1; bit < 253; bit++ {
			distance := new(big.Int)
			if bit >= 0 {
				distance.Lsh(big.NewInt(1), uint(bit))
			}
			for _, n := range []*big.Int{
				new(big.Int).Add(multiple, distance), new(big.Int).Sub(multiple, distance),
			} {
				if n.Sign() >= 0 && n.Cmp(limit) < 0 {
					checkReduced(t, n)
				}
			}
		}
	}
	checkReduced(t, new(big.Int).Sub(limit, big.NewInt(1)))
}

func FuzzReductionIsExact(f *testing.F) {
	f.Add([]byte{1})
	f.Add(fr.Modulus().Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) <= 32 {
			checkReduced(t, new(big.Int).SetBytes(b))
		}
	})
}
