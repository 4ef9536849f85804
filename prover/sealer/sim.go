package sealer

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// SimSealer simulates sealing, and proves nothing: CommD is the real one of real data on disk;
// CommR and proofs are formulas that anybody can compute. The same calls give the same results, and
// every result contains "simulated".
type SimSealer struct {
	verifier
	kept
}

// NewSim returns a simulated sealer, whose commits are challenged with that many leaves, as the contract demands; 0:
// DefaultSealLeaves.
func NewSim(files Files, sealLeaves int) *SimSealer {
	return &SimSealer{newVerifier(Simulated, sealLeaves), newKept(files)}
}

// simLabel is in everything that a SimSealer answers and that has room for it.
const simLabel = Simulated

// simMark changes the first byte of CommD in the result of PreCommit1.
const simMark = 'd'

// PreCommit1 implements port.Sealer: CommD with its first byte changed, and "simulated".
func (s *SimSealer) PreCommit1(
	ctx context.Context, sector events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
	progress events.SectorProgress,
) ([]byte, error) {
	return inTurn(ctx, &s.kept, sector, func() ([]byte, error) {
		commD, err := s.pack(ctx, sector, pieces)
		if err == nil {
			err = s.compare(ctx, sector, commD)
		}
		if err == nil {
			err = s.begin(sector, ticket, commD)
		}
		if err != nil {
			return nil, fmt.Errorf("first step of %s: %w", sector, err)
		}
		tell(progress, 1)
		commD[0] ^= simMark
		return append(commD[:], simLabel...), nil
	})
}

// compare reads all data and compares its root.
func (s *SimSealer) compare(ctx context.Context, sector events.SectorRef, commD events.Hash) error {
	if err := s.whole(sector); err != nil {
		return err
	}
	for repaired := false; ; repaired = true {
		err := s.read(sector, func(f events.SectorReader) error {
			root, err := commd.RootOf(ctx, f, 0, uint64(sector.Size))
			if err == nil && events.Hash(root) != commD {
				err = errOtherRoot
			}
			return err
		})
		switch {
		case !isDamage(err):
			return err
		case repaired: // All pieces are intact, and everything between them is zero again.
			return fmt.Errorf("%s: %w: %w", sector, err, events.ErrSectorDamaged)
		}
		if err := s.repair(ctx, sector); err != nil {
			return err
		}
	}
}

// PreCommit2 implements port.Sealer. CommR is that of commd.SimulatedCommR.
func (s *SimSealer) PreCommit2(
	ctx context.Context, sector events.SectorRef, out []byte, progress events.SectorProgress,
) (commD, commR events.Hash, err error) {
	return s.secondStep(ctx, sector, progress, func(seal *sealed) bool {
		if len(out) != len(seal.CommD)+len(simLabel) || string(out[len(seal.CommD):]) != simLabel {
			return false
		}
		seal.CommD = events.Hash(out)
		seal.CommD[0] ^= simMark
		seal.CommR = events.Hash(commd.SimulatedCommR(
			sector.Provider, sector.Number, seal.Ticket, commd.Node(seal.CommD)))
		return true
	})
}

// Commit implements port.Sealer.
func (s *SimSealer) Commit(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) ([]byte, error) {
	return inTurn(ctx, &s.kept, sector, func() ([]byte, error) {
		seal, err := s.ready(sector)
		if err == nil {
			err = seal.asked(sector, c)
		}
		if err != nil {
			return nil, err
		}
		tell(progress, 1)
		challenged := challenge(commd.Seal, sector, c.Ticket, c.Seed, s.sealLeaves)
		return commd.Simulated(challenged, commd.Node(c.CommR)), nil
	})
}

// Restore implements port.Sealer.
func (s *SimSealer) Restore(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) error {
	if err := s.VerifyCommitments(sector, c); err != nil {
		return fmt.Errorf("restore %s: %w: %w", sector, err, events.ErrMalformed)
	}
	return s.restore(ctx, sector, c, func() error {
		err := s.compare(ctx, sector, c.CommD)
		if err == nil {
			tell(progress, 1)
		}
		return err
	})
}

// Challenge implements port.Sealer. It reads all of the data, so that a damaged sector gives no proof;
// who verifies the proof learns nothing of that.
func (s *SimSealer) Challenge(
	ctx context.Context, sector events.SectorRef, randomness events.Hash, leaves int,
) ([]byte, error) {
	return inTurn(ctx, &s.kept, sector, func() ([]byte, error) {
		seal, err := s.ready(sector)
		if err == nil {
			err = s.compare(ctx, sector, seal.CommD)
		}
		if err != nil {
			return nil, err
		}
		challenged := challenge(commd.Possession, sector, seal.Ticket, randomness, leaves)
		return commd.Simulated(challenged, commd.Node(seal.CommR)), nil
	})
}

// Check implements port.Sealer: there is no tree, and each challenge reads all data.
func (s *SimSealer) Check(context.Context, events.SectorRef, events.Bytes, events.Bytes) (events.Bytes, error) {
	return 0, fmt.Errorf("a simulated sector: %w", events.ErrNoVerifier)
}
