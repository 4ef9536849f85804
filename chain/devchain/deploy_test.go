package devchain_test

import (
	"bytes"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/devchain"
)

func TestDeploymentIsRememberedAcrossStarts(t *testing.T) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("deployer")))
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	cfg := devchain.Config{Dir: dir, Alloc: map[common.Address]*big.Int{
		crypto.PubkeyToAddress(key.PublicKey): new(big.Int).Lsh(big.NewInt(1), 80),
	}}
	deploy := devchain.DeployConfig{
		Market:       devchain.DefaultMarketConfig("key"),
		VerifyingKey: make([][32]byte, 22),
		File:         filepath.Join(dir, "deployment.json"),
	}
	c := open(t, cfg)
	client := ethclient.NewClient(c.Attach())
	first, err := devchain.Deploy(t.Context(), client, key, deploy)
	client.Close()
	if err != nil || first.Marketplace.Zero() || first.Block < contracts.FirstDeploymentBlock {
		t.Fatalf("deployment is %+v (%v)", first, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, cfg)
	client = ethclient.NewClient(c.Attach())
	defer client.Close()
	head := c.Head()
	again, err := devchain.Deploy(t.Context(), client, key, deploy)
	if diff := cmp.Diff(first, again); err != nil || diff != "" || c.Head() != head {
		t.Fatalf("deployed again: %v (-first +again):\n%s", err, diff)
	}
	// Sectors can be added later, which changes nothing else.
	rules := devchain.DefaultSectorConfig()
	deploy.Sectors = &rules
	sectors, err := devchain.Deploy(t.Context(), client, key, deploy)
	if err != nil || sectors.SectorProvider.Zero() || sectors.SectorBlock != head.Number+1 {
		t.Fatalf("deployment with sectors is %+v (%v)", sectors, err)
	}
	again, err = devchain.Deploy(t.Context(), client, key, deploy)
	if diff := cmp.Diff(sectors, again); err != nil || diff != "" || c.Head().Number != head.Number+1 {
		t.Fatalf("deployed again: %v (-first +again):\n%s", err, diff)
	}
	deploy.Sectors = nil
	again, err = devchain.Deploy(t.Context(), client, key, deploy)
	if diff := cmp.Diff(sectors, again); err != nil || diff != "" {
		t.Fatalf("forgot the sectors: %v (-first +again):\n%s", err, diff)
	}
	again.SectorProvider, again.SectorBlock = first.SectorProvider, first.SectorBlock
	if diff := cmp.Diff(first, again); diff != "" {
		t.Fatalf("sectors changed the marketplace (-before +after):\n%s", diff)
	}
	// A file of another chain is ignored.
	other := open(t, devchain.Config{Dir: shortDir(t), Alloc: cfg.Alloc, GenesisTime: head.Time})
	elsewhere := ethclient.NewClient(other.Attach())
	defer elsewhere.Close()
	third, err := devchain.Deploy(t.Context(), elsewhere, key, deploy)
	if err != nil || third.Block <= contracts.FirstDeploymentBlock {
		t.Fatalf("deployment on another chain is %+v (%v)", third, err)
	}
	deploy.File, deploy.VerifyingKey = "", make([][32]byte, 21)
	_, err = devchain.Deploy(t.Context(), elsewhere, key, deploy)
	if !errors.Is(err, contracts.ErrInvalidKey) {
		t.Fatalf("error %v, want ErrInvalidKey", err)
	}
}

func TestAFileOfTheDeploymentThatIsNotOfItsChainIsDamaged(t *testing.T) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("deployer")))
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	c := open(t, devchain.Config{Dir: dir, Alloc: map[common.Address]*big.Int{
		crypto.PubkeyToAddress(key.PublicKey): new(big.Int).Lsh(big.NewInt(1), 80),
	}})
	client := ethclient.NewClient(c.Attach())
	defer client.Close()
	rules := devchain.DefaultSectorConfig()
	deploy := devchain.DeployConfig{
		Market:       devchain.DefaultMarketConfig("key"),
		VerifyingKey: make([][32]byte, 22),
		File:         filepath.Join(dir, "deployment.json"),
		Sectors:      &rules,
	}
	if _, err := devchain.Deploy(t.Context(), client, key, deploy); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(deploy.File)
	if err != nil {
		t.Fatal(err)
	}
	head := c.Head()
	for _, name := range []string{"genesis", "token", "verifier", "marketplace", "sectorProvider"} {
		at := bytes.Index(whole, []byte(`"`+name+`":`)) + len(name) + len(`"": "0x`)
		hurt := bytes.Clone(whole)
		hurt[at+3] = map[bool]byte{true: '1', false: '0'}[hurt[at+3] == '0'] // Another digit.
		if err := os.WriteFile(deploy.File, hurt, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := devchain.Deploy(t.Context(), client, key, deploy); !errors.Is(err, devchain.ErrDamaged) {
			t.Errorf("with another %s: error %v, want ErrDamaged", name, err)
		}
	}
	if c.Head() != head {
		t.Error("something was deployed over a damaged file")
	}
}
