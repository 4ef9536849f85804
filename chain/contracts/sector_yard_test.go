package contracts_test

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// The rules of most tests: periods of 100 blocks with five windows of 20, and numbers small enough
// to step through.
const (
	periodBlocks  = 100
	deadlines     = 5
	windowBlocks  = periodBlocks / deadlines
	inPartition   = 3
	faultCutoff   = 4
	maxFaults     = 3
	sealLeaves    = 44
	windowLeaves  = 10
	lookback      = 5
	seedDelay     = 10
	commitDue     = 300
	minLife       = 200
	maxLife       = 5000
	smallest      = 2048          // bytes
	deposit       = 10 * smallest // of the smallest sector, as are these:
	voidFee       = 2048
	missedFee     = 1024
	faultFee      = 410 // 409.6
	terminateFee  = 4096
	reward        = smallest
	sectorFunding = 100 * deposit // of each provider
)

func sectorConfig() bindings.SectorConfig {
	return bindings.SectorConfig{
		Sealing: bindings.SealingConfig{
			TicketLookback: lookback, ChallengeDelay: seedDelay, CommitDue: commitDue,
			MinLife: minLife, MaxLife: maxLife, Leaves: sealLeaves,
		},
		Proving: bindings.ProvingConfig{
			PeriodBlocks: periodBlocks, Deadlines: deadlines, PartitionSectors: inPartition,
			FaultCutoff: faultCutoff, Leaves: windowLeaves, MaxFaultPeriods: maxFaults,
		},
		Deposits: bindings.DepositConfig{
			DepositPerByte: 10,
			VoidFee:        1000, MissedFee: 500, FaultFee: 200, TerminationFee: 2000,
		},
		Possession: bindings.ProofTypeConfig{Taken: true, RewardPerByte: 1},
		Simulated:  bindings.ProofTypeConfig{Taken: true},
	}
}

var (
	sectorABI = bindings.NewSectorProvider()
	alice     = common.Address{0xa1}
	bob       = common.Address{0xb0}
	nobody    = common.Address{0x99} // no provider, and with no tokens
)

// yard is a contract for sectors for one test, with two providers.
type yard struct {
	*bench
	token, address common.Address
}

func newYard(t fataler) *yard { return newYardWith(t, sectorConfig()) }

func newYardWith(t fataler, config bindings.SectorConfig) *yard {
	t.Helper()
	b := newBench(t)
	token := b.create(contracts.TokenCreation())
	code, err := contracts.SectorProviderCreation(config, token)
	if err != nil {
		t.Fatalf("sector provider: %v", err)
	}
	y := &yard{b, token, b.create(code)}
	for _, account := range []common.Address{alice, bob} {
		y.toToken(account, packToken.PackMint(account, bigInt(sectorFunding)))
		y.toToken(account, packToken.PackApprove(y.address, bigInt(sectorFunding)))
	}
	return y
}

func (y *yard) toToken(from common.Address, data []byte) {
	y.t.Helper()
	if _, _, name := y.attempt(from, y.token, data); name != "" {
		y.t.Fatalf("token refuses with %s", name)
	}
}

// does makes a call that must succeed and returns its logs.
func (y *yard) does(from common.Address, data []byte) []*types.Log {
	y.t.Helper()
	_, logs, name := y.attempt(from, y.address, data)
	if name != "" {
		y.t.Fatalf("block %d: refused with %s", y.block, name)
	}
	return logs
}

// refused checks that a call reverts with that error.
func (y *yard) refused(from common.Address, data []byte, want string) {
	y.t.Helper()
	if _, _, got := y.attempt(from, y.address, data); got != want {
		y.t.Fatalf("block %d: reverts with %q, want %q", y.block, got, want)
	}
}

// trial returns the name of the error that a call would have, and changes nothing.
func (y *yard) trial(from common.Address, data []byte) string {
	y.t.Helper()
	defer y.scratch()()
	_, _, name := y.attempt(from, y.address, data)
	return name
}

