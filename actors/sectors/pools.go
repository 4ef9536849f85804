package sectors

import (
	"time"

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

// first is before every block in the order of a pool.
var first = time.Unix(1, 0)

// restsOn puts messages in the order of the blocks whose hashes they rest on: the contract does not see those for ever.
func restsOn(epoch uint64) time.Time { return first.Add(time.Duration(epoch) * time.Second) }

// turn is when a step is served in its pool: a repair before what is packed for new sectors, as each window costs.
func turn(st sector.Info, step sector.Step) time.Time {
	switch step { //nolint:exhaustive // All others wait for their turn.
	case sector.StepRestore:
		return first
	case sector.StepSendPreCommit:
		return restsOn(st.TicketEpoch)
	case sector.StepSendCommit:
		return restsOn(st.SeedEpoch)
	}
	return time.Time{}
}
