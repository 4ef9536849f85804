package localchain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
)

func TestEachChainHasAMarketOfItsOwnAndKeepsIt(t *testing.T) {
	params := prover.NetworkParams()
	params.Samples, params.MaxDepth = 1, 12
	keys, err := prover.DevelopmentKeys(t.Context(), params, t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "hn") // Short: a socket's path is limited.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	deploy := func(dir string) string {
		c, err := localchain.Open(t.Context(), localchain.Config{
			Dir: dir, IPCPath: filepath.Join(sockets, "ipc"), Keys: keys,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.FundSectors(t.Context(), events.NewAmount(5)); err != nil {
			t.Error(err)
		}
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
	if again := deploy(one); again != first {
		t.Errorf("the market was at %s, and is at %s after another start", first, again)
	}
}
