package contracts_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/contracts"
)

// genesisTime is in the year 2096. The simulated chain uses the wall clock if that is ahead of its
// own time; so it never is, and every block comes exactly one second after its parent unless a test
// says otherwise.
const genesisTime = 4_000_000_000

const (
	deployer = iota
	client
	host
	otherHost
	thirdHost
	fourthHost
	validator
	stranger
	accounts
)

// chain is one simulated chain for all tests of the package. Each test deploys its own contracts on
// it, so they share only the flow of time.
type chain struct {
	backend *simulated.Backend
	keys    [accounts]*ecdsa.PrivateKey
	nonces  [accounts]uint64
}

var shared *chain

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	c, err := newChain(atOsaka)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = c
	defer func() { _ = c.backend.Close() }()
	return m.Run()
}

func newChain(rules func(*node.Config, *ethconfig.Config)) (*chain, error) {
	c := &chain{}
	alloc := types.GenesisAlloc{}
	for i := range c.keys {
		seed := sha256.Sum256(fmt.Appendf(nil, "account %d", i))
		key, err := crypto.ToECDSA(seed[:])
		if err != nil {
			return nil, fmt.Errorf("make key %d: %w", i, err)
		}
		c.keys[i] = key
		alloc[crypto.PubkeyToAddress(key.PublicKey)] = types.Account{
			Balance: new(big.Int).Lsh(big.NewInt(1), 100),
		}
	}
	c.backend = simulated.NewBackend(alloc, rules)
	return c, nil
}

// atOsaka pins the rules: by default the simulated chain uses future ones, under which state costs
// several times as much.
func atOsaka(_ *node.Config, config *ethconfig.Config) {
	rules := *params.AllDevChainProtocolChanges
	rules.BogotaTime = nil
	rules.AmsterdamTime = nil
	config.Genesis.Config = &rules
	config.Genesis.Timestamp = genesisTime
}

// atPrague is atOsaka with the preceding rules.
func atPrague(n *node.Config, config *ethconfig.Config) {
	atOsaka(n, config)
	config.Genesis.Config.OsakaTime = nil
}

func bigInt(n int64) *big.Int { return big.NewInt(n) }

func (c *chain) address(account int) common.Address {
	return crypto.PubkeyToAddress(c.keys[account].PublicKey)
}

func (c *chain) head(t *testing.T) *types.Header {
	t.Helper()
	header, err := c.backend.Client().HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatalf("read head: %v", err)
	}
	return header
}

func (c *chain) now(t *testing.T) uint64 {
	t.Helper()
	return c.head(t).Time
}

// mine seals empty blocks, one second apart.
func (c *chain) mine(t *testing.T, blocks int) {
	t.Helper()
	before := c.head(t).Number.Uint64()
	for range blocks {
		c.backend.Commit()
	}
	if got := c.head(t).Number.Uint64(); got != before+uint64(blocks) {
		t.Fatalf("head is %d after %d blocks on %d", got, blocks, before)
	}
}

// manyBlocks is called by tests that take the contract through hundreds of blocks. They test the
// contract, not this program; under the race detector they would be ten times slower and find
// nothing.
func manyBlocks(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("about the contract alone, and long: CI and `make test-whole` run it")
	}
}

// goTo seals one block with exactly that timestamp.
func (c *chain) goTo(t *testing.T, timestamp uint64) {
	t.Helper()
	now := c.now(t)
	if timestamp == now {
		return
	}
	if timestamp < now {
		t.Fatalf("time %d is %d s in the past", timestamp, now-timestamp)
	}
	// The mempool drops mined transactions in the background, and until then the chain cannot jump.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := c.backend.AdjustTime(time.Duration(timestamp-now) * time.Second)
		if err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("go to %d: %v", timestamp, err)
		}
	}
	if got := c.now(t); got != timestamp {
		t.Fatalf("time is %d, want %d", got, timestamp)
	}
}

