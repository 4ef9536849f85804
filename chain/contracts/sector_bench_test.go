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
