package prover

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// networkProver makes the keys of the deployed circuit once per machine: they take
// ten seconds and are kept in the temporary directory between runs.
func networkProver(b *testing.B) *Prover {
	b.Helper()
	dir := filepath.Join(os.TempDir(), "hostnode-benchmark-keys")
	keys, err := DevelopmentKeys(b.Context(), NetworkParams(), dir, func(s string) { b.Log(s) })
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(keys, Config{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func networkProof(b *testing.B, p *Prover, in Input) events.Proof {
	b.Helper()
	proof, err := p.Prove(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	return proof
}

// BenchmarkProve5Samples is a whole answer to a challenge: five blocks read and
// hashed, witness, proof and its verification.
func BenchmarkProve5Samples(b *testing.B) {
	p := networkProver(b)
	in := newInput(b, shape{11, 10, 16}, challengeNumber(1234567))
	b.ReportAllocs()
	for b.Loop() {
		networkProof(b, p, in)
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
	proof, public := networkProof(b, p, in), in.Public()
	for b.Loop() {
		if err := p.Verify(proof, public); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadKeys(b *testing.B) {
	home := filepath.Join(os.TempDir(), "hostnode-benchmark-keys",
		"development-"+networkProver(b).Keys().CircuitHash()[:directoryHashDigits])
	for b.Loop() {
		if _, err := LoadKeys(NetworkParams(), home, nil); err != nil {
			b.Fatal(err)
		}
	}
}
