package prover

import (
	"testing"

	"github.com/hostnode/hostnode/events"
)

// networkProver makes the keys of the deployed circuit, once per run, which takes ten seconds.
func networkProver(t testing.TB) *Prover {
	t.Helper()
	keys, err := DevelopmentKeys(t.Context(), NetworkParams(), keyDirectory, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(keys, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustProve(t testing.TB, p *Prover, in Input) events.Proof {
	t.Helper()
	proof, _, err := p.Prove(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// BenchmarkProve5Samples measures a whole answer to a challenge: reading and hashing five blocks,
// witness, proof and verification.
func BenchmarkProve5Samples(b *testing.B) {
	p := networkProver(b)
	in := newInput(b, shape{11, 10, 16}, challengeNumber(1234567))
	b.ReportAllocs()
	for b.Loop() {
		mustProve(b, p, in)
	}
}

func BenchmarkGather5Samples(b *testing.B) {
	in := newInput(b, shape{11, 10, 16}, challengeNumber(1234567))
	for b.Loop() {
		if _, err := gather(b.Context(), NetworkParams(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	p := mustProver(b)
	in := newInput(b, shape{3, 2, 1}, challengeNumber(7))
	proof, public := mustProve(b, p, in), in.Public()
	for b.Loop() {
		if err := p.verifier.Verify(proof, public); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadKeys(b *testing.B) {
	networkProver(b) // Makes the keys.
	for b.Loop() {
		if _, err := DevelopmentKeys(b.Context(), NetworkParams(), keyDirectory, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}
