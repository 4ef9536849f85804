// Package localchain is the embedded chain of a data directory, with the
// marketplace and the contract for sectors deployed: what `hostnode run` uses when no endpoint is
// configured, what `hostnode devchain` serves, and what the demonstration
// trades on.
//
// Its tokens are worth nothing: whoever opens the chain can make more. The
// proving keys are development keys, and the deployed verifier belongs to them.
package localchain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
)

// Config says where the chain is stored and what is deployed on it at first.
type Config struct {
	// Dir is the chain's directory, IPCPath its socket.
	Dir, IPCPath string
	// HTTPPort and WSPort open JSON-RPC on loopback; 0: closed.
	HTTPPort, WSPort int
	// Keys are the proving keys that belong to the verifier contract.
	Keys *prover.Keys
	// Proofs is the timing of a new marketplace; zero: the development default.
	Proofs events.ProofConfig
	// Sectors are the rules of a new contract for sectors; nil: the development default.
	Sectors *bindings.SectorConfig
}

// Chain is a running chain with its marketplace.
type Chain struct {
	*devchain.Chain
	devchain.Deployment
}

// ErrOtherKeys: the marketplace of this directory was deployed with other
// proving keys than these.
var ErrOtherKeys = errors.New("the marketplace was deployed with other proving keys")

// bankKey gives tokens away. It is public, like everything on a development chain.
func bankKey() *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("hostnode development deployer")))
	if err != nil {
		panic("localchain: the bank's key is not a key: " + err.Error())
	}
	return key
}

// ether is 10^18 wei.
func ether(n int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil))
}

// Open starts the chain and deploys the marketplace, and the contract for sectors, unless they are there. The latter
// has tokens for those that prove.
func Open(ctx context.Context, cfg Config) (*Chain, error) {
	c, err := devchain.Open(ctx, devchain.Config{
		Dir: cfg.Dir, IPCPath: cfg.IPCPath, HTTPPort: cfg.HTTPPort, WSPort: cfg.WSPort,
		Alloc: map[common.Address]*big.Int{crypto.PubkeyToAddress(bankKey().PublicKey): ether(1_000_000)},
	})
	if err != nil {
		return nil, fmt.Errorf("open the development chain: %w", err)
	}
	d, err := deploy(ctx, c, cfg)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	local := &Chain{c, d}
	if err := local.fillPool(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return local, nil
}

// deploy deploys the marketplace from an account that is used for nothing else and
// differs from chain to chain. So no two chains have it at the same address, which names
// its stream: the chains of several demonstrations may share an event store.
func deploy(ctx context.Context, c *devchain.Chain, cfg Config) (devchain.Deployment, error) {
	deployer, err := crypto.GenerateKey()
	if err != nil {
		return devchain.Deployment{}, fmt.Errorf("make the deployer's key: %w", err)
	}
	market := devchain.DefaultMarketConfig(cfg.Keys.Hash())
	if cfg.Proofs.Period > 0 {
		market.Proofs = cfg.Proofs
		market.Proofs.KeyHash = cfg.Keys.Hash()
	}
	sectors := devchain.DefaultSectorConfig()
	if cfg.Sectors != nil {
		sectors = *cfg.Sectors
	}
	client := ethclient.NewClient(c.Attach())
	defer client.Close()
	d, err := devchain.Deploy(ctx, client, deployer, devchain.DeployConfig{
		Market: market, VerifyingKey: cfg.Keys.VerifyingKey().Words(), Sectors: &sectors,
		File: filepath.Join(cfg.Dir, deploymentFile),
		Fund: func(ctx context.Context, deployer events.Address) error {
			return c.Fund(ctx, deployer, events.NewAmount(1e18))
		},
	})
	if err != nil {
		return d, fmt.Errorf("deploy the marketplace: %w", err)
	}
	return d, sameKeys(ctx, c, d, cfg.Keys.Hash())
}

// Whole refuses, with devchain.ErrDamaged, a directory of a chain that was used but lacks
// what its first start makes.
func Whole(dir string) error {
	for _, name := range []string{"genesis.json", deploymentFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%w: %s: %w", devchain.ErrDamaged, dir, err)
		}
	}
	return nil
}

// Deployed reports whether the contracts were deployed on the chain of a directory.
func Deployed(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, deploymentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// deploymentFile says where the marketplace is.
const deploymentFile = "deployment.json"

// pollPending is how often waiting transactions are looked for.
const pollPending = 5 * time.Millisecond

// WhileSealing runs a task that sends transactions, and seals a block for each.
// It is for times when nobody else paces the chain.
func (c *Chain) WhileSealing(ctx context.Context, task func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- task(ctx) }()
	ticker := time.NewTicker(pollPending)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
		}
		if c.Pending() == 0 {
			continue
		}
		if _, err := c.Seal(ctx, 1); err != nil {
			cancel()
			return errors.Join(err, <-done)
		}
	}
}

func sameKeys(ctx context.Context, c *devchain.Chain, d devchain.Deployment, hash string) error {
	r, err := Remote{c.IPCPath(), d.Marketplace}.Client(ctx, bankKey())
	if err != nil {
		return fmt.Errorf("read the marketplace: %w", err)
	}
	defer r.Close()
	cfg, err := r.Config(ctx)
	if err != nil {
		return fmt.Errorf("read the marketplace: %w", err)
	}
	if cfg.Proofs.KeyHash != hash {
		return fmt.Errorf("%w: it wants %.16s..., at hand are %.16s...; restore the keys, "+
			"or begin again with an empty data directory", ErrOtherKeys, cfg.Proofs.KeyHash, hash)
	}
	return nil
}

// Client connects to the marketplace with another account, and makes sure that
// the account has gas and tokens.
func (c *Chain) Client(ctx context.Context, key *ecdsa.PrivateKey) (*chain.Requester, error) {
	return Remote{c.IPCPath(), c.Marketplace}.Client(ctx, key)
}

// Provide makes sure that an account has at least this many wei and tokens.
func (c *Chain) Provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error {
	return c.WhileSealing(ctx, func(ctx context.Context) error { return c.provide(ctx, account, wei, tokens) })
}

func (c *Chain) provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error {
	bank, err := c.Client(ctx, bankKey())
	if err != nil {
		return err
	}
	defer bank.Close()
	has, err := bank.BalanceOf(ctx, account)
	if err != nil {
		return fmt.Errorf("read the balance of %s: %w", account, err)
	}
	if has.Wei.Less(wei) {
		if err := c.Fund(ctx, account, wei.Sub(has.Wei)); err != nil {
			return fmt.Errorf("fund %s: %w", account, err)
		}
	}
	if has.Tokens.Less(tokens) {
		if err := bank.Mint(ctx, account, tokens.Sub(has.Tokens)); err != nil {
			return fmt.Errorf("mint tokens for %s: %w", account, err)
		}
	}
	return nil
}
