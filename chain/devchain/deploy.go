package devchain

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// deployGas is enough for each contract: the marketplace needs 4.3 million.
const deployGas = 8_000_000

// keyWords is the number of words in a verifying key for storage proofs.
const keyWords = 2 + 3*4 + 2*(contracts.PublicInputs+1)

// DeployConfig says what to deploy.
type DeployConfig struct {
	Market events.MarketConfig
	// VerifyingKey are the words of the verifier's key, big-endian: alpha (x, y); beta,
	// gamma, delta (x.real, x.imag, y.real, y.imag each); the four points for the
	// inputs (x, y each).
	VerifyingKey [][32]byte
	// VerifierCode replaces the verifier by another contract; for tests only.
	VerifierCode []byte
	// Sectors are the rules of a contract for sectors, which takes its deposits in the same token;
	// nil: none is deployed. One that the file remembers keeps its rules.
	Sectors *bindings.SectorConfig
	// File remembers the deployment; empty: nothing is remembered.
	File string
	// Fund gives the deployer wei when there is something to deploy; nil: it has enough.
	Fund func(ctx context.Context, deployer events.Address) error
}

// Deployment says where the contracts are.
type Deployment struct {
	Token       events.Address
	Verifier    events.Address
	Marketplace events.Address
	// Block is the block of the marketplace's deployment.
	Block uint64
	// SectorProvider is the contract for sectors, and SectorBlock the block of its deployment;
	// zero: there is none.
	SectorProvider events.Address
	SectorBlock    uint64
}

// deploymentJSON is the file.
type deploymentJSON struct {
	Genesis     common.Hash    `json:"genesis"`
	Token       common.Address `json:"token"`
	Verifier    common.Address `json:"verifier"`
	Marketplace common.Address `json:"marketplace"`
	Block       uint64         `json:"block"`
	// Since there are sectors; older files do not have it.
	SectorProvider common.Address `json:"sectorProvider,omitzero"`
	SectorBlock    uint64         `json:"sectorBlock,omitzero"`
}

// DefaultMarketConfig suits a chain on one machine: periods of 20 blocks, so that a trial does not
// take all day. keyHash names the proving key.
func DefaultMarketConfig(keyHash string) events.MarketConfig {
	return events.MarketConfig{
		RepairRewardPercentage:    10,
		MaxNumberOfSlashes:        2,
		SlashPercentage:           20,
		ValidatorRewardPercentage: 20,
		Proofs: events.ProofConfig{
			Period:          20 * time.Second,
			Timeout:         10 * time.Second,
			Downtime:        64,
			DowntimeProduct: 67,
			KeyHash:         keyHash,
		},
		MaxReservations:      3,
		RequestDurationLimit: 30 * 24 * time.Hour,
	}
}

// DefaultSectorConfig suits a chain on one machine: periods of 60 blocks with six windows, and
// sectors that live for some minutes at least. The deposit is a ten-millionth of a token per KiB.
func DefaultSectorConfig() bindings.SectorConfig {
	return bindings.SectorConfig{
		Sealing: bindings.SealingConfig{
			TicketLookback: 5,
			ChallengeDelay: 10,
			CommitDue:      600,
			MinLife:        120,
			MaxLife:        30 * 24 * 60 * 60,
			Leaves:         44,
		},
		Proving: bindings.ProvingConfig{
			PeriodBlocks:     60,
			Deadlines:        6,
			PartitionSectors: 10,
			FaultCutoff:      3,
			Leaves:           10,
			MaxFaultPeriods:  14,
		},
		Deposits: bindings.DepositConfig{
			DepositPerByte: 100_000_000,
			VoidFee:        2000,
			MissedFee:      500,
			FaultFee:       100,
			TerminationFee: 2000,
		},
		Possession: bindings.ProofTypeConfig{Taken: true, RewardPerByte: 100_000},
		Simulated:  bindings.ProofTypeConfig{Taken: true},
	}
}

