package contracts_test

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/prover/commd"
)

// remembers makes the history contract of EIP-2935 know the hashes of blocks.
func (b *bench) remembers(blocks ...uint64) {
	b.state.SetNonce(params.HistoryStorageAddress, 1, tracing.NonceChangeUnspecified)
	b.state.SetCode(params.HistoryStorageAddress, params.HistoryStorageCode, tracing.CodeChangeUnspecified)
	for _, n := range blocks {
		b.state.SetState(params.HistoryStorageAddress, common.BigToHash(bigInt(int64(n%ticketReach))), b.hash(n))
	}
}

// ticketReach is how long tickets live on a chain with that contract.
const ticketReach = 8191

func TestTicketsLiveAsLongAsTheChainKnowsHashes(t *testing.T) {
	answers := func(code ...byte) func(*yard) { // A contract in the place of the history, or none.
		return func(y *yard) {
			y.remembers()
			y.state.SetCode(params.HistoryStorageAddress, code, tracing.CodeChangeUnspecified)
		}
	}
	for name, test := range map[string]struct {
		prepare func(y *yard)
		reach   uint64
	}{
		"a chain with the history": {func(y *yard) {
			for back := range uint64(ticketReach + 2) {
				y.remembers(y.block + ticketReach + 1 - back)
			}
		}, ticketReach},
		"a chain without it":           {func(*yard) {}, 256},
		"a history that knows nothing": {func(y *yard) { y.remembers() }, 256},
		"one that answers nothing":     {answers(byte(vm.STOP)), 256},
		"one that refuses":             {answers(byte(vm.PUSH1), 0, byte(vm.DUP1), byte(vm.REVERT)), 256},
		"one that answers too much":    {answers(byte(vm.PUSH1), 64, byte(vm.PUSH1), 0, byte(vm.RETURN)), 256},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			test.prepare(y)
			y.block += ticketReach + 2
			if got := ask(y, sectorABI.PackTicketReach(), sectorABI.UnpackTicketReach); got != test.reach {
				t.Fatalf("tickets live %d blocks, want %d", got, test.reach)
			}
			get := func(epoch uint64) bytes32 {
				return ask(y, sectorABI.PackTicketFor(alice, 3, epoch), sectorABI.UnpackTicketFor)
			}
			for back, known := range map[uint64]bool{
				lookback - 1: false, lookback: true, 256: true, 257: test.reach > 256,
				test.reach: true, test.reach + 1: false,
			} {
				want := bytes32{}
				if known {
					want = ticketOf(y.hash(y.block-back), alice, 3)
				}
				if got := get(y.block - back); got != want {
					t.Errorf("ticket of %d blocks before is %x, want %x", back, got, want)
				}
			}
		})
	}
}

// The formula, written from its description. Those of a host are the same.
func pretends(c challenge, leaves uint32, commR bytes32) []byte {
	data := append([]byte("simulated"+c.domain), c.ticket[:]...)
	data = append(append(data, c.seed[:]...), c.provider[:]...)
	data = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(data, c.number), leaves)
	hash := sha256.Sum256(append(data, commR[:]...))
	return append(hash[:], "simulated"...)
}

func simulatedCommR(s *testSector) bytes32 {
	data := append([]byte("simulated"), s.provider[:]...)
	data = append(binary.BigEndian.AppendUint64(data, s.number), s.ticket[:]...)
	return masked(sha256.Sum256(append(data, s.said.CommD[:]...)))
}

// announcesSimulated is announces of a sector that is only simulated.
func (y *yard) announcesSimulated(number uint64) *testSector {
	s := y.announces(alice, number)
	s.said.ProofType = contracts.ProofSimulated
	s.said.CommR = simulatedCommR(s)
	return s
}

func TestSimulatedProofsAreVerifiedAndEarnNothing(t *testing.T) {
	y := newYard(t)
	y.does(alice, sectorABI.PackFund(bigInt(5*reward)))
	proven := y.active(alice, 1)
	s := y.announcesSimulated(6) // In the same partition.
	if got := commd.SimulatedCommR(alice, 6, s.ticket, commd.Node(s.said.CommD)); bytes32(got) != s.said.CommR {
		t.Fatalf("a host's CommR is %x, want %x", got, s.said.CommR)
	}
	other := s.said
	other.CommR = commR(alice, 6, s.ticket, s.said.CommD)
	y.refused(alice, sectorABI.PackPreCommit(other), "Sectors_WrongCommR")
	y.does(alice, sectorABI.PackPreCommit(s.said))
	y.block += seedDelay + 1
	seal := pretends(s.sealChallenge(), sealLeaves, s.said.CommR)
	host := commd.Simulated(commd.Challenge{
		Domain: commd.Seal, Ticket: s.ticket, Seed: s.seed, Provider: alice, Number: 6, Leaves: sealLeaves,
	}, s.said.CommR)
	if string(host) != string(seal) {
		t.Fatalf("a host's proof is %x, want %x", host, seal)
	}
	y.refused(alice, sectorABI.PackCommit(6, s.tree.prove(s.sealChallenge(), sealLeaves)), "Sectors_ProofLength")
	for i := range seal {
		wrong := append([]byte{}, seal...)
		wrong[i] ^= 1
		y.refused(alice, sectorABI.PackCommit(6, wrong), "Sectors_InvalidProof")
	}
	y.does(alice, sectorABI.PackCommit(6, seal))
	info := y.info(alice, 6)
	if info.ProofType != contracts.ProofSimulated || info.CommR != s.said.CommR || y.info(alice, 1).ProofType != contracts.ProofPossession {
		t.Fatalf("it is %+v", info)
	}
	y.toWindow(proven)
	day := challenge{"possession", s.ticket, y.hash(y.block - 1), alice, 6}
	good := pretends(day, windowLeaves, s.said.CommR)
	call := func(proofs ...[]byte) []byte {
		return sectorABI.PackProvePossession(1, 0, []uint64{1, 6}, proofs)
	}
	mine := y.possession(proven, y.block/periodBlocks)
	y.refused(alice, call(mine, pretends(s.sealChallenge(), windowLeaves, s.said.CommR)), "Sectors_InvalidProof")
	y.refused(alice, call(mine, s.tree.prove(day, windowLeaves)), "Sectors_ProofLength")
	y.refused(alice, call(good, good), "Sectors_ProofLength") // Of a sector of the other type.
	y.does(alice, call(mine, good))
	if y.owed(alice) != reward {
		t.Fatalf("owed %d, want %d: simulated proofs earn nothing", y.owed(alice), reward)
	}
	y.checkBooks(proven, s)
}

func TestATypeOfProofsThatADeploymentDoesNotTakeIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*bindings.SectorConfig)
		simulated bool
		want      string
	}{
		"simulated":             {func(c *bindings.SectorConfig) { c.Simulated.Taken = false }, true, "Sectors_ProofTypeNotTaken"},
		"possession beside":     {func(c *bindings.SectorConfig) { c.Simulated.Taken = false }, false, ""},
		"possession":            {func(c *bindings.SectorConfig) { c.Possession.Taken = false }, false, "Sectors_ProofTypeNotTaken"},
		"simulated beside that": {func(c *bindings.SectorConfig) { c.Possession.Taken = false }, true, ""},
	} {
		config := sectorConfig()
		test.change(&config)
		y := newYardWith(t, config)
		s := y.announces(alice, 1)
		if test.simulated {
			s = y.announcesSimulated(1)
		}
		if got := y.trial(alice, sectorABI.PackPreCommit(s.said)); got != test.want {
			t.Errorf("%s: reverts with %q, want %q", name, got, test.want)
		}
	}
}
