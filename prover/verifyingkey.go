package prover

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"

	"github.com/hostnode/hostnode/events"
)

// Word is a big-endian 256-bit number, the form that contracts take.
type Word = [32]byte

// G1 is a point of the first group; the point at infinity is (0, 0).
type G1 struct{ X, Y Word }

// Fp2 is a number real + imag*u of the extension field.
type Fp2 struct{ Real, Imag Word }

// G2 is a point of the second group; the point at infinity is all zero.
type G2 struct{ X, Y Fp2 }

// VerifyingKey holds the points that the verifier contract takes in its constructor.
// IC has one point for the constant 1 and one for each public input: entropy,
// dataset root, slot index.
type VerifyingKey struct {
	Alpha1 G1
	Beta2  G2
	Gamma2 G2
	Delta2 G2
	IC     []G1
}

// Words returns the key as 32-byte words in one canonical order: alpha1 (x, y);
// beta2, gamma2, delta2, each (x.real, x.imag, y.real, y.imag); every ic (x, y).
func (k VerifyingKey) Words() []Word {
	words := []Word{k.Alpha1.X, k.Alpha1.Y}
	for _, p := range []G2{k.Beta2, k.Gamma2, k.Delta2} {
		words = append(words, p.X.Real, p.X.Imag, p.Y.Real, p.Y.Imag)
	}
	for _, p := range k.IC {
		words = append(words, p.X, p.Y)
	}
	return words
}

// Hash returns the SHA-256, in hexadecimal, of the concatenated Words (22 words, 704 bytes, for
// three public inputs). It is the zkeyHash of a network that uses this key.
func (k VerifyingKey) Hash() string {
	hash := sha256.New()
	for _, word := range k.Words() {
		hash.Write(word[:])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Verifier checks proofs. It is safe for concurrent use.
type Verifier struct {
	key *groth16.VerifyingKey
}

// NewVerifier checks the points of the key (each is on its curve and in its group) and prepares
// them.
func NewVerifier(k VerifyingKey) (*Verifier, error) {
	silence()
	if len(k.IC) != publicInputsCount+1 {
		return nil, fmt.Errorf("verifying key has %d ic points, want %d: %w",
			len(k.IC), publicInputsCount+1, ErrCommitments)
	}
	key := &groth16.VerifyingKey{}
	key.G1.K = make([]curve.G1Affine, len(k.IC))
	var points pointReader
	points.g1("alpha1", k.Alpha1, &key.G1.Alpha)
	points.g2("beta2", k.Beta2, &key.G2.Beta)
	points.g2("gamma2", k.Gamma2, &key.G2.Gamma)
	points.g2("delta2", k.Delta2, &key.G2.Delta)
	for i := range k.IC {
		points.g1(fmt.Sprintf("ic[%d]", i), k.IC[i], &key.G1.K[i])
	}
	if points.err != nil {
		return nil, fmt.Errorf("verifying key: %w", points.err)
	}
	if err := key.Precompute(); err != nil {
		return nil, fmt.Errorf("prepare verifying key: %w", err)
	}
	return &Verifier{key: key}, nil
}

// Verify returns nil for a proof of the statement with these public inputs, and
// events.ErrProofDoesNotVerify for any other.
func (v *Verifier) Verify(proof events.Proof, public Public) error {
	var decoded groth16.Proof
	var points pointReader
	points.g1("a", G1{proof[0], proof[1]}, &decoded.Ar)
	points.g2("b", G2{Fp2{proof[2], proof[3]}, Fp2{proof[4], proof[5]}}, &decoded.Bs)
	points.g1("c", G1{proof[6], proof[7]}, &decoded.Krs)
	if points.err != nil {
		return fmt.Errorf("%w: %w", events.ErrProofDoesNotVerify, points.err)
	}
	inputs := fr.Vector{public.Entropy, public.DataSetRoot, fr.NewElement(public.SlotIndex)}
	if err := groth16.Verify(&decoded, v.key, inputs); err != nil {
		return fmt.Errorf("%w: %w", events.ErrProofDoesNotVerify, err)
	}
	return nil
}

// exportKey converts the library's key into words.
func exportKey(key *groth16.VerifyingKey) (VerifyingKey, error) {
	if len(key.CommitmentKeys) != 0 || len(key.PublicAndCommitmentCommitted) != 0 {
		return VerifyingKey{}, fmt.Errorf("verifying key: %w", ErrCommitments)
	}
	if len(key.G1.K) != publicInputsCount+1 {
		return VerifyingKey{}, fmt.Errorf("verifying key has %d ic points, want %d: %w",
			len(key.G1.K), publicInputsCount+1, ErrCommitments)
	}
	k := VerifyingKey{
		Alpha1: exportG1(&key.G1.Alpha),
		Beta2:  exportG2(&key.G2.Beta),
		Gamma2: exportG2(&key.G2.Gamma),
		Delta2: exportG2(&key.G2.Delta),
	}
	for i := range key.G1.K {
		k.IC = append(k.IC, exportG1(&key.G1.K[i]))
	}
	return k, nil
}

// exportProof converts the library's proof into words in the contract's order. It has no commitments, because the
// circuit has none (compile).
func exportProof(p *groth16.Proof) events.Proof {
	a, b, c := exportG1(&p.Ar), exportG2(&p.Bs), exportG1(&p.Krs)
	return events.Proof{a.X, a.Y, b.X.Real, b.X.Imag, b.Y.Real, b.Y.Imag, c.X, c.Y}
}

func exportG1(p *curve.G1Affine) G1 { return G1{X: p.X.Bytes(), Y: p.Y.Bytes()} }

func exportG2(p *curve.G2Affine) G2 {
	return G2{
		X: Fp2{Real: p.X.A0.Bytes(), Imag: p.X.A1.Bytes()},
		Y: Fp2{Real: p.Y.A0.Bytes(), Imag: p.Y.A1.Bytes()},
	}
}

// pointReader decodes points and keeps the first error.
type pointReader struct{ err error }

func (r *pointReader) g1(name string, from G1, to *curve.G1Affine) {
	r.coordinate(name, from.X, &to.X)
	r.coordinate(name, from.Y, &to.Y)
	if r.err == nil && !to.IsInSubGroup() {
		r.err = fmt.Errorf("point %s is not on the curve", name)
	}
}

func (r *pointReader) g2(name string, from G2, to *curve.G2Affine) {
	r.coordinate(name, from.X.Real, &to.X.A0)
	r.coordinate(name, from.X.Imag, &to.X.A1)
	r.coordinate(name, from.Y.Real, &to.Y.A0)
	r.coordinate(name, from.Y.Imag, &to.Y.A1)
	if r.err == nil && !to.IsInSubGroup() {
		r.err = fmt.Errorf("point %s is not on the curve or not in its group", name)
	}
}

func (r *pointReader) coordinate(name string, from Word, to *fp.Element) {
	if r.err != nil {
		return
	}
	e, err := fp.BigEndian.Element(&from)
	if err != nil {
		r.err = fmt.Errorf("point %s: %w", name, err)
		return
	}
	*to = e
}
