package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// Config says which contract it is. Contract is required; zero values of the rest mean the defaults
// that are named.
type Config struct {
	Contract events.Address
	// DeployedAt is the contract's block, if it is known; no log is older.
	DeployedAt uint64
	// LogRange is the most blocks in one search for logs: default 1000.
	LogRange uint64
	// Gas is what calls take, before account.GasMargin is added: default MeasuredGas.
	Gas Gas
	// Allowance is what the contract may take from the account's tokens, renewed when it is used up:
	// default 2^96-1 base units.
	Allowance events.Amount
}

// Chain is the contract for one provider. All methods are safe for concurrent use and may be
// repeated. Errors other than the outcomes named in package events are temporary, except those of
// the transaction manager. It ends with the market that it shares with.
type Chain struct {
	cfg      Config
	conn     *rpc.Conn
	blocks   *rpc.BlockTime
	txs      account.Transactions
	account  common.Address
	contract common.Address
	token    common.Address
	abi      *bindings.SectorProvider
	finality *feed.Finality
	rules    bindings.SectorConfig
	config   events.SectorConfig

	// allowance is what the contract may take of the account's tokens.
	allowance *account.Allowance
}

// ErrNoContract: at the address there is no contract of sectors.
var ErrNoContract = errors.New("no contract of sectors")

// errOlderContract: the contract knows one type of proofs only.
var errOlderContract = errors.New("it is one that an older version deployed; use that version as long as it has " +
	"sectors, and then the address of a newer contract, or, on the embedded chain, a new data directory")

// New reads what the contract was made with. It answers ErrNoContract when it is none. The account's transaction
// manager must know the contract, by what Contract says of it.
func New(ctx context.Context, cfg Config, with account.Account) (*Chain, error) {
	if cfg.LogRange == 0 {
		cfg.LogRange = 1000
	}
	if cfg.Gas == (Gas{}) {
		cfg.Gas = MeasuredGas()
	}
	if cfg.Allowance.IsZero() {
		cfg.Allowance = account.Plenty()
	}
	c := &Chain{
		cfg: cfg, conn: with.Conn, blocks: with.Blocks, txs: with.Tx, finality: with.Finality,
		account: common.Address(with.Address), contract: common.Address(cfg.Contract),
		abi: bindings.NewSectorProvider(),
	}
	c.allowance = account.New(account.Config{
		Conn: c.conn, Account: c.account, Contract: c.contract, Token: func() common.Address { return c.token },
		Renew: cfg.Allowance, Gas: account.WithMargin(cfg.Gas.Approve),
	})
	head, err := c.conn.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the contract of sectors %s: %w", cfg.Contract, err)
	}
	// Calls that other contracts do not have come first: what they answer to the rest would look like a lie.
	var perByte *big.Int
	var reach uint64
	err = c.read(ctx, head.Hash, viewOf(c.contract, c.abi.PackDepositFor(1), c.abi.UnpackDepositFor, &perByte))
	if err == nil {
		err = c.read(ctx, head.Hash, viewOf(c.contract, c.abi.PackTicketReach(), c.abi.UnpackTicketReach, &reach))
		if err != nil && !errors.Is(err, rpc.ErrUnavailable) {
			err = fmt.Errorf("%w (%w)", errOlderContract, err)
		}
	}
	if err == nil {
		err = c.readRules(ctx, head, reach)
	}
	switch {
	case err != nil && errors.Is(err, rpc.ErrUnavailable):
		return nil, fmt.Errorf("read the contract of sectors %s: %w", cfg.Contract, err)
	case err != nil:
		return nil, fmt.Errorf("%w at %s that this version knows; correct the address: %w",
			ErrNoContract, cfg.Contract, err)
	}
	return c, nil
}

// readRules reads what the contract was made with.
func (c *Chain) readRules(ctx context.Context, head *rpc.Header, reach uint64) error {
	rules := viewOf(c.contract, c.abi.PackConfiguration(), c.abi.UnpackConfiguration, &c.rules)
	token := viewOf(c.contract, c.abi.PackToken(), c.abi.UnpackToken, &c.token)
	err := c.read(ctx, head.Hash,
		rules.Must(func() error { return contracts.CheckSectorConfig(c.rules) }), token.Must(token.IsAddress))
	c.config = configOf(c.rules, reach)
	return err
}

// proofTypes are the types of proofs as the contract numbers them.
var proofTypes = [...]string{
	contracts.ProofPossession: events.ProvesPossession, contracts.ProofSimulated: events.ProvesSimulated,
}

// commR is the CommR that a sector of a type must have; false: the contract does not know the type.
func (c *Chain) commR(proves string, number uint64, ticket, commD events.Hash) (events.Hash, bool) {
	switch proves {
	case events.ProvesPossession:
		return events.Hash(commd.CommR(c.account, number, ticket, commd.Node(commD))), true
	case events.ProvesSimulated:
		return events.Hash(commd.SimulatedCommR(c.account, number, ticket, commd.Node(commD))), true
	}
	return events.Hash{}, false
}

func configOf(c bindings.SectorConfig, ticketReach uint64) events.SectorConfig {
	rewards := map[string]events.Amount{}
	for i, of := range []bindings.ProofTypeConfig{c.Possession, c.Simulated} {
		if of.Taken {
			rewards[proofTypes[i]] = events.NewAmount(of.RewardPerByte)
		}
	}
	return events.SectorConfig{
		Rewards: rewards, TicketLookback: c.Sealing.TicketLookback, TicketValid: ticketReach,
		ChallengeDelay: c.Sealing.ChallengeDelay, SeedValid: contracts.BlockHashReach, CommitDue: c.Sealing.CommitDue,
		MinLife: c.Sealing.MinLife, MaxLife: c.Sealing.MaxLife,
		PeriodBlocks: c.Proving.PeriodBlocks, Deadlines: c.Proving.Deadlines, FaultCutoff: c.Proving.FaultCutoff,
		PartitionSize: c.Proving.PartitionSectors,
		SealLeaves:    int(c.Sealing.Leaves), DailyLeaves: int(c.Proving.Leaves),
		MaxFaultPeriods: uint64(c.Proving.MaxFaultPeriods), DepositPerByte: events.NewAmount(c.Deposits.DepositPerByte),
		MissedFee: uint64(c.Deposits.MissedFee), FaultFee: uint64(c.Deposits.FaultFee),
	}
}

// Account is the provider.
func (c *Chain) Account() events.Address { return events.Address(c.account) }

// Config is the contract's configuration; it was read by New.
func (c *Chain) Config(context.Context) (events.SectorConfig, error) { return c.config, nil }

// Head is the newest block.
func (c *Chain) Head(ctx context.Context) (events.Head, error) {
	return c.conn.Head(ctx)
}

// Final says whether a block, and what it holds, can be taken for permanent. The caller makes sure
// that the block is on the chain.
func (c *Chain) Final(ctx context.Context, number uint64) (bool, error) {
	return c.finality.Final(ctx, number)
}

// viewOf is a read of the contract or of its token, decoded into target.
func viewOf[T any](to common.Address, data []byte, unpack func([]byte) (T, error), target *T) *rpc.View {
	return rpc.NewView(to, data, outcomes.Of, unpack, target)
}

func (c *Chain) read(ctx context.Context, at common.Hash, views ...*rpc.View) error {
	return c.conn.Read(ctx, c.account, at, views...)
}
