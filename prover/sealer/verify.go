package sealer

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// verifier verifies what a sealer answers, by what its proofs are to show.
type verifier struct {
	proves     string
	sealLeaves int // in the proof of a commit
}

func newVerifier(proves string, sealLeaves int) verifier {
	if sealLeaves == 0 {
		sealLeaves = DefaultSealLeaves
	}
	return verifier{proves, sealLeaves}
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
		wantR = simCommR(c.CommD)
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
	switch v.proves {
	case Possession:
		return verify(sector, c.CommD, challenge(commd.Seal, sector, c.Ticket, c.Seed, v.sealLeaves), proof)
	case Simulated:
		return same(sector, proof, simSeal(sector, c))
	}
	return fmt.Errorf("proofs that show %q: %w", v.proves, events.ErrNoVerifier)
}

// VerifyChallenge implements port.Sealer.
func (v verifier) VerifyChallenge(
	sector events.SectorRef, c events.SealContext, randomness events.Hash, leaves int, proof []byte,
) error {
	switch v.proves {
	case Possession:
		return verify(sector, c.CommD, challenge(commd.Possession, sector, c.Ticket, randomness, leaves), proof)
	case Simulated:
		return same(sector, proof, simChallenge(sector, c.CommR, randomness, leaves))
	}
	return fmt.Errorf("proofs that show %q: %w", v.proves, events.ErrNoVerifier)
}

func challenge(domain commd.Domain, sector events.SectorRef, ticket, seed events.Hash, leaves int) commd.Challenge {
	return commd.Challenge{
		Domain: domain, Ticket: ticket, Seed: seed, Provider: sector.Provider, Number: sector.Number, Leaves: leaves,
	}
}

func verify(sector events.SectorRef, commD events.Hash, c commd.Challenge, proof []byte) error {
	if err := commd.Verify(commd.Node(commD), uint64(sector.Size), c, proof); err != nil {
		return lie("%s: %v", sector, err)
	}
	return nil
}

func same(sector events.SectorRef, proof, want []byte) error {
	if string(proof) != string(want) {
		return lie("%s: the simulated proof is another one", sector)
	}
	return nil
}
