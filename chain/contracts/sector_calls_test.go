package contracts_test

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// testSector is a sector with its data.
type testSector struct {
	provider     common.Address
	number       uint64
	tree         *tree
	said         bindings.PreCommitment
	ticket, seed bytes32
	announced    uint64 // epoch
}

// announces makes the precommit of a sector for the current block, without the call.
func (y *yard) announces(provider common.Address, number uint64) *testSector {
	return y.announcesTree(provider, number, fullTree(6, "data"))
}

func (y *yard) announcesTree(provider common.Address, number uint64, data *tree) *testSector {
	epoch := y.block - lookback
	s := &testSector{
		provider: provider, number: number, tree: data, announced: y.block,
		ticket: ticketOf(y.hash(epoch), provider, number), seed: y.hash(y.block + seedDelay),
	}
	s.said = bindings.PreCommitment{
		Number: number, Size: data.size(), TicketEpoch: epoch,
		Expiration: y.block + commitDue + minLife, CommD: data.root(),
		CommR: commR(provider, number, s.ticket, data.root()),
	}
	return s
}

func (y *yard) preCommitted(provider common.Address, number uint64) *testSector {
	y.t.Helper()
	s := y.announces(provider, number)
	y.does(provider, sectorABI.PackPreCommit(s.said))
	return s
}

// active is a sector that was committed in the last block of a period; its first window is in the
// next one.
func (y *yard) active(provider common.Address, number uint64) *testSector {
	y.t.Helper()
	return y.actives(provider, number)[0]
}

func (y *yard) actives(provider common.Address, numbers ...uint64) []*testSector {
	y.t.Helper()
	const into = periodBlocks - 1 - seedDelay - 1 // blocks into a period
	if y.block%periodBlocks > into {
		y.block += periodBlocks
	}
	y.block += into - y.block%periodBlocks
	var all []*testSector
	for _, number := range numbers {
		all = append(all, y.preCommitted(provider, number))
	}
	y.block += seedDelay + 1
	for _, s := range all {
		y.does(provider, s.packCommit())
	}
	return all
}

func (s *testSector) sealChallenge() challenge {
	return challenge{"seal", s.ticket, s.seed, s.provider, s.number}
}

func (s *testSector) packCommit() []byte {
	return sectorABI.PackCommit(s.number, s.tree.prove(s.sealChallenge(), sealLeaves))
}

// opens is the first block of the sector's window in a period.
func (s *testSector) opens(period uint64) uint64 {
	return period*periodBlocks + s.number%deadlines*windowBlocks
}

// possession is the proof for the window of the sector in a period.
func (y *yard) possession(s *testSector, period uint64) []byte {
	c := challenge{"possession", s.ticket, y.hash(s.opens(period) - 1), s.provider, s.number}
	return s.tree.prove(c, windowLeaves)
}

// packProof proves sectors in the open window of the first one.
func (y *yard) packProof(sectors ...*testSector) []byte {
	numbers, proofs := []uint64{}, [][]byte{}
	for _, s := range sectors {
		numbers = append(numbers, s.number)
		proofs = append(proofs, y.possession(s, y.block/periodBlocks))
	}
	first := numbers[0]
	return sectorABI.PackProvePossession(
		first%deadlines, first/deadlines/inPartition, numbers, proofs)
}

// toWindow goes to the first block of a sector's window, in the current period or, if that has
// passed, in the next.
func (y *yard) toWindow(s *testSector) (period uint64) {
	period = y.block / periodBlocks
	if s.opens(period) <= y.block {
		period++
	}
	y.block = s.opens(period)
	return period
}

// missWindow goes to the block after the sector's next window.
func (y *yard) missWindow(s *testSector) (period uint64) {
	period = y.toWindow(s)
	y.block += windowBlocks
	return period
}

func (y *yard) proves(s *testSector) []*types.Log {
	y.t.Helper()
	return y.does(s.provider, y.packProof(s))
}

func (y *yard) declareFault(sectors ...*testSector) []*types.Log {
	y.t.Helper()
	return y.does(sectors[0].provider, sectorABI.PackDeclareFaults(numbersOf(sectors)))
}

func (y *yard) declareRecovery(sectors ...*testSector) []*types.Log {
	y.t.Helper()
	return y.does(sectors[0].provider, sectorABI.PackDeclareRecoveries(numbersOf(sectors)))
}

func numbersOf(sectors []*testSector) []uint64 {
	var numbers []uint64
	for _, s := range sectors {
		numbers = append(numbers, s.number)
	}
	return numbers
}

// eachCall lists a call of every kind about a sector, as its provider would make it.
func (y *yard) eachCall(s *testSector) map[string][]byte {
	n := []uint64{s.number}
	return map[string][]byte{
		"preCommit":         sectorABI.PackPreCommit(y.announcesTree(s.provider, s.number, s.tree).said),
		"pinSeed":           sectorABI.PackPinSeed(s.provider, s.number),
		"commit":            s.packCommit(),
		"expirePreCommit":   sectorABI.PackExpirePreCommit(s.provider, s.number),
		"provePossession":   y.packProof(s),
		"declareFaults":     sectorABI.PackDeclareFaults(n),
		"declareRecoveries": sectorABI.PackDeclareRecoveries(n),
		"markMissed":        sectorABI.PackMarkMissed(s.provider, s.number, y.block/periodBlocks),
		"terminate":         sectorABI.PackTerminate(s.number),
		"expire":            sectorABI.PackExpire(s.number),
	}
}