// Deploy deploys token, verifier and marketplace on a development chain, and a contract for sectors
// if there is a configuration for it. If there is a remembered deployment it returns that instead, or
// ErrDamaged if its contracts are not on the chain. The client must speak over IPC or come from
// Attach, so that each contract gets a block at once. The deployer must own wei, or get them by Fund.
// After an interruption, deploy again.
func Deploy(
	ctx context.Context, client *ethclient.Client, deployer *ecdsa.PrivateKey, cfg DeployConfig,
) (Deployment, error) {
	genesis, err := client.HeaderByNumber(ctx, new(big.Int))
	if err != nil {
		return Deployment{}, fmt.Errorf("deploy: %w", err)
	}
	d, found, err := remembered(ctx, client, cfg.File, genesis.Hash())
	if err != nil {
		return Deployment{}, err
	}
	sectors := cfg.Sectors != nil && d.SectorProvider == common.Address{}
	if found && !sectors {
		return d.public(), nil
	}
	if cfg.Fund != nil {
		if err := cfg.Fund(ctx, events.Address(crypto.PubkeyToAddress(deployer.PublicKey))); err != nil {
			return Deployment{}, fmt.Errorf("deploy: %w", err)
		}
	}
	if !found {
		d = deploymentJSON{Genesis: genesis.Hash()}
		if err := d.makeMarket(ctx, client, deployer, cfg); err != nil {
			return Deployment{}, err
		}
	}
	if cfg.Sectors != nil {
		if err := d.makeSectors(ctx, client, deployer, *cfg.Sectors); err != nil {
			return Deployment{}, err
		}
	}
	if cfg.File != "" {
		if err := writeFile(cfg.File, d); err != nil {
			return Deployment{}, fmt.Errorf("remember deployment: %w", err)
		}
	}
	return d.public(), nil
}

func (d *deploymentJSON) makeMarket(
	ctx context.Context, client *ethclient.Client, deployer *ecdsa.PrivateKey, cfg DeployConfig,
) (err error) {
	if d.Token, _, err = create(ctx, client, deployer, contracts.TokenCreation()); err != nil {
		return fmt.Errorf("deploy token: %w", err)
	}
	code, err := verifierCode(cfg)
	if err != nil {
		return fmt.Errorf("deploy verifier: %w", err)
	}
	if d.Verifier, _, err = create(ctx, client, deployer, code); err != nil {
		return fmt.Errorf("deploy verifier: %w", err)
	}
	code, err = contracts.MarketplaceCreation(marketConfig(cfg.Market), d.Token, d.Verifier)
	if err != nil {
		return fmt.Errorf("deploy marketplace: %w", err)
	}
	if d.Marketplace, d.Block, err = create(ctx, client, deployer, code); err != nil {
		return fmt.Errorf("deploy marketplace: %w", err)
	}
	return nil
}

func (d *deploymentJSON) makeSectors(
	ctx context.Context, client *ethclient.Client, deployer *ecdsa.PrivateKey, config bindings.SectorConfig,
) error {
	code, err := contracts.SectorProviderCreation(config, d.Token)
	if err != nil {
		return fmt.Errorf("deploy sector provider: %w", err)
	}
	if d.SectorProvider, d.SectorBlock, err = create(ctx, client, deployer, code); err != nil {
		return fmt.Errorf("deploy sector provider: %w", err)
	}
	return nil
}

func (d deploymentJSON) public() Deployment {
	return Deployment{
		Token: events.Address(d.Token), Verifier: events.Address(d.Verifier),
		Marketplace: events.Address(d.Marketplace), Block: d.Block,
		SectorProvider: events.Address(d.SectorProvider), SectorBlock: d.SectorBlock,
	}
}

// remembered reads the file and checks that its contracts are on the chain. A chain that is shorter than
// the file remembers was begun anew, or lost its end: there the contracts are deployed again. On a
// longer one they must be where the file says, or one of the two is damaged.
func remembered(
	ctx context.Context, client *ethclient.Client, file string, genesis common.Hash,
) (d deploymentJSON, found bool, err error) {
	none := deploymentJSON{}
	if file == "" {
		return none, false, nil
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return none, false, nil
	}
	if err != nil {
		return none, false, fmt.Errorf("read deployment: %w", err)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return none, false, fmt.Errorf("read deployment: %w: %s: %w", ErrDamaged, file, err)
	}
	head, err := client.BlockNumber(ctx)
	if err != nil {
		return none, false, fmt.Errorf("read deployment: %w", err)
	}
	if head < d.Block {
		return none, false, nil
	}
	if d.Genesis != genesis {
		return none, false, fmt.Errorf("%w: %s is of a chain with genesis %s, this chain has %s",
			ErrDamaged, file, d.Genesis, genesis)
	}
	if head < d.SectorBlock {
		d.SectorProvider, d.SectorBlock = common.Address{}, 0
	}
	return d, true, d.present(ctx, client, file)
}

