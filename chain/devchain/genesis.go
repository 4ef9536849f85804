package devchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/internal/durable"
)

// ChainID is the id of every development chain.
const ChainID = 1337

// gasLimit is the gas of a block, as on public chains in 2025.
const gasLimit = 60_000_000

// genesisFile records what the genesis block was made of: with any other content, the node would
// refuse the database.
const genesisFile = "genesis.json"

// genesis is the content of the file.
type genesis struct {
	// Time is the genesis block's timestamp in Unix seconds.
	Time uint64 `json:"timestamp"`
	// Alloc are the first balances in wei.
	Alloc map[common.Address]*big.Int `json:"alloc"`
}

// loadGenesis reads the recorded genesis, or records one on the first start. Blocks without their genesis are
// ErrDamaged: another one would not fit them.
func loadGenesis(cfg Config) (genesis, error) {
	path := filepath.Join(cfg.Dir, genesisFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		blocks := filepath.Join(cfg.Dir, instanceName, "chaindata")
		if _, err := os.Stat(filepath.Join(blocks, "CURRENT")); err == nil {
			return genesis{}, fmt.Errorf("%w: %s is missing, and %s has blocks", ErrDamaged, path, blocks)
		}
		g := genesis{Time: uint64(cfg.GenesisTime.Unix()), Alloc: maps.Clone(cfg.Alloc)}
		return g, writeFile(path, g)
	}
	if err != nil {
		return genesis{}, fmt.Errorf("read genesis: %w", err)
	}
	var g genesis
	if err := json.Unmarshal(raw, &g); err != nil {
		return genesis{}, fmt.Errorf("read genesis: %w: %s: %w", ErrDamaged, path, err)
	}
	return g, nil
}

// block is the genesis block for the node.
func (g genesis) block() *core.Genesis {
	rules := *params.AllDevChainProtocolChanges
	rules.ChainID = big.NewInt(ChainID)
	rules.BogotaTime, rules.AmsterdamTime = nil, nil
	alloc := core.SystemContractAllocs()
	for address, wei := range g.Alloc {
		alloc[address] = types.Account{Balance: wei}
	}
	// The faucet owns more than it can ever give away.
	alloc[crypto.PubkeyToAddress(faucetKey().PublicKey)] = types.Account{
		Balance: new(big.Int).Lsh(big.NewInt(1), 200),
	}
	return &core.Genesis{
		Config:    &rules,
		Timestamp: g.Time,
		GasLimit:  gasLimit,
		Alloc:     alloc,
	}
}

// writeFile writes v as JSON, all of it or nothing.
func writeFile(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := durable.Replace(path, append(raw, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
