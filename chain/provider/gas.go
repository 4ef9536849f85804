package provider

import "github.com/hostnode/hostnode/chain/rpc"

// Gas is what calls take, in gas. Chains with other prices of gas need other limits.
type Gas struct {
	Approve, PreCommit, PinSeed, Terminate, Expire, ExpirePreCommit, Withdraw uint64
	// Declare is for a declaration of one sector, DeclareNext for each further one.
	Declare, DeclareNext uint64
	// Commit is for a proof of SealLeaves leaves, Possession for one of DailyLeaves and PossessionNext
	// for each further one in the message, all by depth of the tree: 6, 18 and 30.
	Commit, Possession, PossessionNext [3]uint64
}

// SealLeaves and DailyLeaves are those of the proofs that were measured.
const (
	SealLeaves  = 44
	DailyLeaves = 10
)

// MeasuredGas is the most that the calls were measured to take, under the rules of Osaka; a test of
// the contracts holds them to it.
func MeasuredGas() Gas {
	return Gas{
		Approve: 47_000, PreCommit: 270_000, PinSeed: 55_000, Terminate: 100_000,
		Expire: 80_000, ExpirePreCommit: 90_000, Withdraw: 65_000,
		Declare: 50_000, DeclareNext: 15_000,
		Commit:         [3]uint64{530_000, 1_120_000, 1_790_000},
		Possession:     [3]uint64{150_000, 280_000, 440_000},
		PossessionNext: [3]uint64{100_000, 249_000, 404_000},
	}
}

// mostOfTx is the most gas of one transaction since Osaka (EIP-7825).
const mostOfTx = 1 << 24

// mostGas is the most that a message about several sectors may use: half of a block, so that it is not left behind by
// miners for smaller ones.
func mostGas(head *rpc.Header) uint64 {
	if head.GasLimit == 0 {
		return mostOfTx
	}
	return min(mostOfTx, uint64(head.GasLimit)/2)
}

// byDepth is what a proof of so many leaves takes, of which as many as measured take what measured says.
func byDepth(measured [3]uint64, depth, leaves, asMeasured int) uint64 {
	const low, step = 6, 12
	at := float64(max(depth, low)-low) / step
	i := min(int(at), 1)
	gas := float64(measured[i]) + (at-float64(i))*(float64(measured[i+1])-float64(measured[i]))
	return uint64(gas * max(1, float64(leaves)/float64(asMeasured)))
}

func (g Gas) commit(depth, leaves int) uint64 {
	return byDepth(g.Commit, depth, leaves, SealLeaves)
}

func (g Gas) possession(depths []int, leaves int) uint64 {
	var all uint64
	for i, depth := range depths {
		measured := g.PossessionNext
		if i == 0 {
			measured = g.Possession
		}
		all += byDepth(measured, depth, leaves, DailyLeaves)
	}
	return all
}

func (g Gas) declare(sectors int) uint64 {
	return g.Declare + uint64(sectors-1)*g.DeclareNext //nolint:gosec // One at least.
}