// present refuses, with ErrDamaged, a deployment with a contract that is not on the chain.
func (d deploymentJSON) present(ctx context.Context, client *ethclient.Client, file string) error {
	addresses := []common.Address{d.Token, d.Verifier, d.Marketplace}
	if d.SectorBlock > 0 {
		addresses = append(addresses, d.SectorProvider)
	}
	for _, address := range addresses {
		code, err := client.CodeAt(ctx, address, nil)
		if err != nil {
			return fmt.Errorf("look for %s: %w", address, err)
		}
		if len(code) == 0 {
			return fmt.Errorf("%w: %s names the contract %s, which is not on the chain", ErrDamaged, file, address)
		}
	}
	return nil
}

// create sends the creation of a contract and seals its block.
func create(
	ctx context.Context, client *ethclient.Client, key *ecdsa.PrivateKey, code []byte,
) (common.Address, uint64, error) {
	from := crypto.PubkeyToAddress(key.PublicKey)
	nonce, err := client.NonceAt(ctx, from, nil)
	if err != nil {
		return common.Address{}, 0, err
	}
	head, err := client.HeaderByNumber(ctx, nil)
	if err != nil {
		return common.Address{}, 0, err
	}
	tip := big.NewInt(params.GWei)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(ChainID)),
		&types.DynamicFeeTx{
			ChainID: big.NewInt(ChainID), Nonce: nonce, GasTipCap: tip,
			GasFeeCap: new(big.Int).Add(new(big.Int).Lsh(head.BaseFee, 1), tip),
			Gas:       deployGas, Data: code,
		})
	if err != nil {
		return common.Address{}, 0, fmt.Errorf("sign: %w", err)
	}
	if err := client.SendTransaction(ctx, tx); err != nil {
		return common.Address{}, 0, err
	}
	if err := client.Client().CallContext(ctx, nil, "devchain_seal", 1); err != nil {
		return common.Address{}, 0, fmt.Errorf("seal a block: %w", err)
	}
	receipt, err := client.TransactionReceipt(ctx, tx.Hash())
	if err != nil {
		return common.Address{}, 0, err
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return common.Address{}, 0, fmt.Errorf("%w: transaction %s", events.ErrReverted, tx.Hash())
	}
	return receipt.ContractAddress, receipt.BlockNumber.Uint64(), nil
}

func verifierCode(cfg DeployConfig) ([]byte, error) {
	if cfg.VerifierCode != nil {
		return cfg.VerifierCode, nil
	}
	if n := len(cfg.VerifyingKey); n != keyWords {
		return nil, fmt.Errorf("%w: %d words, want %d", contracts.ErrInvalidKey, n, keyWords)
	}
	next := 0
	word := func() *big.Int {
		next++
		return new(big.Int).SetBytes(cfg.VerifyingKey[next-1][:])
	}
	g1 := func() bindings.G1Point { x := word(); return bindings.G1Point{X: x, Y: word()} }
	fp2 := func() bindings.Fp2Element { r := word(); return bindings.Fp2Element{Real: r, Imag: word()} }
	g2 := func() bindings.G2Point { x := fp2(); return bindings.G2Point{X: x, Y: fp2()} }
	key := bindings.VerifyingKey{Alpha1: g1()}
	key.Beta2, key.Gamma2, key.Delta2 = g2(), g2(), g2()
	for range contracts.PublicInputs + 1 {
		key.Ic = append(key.Ic, g1())
	}
	return contracts.VerifierCreation(key)
}

func marketConfig(c events.MarketConfig) bindings.MarketplaceConfig {
	return bindings.MarketplaceConfig{
		Collateral: bindings.CollateralConfig{
			RepairRewardPercentage:    c.RepairRewardPercentage,
			MaxNumberOfSlashes:        c.MaxNumberOfSlashes,
			SlashPercentage:           c.SlashPercentage,
			ValidatorRewardPercentage: c.ValidatorRewardPercentage,
		},
		Proofs: bindings.ProofConfig{
			Period:          uint64(c.Proofs.Period / time.Second),
			Timeout:         uint64(c.Proofs.Timeout / time.Second),
			Downtime:        c.Proofs.Downtime,
			DowntimeProduct: c.Proofs.DowntimeProduct,
			ZkeyHash:        c.Proofs.KeyHash,
		},
		Reservations:         bindings.SlotReservationsConfig{MaxReservations: c.MaxReservations},
		RequestDurationLimit: uint64(c.RequestDurationLimit / time.Second),
	}
}
