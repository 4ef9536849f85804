package sectors

import (
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events/sector"
)

// Pools are what bounds the work on sectors, in a fixed order. Safe for concurrent use.
func (s *Sectors) Pools() []*shell.Pool {
	return []*shell.Pool{
		s.pools[sector.StepAddPiece], s.pools[sector.StepPack], s.pools[sector.StepPreCommit1],
		s.pools[sector.StepPreCommit2], s.pools[sector.StepCommit], s.challenges, s.proofs, s.transactions, s.reads,
		s.pools[sector.StepFinalize],
	}
}