// ask calls a view.
func ask[T any](y *yard, data []byte, unpack func([]byte) (T, error)) T {
	y.t.Helper()
	output, _, name := y.attempt(nobody, y.address, data)
	if name != "" {
		y.t.Fatalf("view reverts with %s", name)
	}
	value, err := unpack(output)
	if err != nil {
		y.t.Fatalf("unpack: %v", err)
	}
	return value
}

func (y *yard) info(provider common.Address, number uint64) bindings.SectorInfo {
	y.t.Helper()
	return ask(y, sectorABI.PackSector(provider, number), sectorABI.UnpackSector)
}

func (y *yard) status(s *testSector) contracts.SectorStatus {
	y.t.Helper()
	return contracts.SectorStatus(y.info(s.provider, s.number).Status)
}

func (y *yard) wantStatus(s *testSector, want contracts.SectorStatus) {
	y.t.Helper()
	if got := y.status(s); got != want {
		y.t.Fatalf("block %d: sector %d is %v, want %v", y.block, s.number, got, want)
	}
}

func (y *yard) tokens(account common.Address) int64 {
	y.t.Helper()
	output, _, _ := y.attempt(nobody, y.token, packToken.PackBalanceOf(account))
	return new(big.Int).SetBytes(output).Int64()
}

func (y *yard) owed(account common.Address) int64 {
	y.t.Helper()
	return ask(y, sectorABI.PackOwed(account), sectorABI.UnpackOwed).Int64()
}

func (y *yard) pool() int64 {
	y.t.Helper()
	return ask(y, sectorABI.PackPool(), sectorABI.UnpackPool).Int64()
}

func (y *yard) unburnt() int64 {
	y.t.Helper()
	return ask(y, sectorABI.PackUnburnt(), sectorABI.UnpackUnburnt).Int64()
}

// sectorEvents are the names of a call's events, without the token's.
func (y *yard) sectorEvents(logs []*types.Log) []string {
	y.t.Helper()
	names := []string{}
	for _, log := range logs {
		if log.Address != y.address {
			continue
		}
		known := sectorABI.GetABI()
		event, err := known.EventByID(log.Topics[0])
		if err != nil {
			y.t.Fatalf("unknown event: %v", err)
		}
		names = append(names, event.Name)
	}
	return names
}

// wantLeft checks what is left of the deposit.
func (y *yard) wantLeft(s *testSector, left int64) {
	y.t.Helper()
	if got := y.info(s.provider, s.number).Deposit.Int64(); got != left {
		y.t.Fatalf("block %d: deposit is %d, want %d", y.block, got, left)
	}
}

// wantMoney checks what is left of the deposit and what was lost in all.
func (y *yard) wantMoney(s *testSector, left, lost int64) {
	y.t.Helper()
	y.wantLeft(s, left)
	if got := y.unburnt(); got != lost {
		y.t.Fatalf("block %d: %d are lost, want %d", y.block, got, lost)
	}
}

// checkBooks checks that every token in the contract belongs to an account, once all windows are
// settled.
func (y *yard) checkBooks(sectors ...*testSector) {
	y.t.Helper()
	defer y.scratch()()
	type key struct {
		provider common.Address
		number   uint64
	}
	every := map[key]bool{}
	for _, s := range sectors {
		every[key{s.provider, s.number}] = true
	}
	for s := range every {
		if period := y.info(s.provider, s.number).NextPeriod; period > 0 {
			_, _, _ = y.attempt(nobody, y.address, sectorABI.PackMarkMissed(s.provider, s.number, period-1))
		}
	}
	held := y.pool() + y.unburnt() + y.owed(alice) + y.owed(bob)
	for s := range every {
		held += y.info(s.provider, s.number).Deposit.Int64()
	}
	if got := y.tokens(y.address); got != held {
		y.t.Fatalf("block %d: the contract has %d tokens and accounts for %d", y.block, got, held)
	}
	var outside int64
	for _, account := range []common.Address{alice, bob, burnAddress} {
		outside += y.tokens(account)
	}
	if outside+y.tokens(y.address) != 2*sectorFunding {
		y.t.Fatalf("block %d: tokens came from nowhere", y.block)
	}
}

var burnAddress = common.HexToAddress("0x000000000000000000000000000000000000dEaD")
