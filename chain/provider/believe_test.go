package provider

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// What a node says of a sector is compared with what can be.
func TestASectorThatCannotBeIsNotBelieved(t *testing.T) {
	c := &Chain{account: common.Address{1, 2, 3}, config: events.SectorConfig{
		ChallengeDelay: 4, Deadlines: 3, PartitionSize: 5, PeriodBlocks: 30, DepositPerByte: events.NewAmount(10),
	}}
	const number = 47
	head := &rpc.Header{Number: 1000}
	good := func() bindings.SectorInfo {
		return bindings.SectorInfo{
			Status: uint8(contracts.SectorActive), Size: 2048, Deadline: 2, Partition: 3, TicketEpoch: 90, PreCommitEpoch: 100,
			SeedEpoch: 104, Activation: 110, Expiration: 900, NextPeriod: 4, Deposit: big.NewInt(20480), CommD: [32]byte{7},
			Ticket: [32]byte{8}, CommR: commd.CommR(c.account, number, [32]byte{8}, commd.Node{7}),
		}
	}
	if err := c.impossible(number, good(), head); err != nil {
		t.Fatal(err)
	}
	if err := c.impossible(number, bindings.SectorInfo{Deposit: new(big.Int)}, head); err != nil {
		t.Fatalf("none: %v", err)
	}
	for name, change := range map[string]func(*bindings.SectorInfo){
		"none, with a size":      func(s *bindings.SectorInfo) { s.Status = uint8(contracts.SectorNone) },
		"an unknown status":      func(s *bindings.SectorInfo) { s.Status = 9 },
		"an impossible size":     func(s *bindings.SectorInfo) { s.Size = 2049 },
		"no size":                func(s *bindings.SectorInfo) { s.Size = 0 },
		"a larger deposit":       func(s *bindings.SectorInfo) { s.Deposit = big.NewInt(20481) },
		"a precommit of later":   func(s *bindings.SectorInfo) { s.PreCommitEpoch, s.SeedEpoch = 1001, 1005 },
		"a commit of later":      func(s *bindings.SectorInfo) { s.Activation = 1001 },
		"a ticket of later":      func(s *bindings.SectorInfo) { s.TicketEpoch = 100 },
		"a seed of another time": func(s *bindings.SectorInfo) { s.SeedEpoch = 105 },
		"another deadline":       func(s *bindings.SectorInfo) { s.Deadline = 1 },
		"another partition":      func(s *bindings.SectorInfo) { s.Partition = 4 },
		"another CommR":          func(s *bindings.SectorInfo) { s.CommR[0]++ },
		"another CommD":          func(s *bindings.SectorInfo) { s.CommD[0]++ },
		"an unknown type":        func(s *bindings.SectorInfo) { s.ProofType = 2 },
		"another type":           func(s *bindings.SectorInfo) { s.ProofType = contracts.ProofSimulated },
		"another ticket":         func(s *bindings.SectorInfo) { s.Ticket[0]++ },
	} {
		s := good()
		change(&s)
		if c.impossible(number, s, head) == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

func TestLimitsOfGasGrowWithDepthLeavesAndSectors(t *testing.T) {
	g := MeasuredGas()
	for depth, want := range map[int]uint64{6: 795_000, 12: 1_237_500, 18: 1_680_000, 24: 2_182_500, 30: 2_685_000, 31: 2_768_750} {
		if got := account.WithMargin(g.commit(depth, SealLeaves)); got < want-1 || got > want+1 {
			t.Errorf("a commit of depth %d may take %d gas, want %d", depth, got, want)
		}
	}
	if got := g.commit(6, 2*SealLeaves); got != 2*g.commit(6, SealLeaves) {
		t.Errorf("with twice the leaves %d", got)
	}
	if got := g.commit(6, 1); got != g.commit(6, SealLeaves) {
		t.Errorf("with one leaf %d", got)
	}
	if got, want := g.possession([]int{6, 30}, DailyLeaves), uint64(150_000+404_000); got != want {
		t.Errorf("of two sectors %d, want %d", got, want)
	}
	if got, want := g.declare(3), uint64(80_000); got != want {
		t.Errorf("three declared %d, want %d", got, want)
	}
}

func TestEachRefusalOfTheContractIsAnOutcome(t *testing.T) {
	for name := range bindings.NewSectorProvider().GetABI().Errors {
		switch name {
		case "Sectors_InvalidFees", "Sectors_InvalidPeriod", "Sectors_InvalidProving", "Sectors_InvalidSealing",
			"Sectors_InvalidProofTypes": // Its constructor's.
			continue
		case "Sectors_NotMissed", "Sectors_NothingOwed": // Of calls that are not made.
			continue
		}
		if outcomes[name] == nil {
			t.Errorf("%s has no outcome", name)
		}
	}
	if outcomes["Marketplace_SlotNotFree"] != nil {
		t.Error("another contract's error has an outcome")
	}
}
