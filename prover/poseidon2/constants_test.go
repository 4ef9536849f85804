package poseidon2

import (
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// grain is the LFSR of the Poseidon papers, the source of the round constants.
type grain struct {
	state [80]byte
}

func newGrain() *grain {
	g := &grain{}
	at := 0
	for _, field := range []struct{ width, value uint }{
		{2, 1}, {4, 1}, {12, 254}, {12, 3}, {10, FullRounds}, {10, PartialRounds}, {30, 1<<30 - 1},
	} {
		for i := range field.width {
			g.state[at] = byte(field.value >> (field.width - 1 - i) & 1)
			at++
		}
	}
	for range 160 {
		g.raw()
	}
	return g
}

func (g *grain) raw() byte {
	s := &g.state
	bit := s[62] ^ s[51] ^ s[38] ^ s[23] ^ s[13] ^ s[0]
	copy(s[:], s[1:])
	s[79] = bit
	return bit
}

// bit keeps the second of a pair of raw bits when the first is one.
func (g *grain) bit() byte {
	for g.raw() == 0 {
		g.raw()
	}
	return g.raw()
}

func (g *grain) element() fr.Element {
	for {
		n := new(big.Int)
		for range 254 {
			n.Lsh(n, 1)
			n.Or(n, big.NewInt(int64(g.bit())))
		}
		if n.Cmp(fr.Modulus()) < 0 {
			var e fr.Element
			e.SetBigInt(n)
			return e
		}
	}
}

func TestRoundConstantsComeFromTheGrainGenerator(t *testing.T) {
	g := newGrain()
	check := func(name string, k int, got fr.Element) {
		if want := g.element(); !got.Equal(&want) {
			t.Fatalf("%s constant of round %d is %s, want %s", name, k, got.String(), want.String())
		}
	}
	external := func(from, to int) {
		for k := from; k < to; k++ {
			for _, constant := range externalConstants[k] {
				check("external", k, constant)
			}
		}
	}
	external(0, FullRounds/2)
	for k := range PartialRounds {
		check("internal", k, internalConstants[k])
	}
	external(FullRounds/2, FullRounds)
}

func TestMontgomerySquareIsTheLibrarysConversionFactor(t *testing.T) {
	// In Montgomery form the limbs of 2^256 are 2^512 mod r.
	var want fr.Element
	want.SetBigInt(new(big.Int).Lsh(big.NewInt(1), 256))
	if montgomerySquare != want {
		t.Fatalf("factor has limbs %x, want %x", montgomerySquare, want)
	}
}
