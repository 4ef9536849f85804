package prover

import (
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn256 "github.com/ethereum/go-ethereum/crypto/bn256/google"

	"github.com/hostnode/hostnode/events"
)

// TestProofSatisfiesTheEquationOfTheChain checks exported words as the verifier contract does, with
// another implementation of the curve: e(-a, b) e(alpha, beta) e(ic[0] + sum of inputs times ic,
// gamma) e(c, delta) = 1. The chain's pairing takes the imaginary part first; the words have the
// real part first.
func TestProofSatisfiesTheEquationOfTheChain(t *testing.T) {
	p := mustProver(t)
	in := newInput(t, shape{2, 1, 1}, challengeNumber(7))
	proof, _, err := p.Prove(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	public := in.Public()
	inputs := []*big.Int{
		public.Entropy.BigInt(new(big.Int)),
		public.DataSetRoot.BigInt(new(big.Int)),
		new(big.Int).SetUint64(public.SlotIndex),
	}
	key := p.keys.verifying
	if !chainAccepts(t, key, proof, inputs) {
		t.Fatal("the equation does not hold for an honest proof")
	}
	inputs[2].Xor(inputs[2], big.NewInt(1))
	if chainAccepts(t, key, proof, inputs) {
		t.Fatal("the equation holds for another slot")
	}
}

func chainAccepts(t *testing.T, key VerifyingKey, p events.Proof, inputs []*big.Int) bool {
	t.Helper()
	sum := chainG1(t, key.IC[0])
	for i, input := range inputs {
		term := new(bn256.G1).ScalarMult(chainG1(t, key.IC[i+1]), input)
		sum = new(bn256.G1).Add(sum, term)
	}
	minusOne := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	minusA := new(bn256.G1).ScalarMult(chainG1(t, G1{p[0], p[1]}), minusOne)
	b := chainG2(t, G2{Fp2{p[2], p[3]}, Fp2{p[4], p[5]}})
	return bn256.PairingCheck(
		[]*bn256.G1{minusA, chainG1(t, key.Alpha1), sum, chainG1(t, G1{p[6], p[7]})},
		[]*bn256.G2{b, chainG2(t, key.Beta2), chainG2(t, key.Gamma2), chainG2(t, key.Delta2)},
	)
}

func chainG1(t *testing.T, p G1) *bn256.G1 {
	t.Helper()
	point := new(bn256.G1)
	if _, err := point.Unmarshal(append(p.X[:], p.Y[:]...)); err != nil {
		t.Fatal(err)
	}
	return point
}

func chainG2(t *testing.T, p G2) *bn256.G2 {
	t.Helper()
	var raw []byte
	for _, word := range []Word{p.X.Imag, p.X.Real, p.Y.Imag, p.Y.Real} {
		raw = append(raw, word[:]...)
	}
	point := new(bn256.G2)
	if _, err := point.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	return point
}
