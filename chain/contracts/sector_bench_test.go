package contracts_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// fataler is a test, or one run of a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bench runs contracts without a chain: a test sets the block number, and block hashes follow from
// the number and the fork. Calls happen in the current block and seal nothing.
type bench struct {
	t     fataler
	state *state.StateDB
	block uint64
	fork  uint64
	calls uint64
}

func newBench(t fataler) *bench {
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	return &bench{t: t, state: db, block: 10_000}
}

// hash is a block's hash, even before the block exists, which only a test can know.
func (b *bench) hash(n uint64) bytes32 {
	return crypto.Keccak256Hash(binary.BigEndian.AppendUint64(
		binary.BigEndian.AppendUint64(nil, b.fork), n))
}

func (b *bench) config(from common.Address) *runtime.Config {
	return &runtime.Config{
		Origin: from, BlockNumber: new(big.Int).SetUint64(b.block), State: b.state,
		GasLimit: 100_000_000, GetHashFn: func(n uint64) common.Hash { return b.hash(n) },
	}
}

func (b *bench) create(code []byte) common.Address {
	b.t.Helper()
	output, address, _, err := runtime.Create(code, b.config(common.Address{0xde}))
	if err != nil {
		b.t.Fatalf("create: %s", nameOf(b.t, output, err))
	}
	return address
}

// attempt makes a call and returns its result, its logs and the name of its error.
func (b *bench) attempt(from, to common.Address, data []byte) ([]byte, []*types.Log, string) {
	b.t.Helper()
	b.calls++
	id := common.BigToHash(new(big.Int).SetUint64(b.calls))
	b.state.SetTxContext(id, 0, 0)
	config := b.config(from)
	output, _, err := runtime.Call(to, data, config)
	b.state.Finalise(config.ChainConfig.Rules(config.BlockNumber, true, 0))
	if err != nil {
		return output, nil, nameOf(b.t, output, err)
	}
	return output, b.state.GetLogs(id, b.block, common.Hash{}, 0), ""
}

// scratch returns a function that undoes everything since.
func (b *bench) scratch() func() {
	kept, block := b.state, b.block
	b.state = kept.Copy()
	return func() { b.state, b.block = kept, block }
}

func nameOf(t fataler, output []byte, err error) string {
	t.Helper()
	if !errors.Is(err, vm.ErrExecutionReverted) {
		t.Fatalf("call: %v", err)
	}
	name, ok := contracts.DecodeRevert(output)
	if !ok {
		t.Fatalf("unknown revert %#x", output)
	}
	return name
}

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
			DepositPerByte: 10, RewardPerByte: 1,
			VoidFee: 1000, MissedFee: 500, FaultFee: 200, TerminationFee: 2000,
		},
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

// checkBooks checks that every token in the contract belongs to somebody, once all windows are
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

func kinds[V any](named map[string]V) []string { return slices.Sorted(maps.Keys(named)) }

func TestHashesOfTheBenchDifferByForkAndNumber(t *testing.T) {
	b := newBench(t)
	first := b.hash(1)
	if again := b.hash(1); again != first || first == b.hash(2) {
		t.Fatalf("block 1 has the hashes %x and %x, block 2 %x", first, again, b.hash(2))
	}
	if b.fork++; b.hash(1) == first {
		t.Fatalf("hashes are not those of forks")
	}
}
