package sealer

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// SimSealer simulates sealing, and proves nothing: CommD is the real one of real data on disk;
// CommR and proofs are formulas that anyone can compute. The same calls give the same results, and
// every result contains "simulated".
type SimSealer struct{ local }

// NewSim returns a simulated sealer, whose commits are challenged with that many leaves, as the contract demands.
func NewSim(files Files, sealLeaves int) *SimSealer {
	s := &SimSealer{newLocal(Simulated, sealLeaves, files)}
	s.form = s
	return s
}

const (
	// simLabel is in everything that a SimSealer answers and that has room for it.
	simLabel = Simulated
	// simMark changes the first byte of CommD in the result of PreCommit1.
	simMark = 'd'
)

// first is CommD with its first byte changed, and "simulated".
func (s *SimSealer) first(_, commD events.Hash) []byte {
	commD[0] ^= simMark
	return append(commD[:], simLabel...)
}

// second sets the CommR of commd.SimulatedCommR.
func (s *SimSealer) second(sector events.SectorRef, out []byte, seal *sealed) bool {
	if len(out) != len(seal.CommD)+len(simLabel) || string(out[len(seal.CommD):]) != simLabel {
		return false
	}
	seal.CommD = events.Hash(out)
	seal.CommD[0] ^= simMark
	seal.CommR = events.Hash(commd.SimulatedCommR(
		sector.Provider, sector.Number, seal.Ticket, commd.Node(seal.CommD)))
	return true
}

func (s *SimSealer) sound(
	ctx context.Context, sector events.SectorRef, commD events.Hash, progress events.SectorProgress,
) error {
	err := s.compare(ctx, sector, commD)
	if err == nil {
		tell(progress, 1)
	}
	return err
}

// prove reads all of the data for a challenge of a proving period, so that a damaged sector gives no proof;
// who verifies the proof learns nothing of that.
func (s *SimSealer) prove(
	ctx context.Context, sector events.SectorRef, seal sealed, c commd.Challenge,
) ([]byte, error) {
	if c.Domain == commd.Possession {
		if err := s.compare(ctx, sector, seal.CommD); err != nil {
			return nil, err
		}
	}
	return commd.Simulated(c, commd.Node(seal.CommR)), nil
}

// compare reads all data and compares its root.
func (s *SimSealer) compare(ctx context.Context, sector events.SectorRef, commD events.Hash) error {
	if err := s.whole(sector); err != nil {
		return err
	}
	return s.mending(ctx, sector, func(f events.SectorReader) error {
		root, err := commd.RootOf(ctx, f, 0, uint64(sector.Size))
		if err == nil && events.Hash(root) != commD {
			err = fmt.Errorf("%s: %w", sector, errOtherRoot)
		}
		return err
	})
}

// Check implements port.Sealer: there is no tree, and each challenge reads all data.
func (s *SimSealer) Check(context.Context, events.SectorRef, events.Bytes, events.Bytes) (events.Bytes, error) {
	return 0, fmt.Errorf("a simulated sector: %w", events.ErrNoVerifier)
}
