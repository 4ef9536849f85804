package sealer

import (
	"bytes"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// verifier verifies what a sealer answers, by what its proofs are to show.
type verifier struct {
	proves     string
	sealLeaves int // in the proof of a commit
}

// Proves implements port.Sealer.
func (v verifier) Proves() string { return v.proves }

// VerifyCommitments implements port.Sealer: CommD follows from the pieces, and CommR from CommD,
// except for an outside prover that seals otherwise.
func (v verifier) VerifyCommitments(sector events.SectorRef, c events.SealContext) error {
	want, err := CommD(sector, c.Pieces)
	if err != nil {
		return err
	}
	if c.CommD != want {
		return lie("%s: CommD is %s, by its pieces it is %s", sector, c.CommD, want)
	}
	wantR := c.CommR
	switch v.proves {
	case Possession:
		wantR = events.Hash(commd.CommR(sector.Provider, sector.Number, c.Ticket, commd.Node(c.CommD)))
	case Simulated:
		wantR = events.Hash(commd.SimulatedCommR(sector.Provider, sector.Number, c.Ticket, commd.Node(c.CommD)))
	}
	if c.CommR != wantR {
		return lie("%s: CommR is %s, by definition it is %s", sector, c.CommR, wantR)
	}
	return nil
}

func lie(format string, values ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, values...), events.ErrSealerLies)
}

// Verify implements port.Sealer.
func (v verifier) Verify(sector events.SectorRef, c events.SealContext, proof []byte) error {
	return v.verify(sector, c, challenge(commd.Seal, sector, c.Ticket, c.Seed, v.sealLeaves), proof)
}

// VerifyChallenge implements port.Sealer.
func (v verifier) VerifyChallenge(
	sector events.SectorRef, c events.SealContext, randomness events.Hash, leaves int, proof []byte,
) error {
	return v.verify(sector, c, challenge(commd.Possession, sector, c.Ticket, randomness, leaves), proof)
}

func challenge(domain commd.Domain, sector events.SectorRef, ticket, seed events.Hash, leaves int) commd.Challenge {
	return commd.Challenge{
		Domain: domain, Ticket: ticket, Seed: seed, Provider: sector.Provider, Number: sector.Number, Leaves: leaves,
	}
}

// verify compares a proof with the challenge that it answers, or with what a simulated one is.
func (v verifier) verify(sector events.SectorRef, seal events.SealContext, c commd.Challenge, proof []byte) error {
	switch v.proves {
	case Possession:
		if err := commd.Verify(commd.Node(seal.CommD), uint64(sector.Size), c, proof); err != nil {
			return lie("%s: %v", sector, err)
		}
		return nil
	case Simulated:
		if !bytes.Equal(proof, commd.Simulated(c, commd.Node(seal.CommR))) {
			return lie("%s: the simulated proof is another one", sector)
		}
		return nil
	}
	return fmt.Errorf("proofs that show %q: %w", v.proves, events.ErrNoVerifier)
}