// submit mines a transaction in a block of its own. A nil recipient creates a
// contract.
func (c *chain) submit(t *testing.T, from int, to *common.Address, data []byte) *types.Receipt {
	t.Helper()
	tx := c.sign(t, from, to, data, 1)
	if err := c.backend.Client().SendTransaction(t.Context(), tx); err != nil {
		t.Fatalf("send: %v", err)
	}
	c.nonces[from]++
	c.backend.Commit()
	return c.receipt(t, tx)
}

// both mines two transactions in one block, in this order. The first one needs the
// higher tip.
func (c *chain) both(t *testing.T, a *types.Transaction, from int, b *types.Transaction, by int) {
	t.Helper()
	for _, tx := range []*types.Transaction{a, b} {
		if err := c.backend.Client().SendTransaction(t.Context(), tx); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
	c.nonces[from]++
	c.nonces[by]++
	c.backend.Commit()
	first, second := c.receipt(t, a), c.receipt(t, b)
	if first.Status != types.ReceiptStatusSuccessful ||
		second.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("status is %d and %d", first.Status, second.Status)
	}
	if first.BlockHash != second.BlockHash || first.TransactionIndex > second.TransactionIndex {
		t.Fatalf("not in one block in this order")
	}
}

// sign makes a transaction; of those in one block the higher tip, in gwei, goes first.
func (c *chain) sign(
	t *testing.T, from int, to *common.Address, data []byte, tip int64,
) *types.Transaction {
	t.Helper()
	return types.MustSignNewTx(c.keys[from], types.LatestSignerForChainID(big.NewInt(1337)),
		&types.DynamicFeeTx{
			ChainID:   big.NewInt(1337),
			Nonce:     c.nonces[from],
			GasTipCap: big.NewInt(tip * params.GWei),
			GasFeeCap: big.NewInt(10 * params.GWei),
			Gas:       8_000_000,
			To:        to,
			Data:      data,
		})
}

func (c *chain) receipt(t *testing.T, tx *types.Transaction) *types.Receipt {
	t.Helper()
	receipt, err := c.backend.Client().TransactionReceipt(t.Context(), tx.Hash())
	if err != nil {
		t.Fatalf("receipt: %v", err)
	}
	return receipt
}

// call runs a view or a trial of a transaction as of the head.
func (c *chain) call(t *testing.T, from int, to *common.Address, data []byte) ([]byte, error) {
	t.Helper()
	return c.callAs(from, to, data)
}

func (c *chain) callAs(from int, to *common.Address, data []byte) ([]byte, error) {
	message := ethereum.CallMsg{From: c.address(from), To: to, Data: data, Gas: 16_000_000}
	return c.backend.Client().CallContract(context.Background(), message, nil)
}

// create deploys a contract.
func (c *chain) create(t *testing.T, code []byte) common.Address {
	t.Helper()
	receipt := c.submit(t, deployer, nil, code)
	if receipt.Status != types.ReceiptStatusSuccessful {
		_, err := c.call(t, deployer, nil, code)
		t.Fatalf("create: %s", revertName(t, err))
	}
	return receipt.ContractAddress
}

// grow seals blocks until a marketplace can be deployed.
func (c *chain) grow(t *testing.T) {
	t.Helper()
	height := c.head(t).Number.Uint64()
	if height < contracts.FirstDeploymentBlock {
		c.mine(t, int(contracts.FirstDeploymentBlock-height))
	}
}

// revertData is the data of a revert, which the node sends in hex.
func revertData(t *testing.T, err error) []byte {
	t.Helper()
	var withData rpc.DataError
	if !errors.As(err, &withData) {
		t.Fatalf("error without revert data: %v", err)
	}
	text, ok := withData.ErrorData().(string)
	if !ok {
		t.Fatalf("revert data %v is no string", withData.ErrorData())
	}
	data, err := hexutil.Decode(text)
	if err != nil {
		t.Fatalf("revert data %q: %v", text, err)
	}
	return data
}

// revertName is the name of a call's error, empty if it succeeded.
func revertName(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	data := revertData(t, err)
	name, ok := contracts.DecodeRevert(data)
	if !ok {
		t.Fatalf("unknown revert %#x", data)
	}
	return name
}
