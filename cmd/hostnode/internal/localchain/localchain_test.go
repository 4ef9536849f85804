package localchain_test

import (
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/prover"
)

func TestEachChainHasAMarketOfItsOwnAndKeepsIt(t *testing.T) {
	params := prover.NetworkParams()
	params.Samples, params.MaxDepth = 1, 12
	keys, err := prover.DevelopmentKeys(t.Context(), params, t.TempDir(), "", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "hn") // Short: a socket's path is limited.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	heads := map[string]uint64{}
	deploy := func(dir string) string {
		c, err := localchain.Open(t.Context(), localchain.Config{
			Dir: dir, IPCPath: filepath.Join(sockets, "ipc"), Keys: keys,
		})
		if err != nil {
			t.Fatal(err)
		}
		if pool := poolOf(t, c); pool.Cmp(big.NewInt(1e18)) < 0 {
			t.Errorf("those that prove sectors earn nothing: the pool has %s", pool)
		}
		heads[dir] = c.Head().Number
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return c.Marketplace.String() + " and sectors at " + c.SectorProvider.String()
	}
	one, other := t.TempDir(), t.TempDir()
	first := deploy(one)
	if second := deploy(other); second == first {
		t.Errorf("two chains have their market at %s: in one event store their records would be one", first)
	}
	blocks := heads[one]
	if again := deploy(one); again != first {
		t.Errorf("the market was at %s, and is at %s after another start", first, again)
	}
	if heads[one] != blocks {
		t.Errorf("the pool was filled again: block %d, it was %d", heads[one], blocks)
	}
}

func poolOf(t *testing.T, c *localchain.Chain) *big.Int {
	t.Helper()
	client := ethclient.NewClient(c.Attach())
	defer client.Close()
	sectors := bindings.NewSectorProvider()
	pool, err := bind.Call(sectors.Instance(client, common.Address(c.SectorProvider)), nil, sectors.PackPool(),
		sectors.UnpackPool)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}
