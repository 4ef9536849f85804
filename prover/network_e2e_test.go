//go:build e2e

package prover

import "testing"

// TestNetworkCircuitProvesAnElevenSlotDataset makes keys and a proof for the circuit of
// the deployed networks.
func TestNetworkCircuitProvesAnElevenSlotDataset(t *testing.T) {
	p := networkProver(t)
	for _, s := range []shape{{11, 10, 16}, {1, 0, 1}} {
		in := newInput(t, s, challengeNumber(1234567))
		proof := mustProve(t, p, in)
		if err := p.verifier.Verify(proof, in.Public()); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		other := in.Public()
		other.SlotIndex++
		if err := p.verifier.Verify(proof, other); err == nil {
			t.Fatalf("%+v: the proof verifies for another slot", s)
		}
	}
}
