package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// ErrConfig: the configuration cannot work.
var ErrConfig = errors.New("invalid chain configuration")

// Gas are the least gas limits of our transactions. The node is asked for an estimate, too, because some chains
// count data in gas; but that may be one of the newest block, where a proof for the next one fails, and too little
// gas looks like a wrong proof (spec/ethereum.md §3).
type Gas struct {
	Reserve uint64 // default 142,500
	Fill    uint64 // default 915,000
	Proof   uint64 // default 510,000
	Free    uint64 // default 175,500
	Approve uint64 // default 70,500
	Mark    uint64 // default 247,500
}

// MeasuredGas is the most gas that the calls used in measurements under the rules of Prague and
// Osaka, with this contract and the network's own (spec/ethereum.md §3). A test of the contracts
// checks it. Chains with other prices of gas need other limits.
func MeasuredGas() Gas {
	return Gas{Reserve: 95_000, Fill: 610_000, Proof: 340_000, Free: 117_000, Approve: 47_000, Mark: 165_000}
}

// DefaultGas is MeasuredGas with account.GasMargin added.
func DefaultGas() Gas {
	g := MeasuredGas()
	for _, limit := range []*uint64{&g.Reserve, &g.Fill, &g.Proof, &g.Free, &g.Approve, &g.Mark} {
		*limit = account.WithMargin(*limit)
	}
	return g
}

// Config says how to reach the contract. Endpoint, Marketplace and Key are required, for reading only, or
// with a Signer, Account instead of Key; other zero values mean the defaults named here.
type Config struct {
	// Endpoint is a ws, http or https URL, or the path of a unix socket.
	Endpoint string
	// Fallbacks are further endpoints of the same chain. They are tried in this order when the one
	// in use does not answer.
	Fallbacks   []string
	Marketplace events.Address
	// RewardRecipient gets the rewards of sales; zero: the account. Collateral always returns to
	// the account.
	RewardRecipient events.Address
	// Finalized demands, in addition to the confirmations, that the chain's tag finalized has reached a
	// block before something irreversible follows. On chains without the tag, confirmations are
	// enough.
	Finalized bool
	// SilentBlocks is the number of block times without a new block after which the connection is
	// opened again: default 5. It is never sooner than LeastSilence, default 15 s.
	SilentBlocks uint64
	LeastSilence time.Duration
	// ReturnAfter is how long a fallback is used before the endpoints before it are tried again:
	// default 1 min.
	ReturnAfter time.Duration
	// Key signs for the host's account, which nobody else uses.
	Key *ecdsa.PrivateKey
	// Signer signs for Account instead of Key.
	Signer tx.Signer
	// Account is the host's account: default that of Key. Without Key and Signer, its slots are read.
	Account events.Address
	// ChainID and Genesis are what the node must have, unless they are zero.
	ChainID uint64
	Genesis events.Hash
	// Confirmations is the number of blocks, including the transaction's own, after which a
	// transaction counts: 1 to 100, default 1.
	Confirmations uint64
	Gas           Gas
	// Allowance is what the marketplace may take from our tokens; it is renewed when used up.
	// Default 2^96-1 base units.
	Allowance events.Amount
	// CallTimeout is for one request to the node: default 10 s. It grows where a node is slow.
	CallTimeout time.Duration
	// LongestRedialWait is the longest pause between attempts to connect, and between two questions for one
	// signature: default 15 s.
	LongestRedialWait time.Duration
	// BlockTime is the usual time between blocks, in chain time; 0: it is measured.
	BlockTime time.Duration
	// PollInterval is the pause between two looks for a new block; 0: a share of the block time.
	PollInterval time.Duration
	// StuckBlocks is the number of blocks after which a higher fee is offered: default 5. It
	// shrinks as a deadline comes near.
	StuckBlocks uint64
	// MaxInFlight is the most transactions that are sent and not mined, 1 to 256: default 16. A
	// quarter is reserved for proofs. What a host needs follows from its duties: each period brings
	// slots/probability proofs, nearly all at its beginning, and they must be mined in the blocks
	// that are left once they are made; so at least slots/probability, divided by half of the
	// blocks in a period. Every node holds 16 transactions of one account; for more, choose a node
	// that does.
	MaxInFlight uint64
	// FillHold is the number of blocks before a proof is due in which nothing else is sent first:
	// default 8.
	FillHold uint64
	// ExactAllowance gives the marketplace no larger allowance than the fills under way need, at
	// the price of an approval for each. Allowance is then not used.
	ExactAllowance bool
	// MaxTipWei is the highest tip of a first attempt, in wei per gas, whatever a node suggests:
	// default 20 gwei. Replacements may offer more.
	MaxTipWei uint64
	// MaxFeeCapWei is the highest price, in wei per gas: default 500 gwei. MinTipWei is the lowest
	// tip, in wei per gas: default 0.01 gwei.
	MaxFeeCapWei, MinTipWei uint64
	// MaxGas is the highest gas limit that an estimate leads to: default 16,777,216, the most that Ethereum takes
	// in one transaction (EIP-7825). Config.Gas counts even if it is more.
	MaxGas uint64
	// LogRange is the most blocks in one search for logs: default 1000.
	LogRange uint64
	// DeployedAt is the contract's block, if known; there are no older logs.
	DeployedAt uint64
	// TakeOver lets the host begin although the chain shows that the account was used elsewhere,
	// and go on when it shows later that another host uses it.
	TakeOver bool
	// Began is when this host was started: default now. Of two hosts with one account the newer one
	// ends.
	Began time.Time
	// UsedElsewhere, if set, is called when another process used the account, at most once an hour.
	// It must not block.
	UsedElsewhere func(tx.ForeignUse)
	// NotBelieved, if set, is called when a node gave an impossible answer: the first time, and
	// then at most once in the time for which that endpoint is tried last. It must not block.
	NotBelieved func(rpc.AnswerError)
	// Waits, if set, lets Dial, DialReader and Own try until an endpoint answers, and is called after each round with
	// the reason why none does. It must not block.
	Waits func(error)
	// FeeLimited, if set, is called when MaxFeeCapWei, or a node's refusal, begins to hold transactions up. It must not
	// block.
	FeeLimited func(tx.FeeLimit)
	// OtherContracts are further contracts that the account calls, through Transactions.
	OtherContracts []tx.Contract
	// RecordFirst is for an account that several members of a host own in turn: nothing is sent
	// before the account's stream has it, except proofs while the event store is away.
	RecordFirst bool
	// UnknownNonceBlocks is for how many blocks, with RecordFirst, a transaction in the node's pool
	// that the record does not know is left alone: default 30.
	UnknownNonceBlocks uint64
	// Epoch and Node go into the metadata of the account's events.
	Epoch uint64
	Node  string
	Log   logrus.FieldLogger // default: silent
}

// sends says that there is a signer: a key, or another process.
func (cfg *Config) sends() bool { return cfg.Key != nil || cfg.Signer != nil }

const (
	maxConfirmations = 100 // nodes keep the state of 128 blocks
	// mostInFlight limits MaxInFlight: the receipts of all transactions, and sending them again,
	// must fit a few requests per block.
	mostInFlight = 256
)

func (cfg *Config) complete() error {
	switch {
	case cfg.Endpoint == "":
		return fmt.Errorf("%w: no endpoint", ErrConfig)
	case cfg.Marketplace.Zero():
		return fmt.Errorf("%w: no marketplace address", ErrConfig)
	case cfg.Confirmations > maxConfirmations:
		return fmt.Errorf("%w: %d confirmations, the limit is %d",
			ErrConfig, cfg.Confirmations, maxConfirmations)
	case cfg.MaxInFlight > mostInFlight:
		return fmt.Errorf("%w: %d transactions in flight, the limit is %d",
			ErrConfig, cfg.MaxInFlight, mostInFlight)
	}
	if cfg.Key != nil && cfg.Signer != nil {
		return fmt.Errorf("%w: both a key and a signer", ErrConfig)
	}
	if cfg.Key != nil {
		of := events.Address(crypto.PubkeyToAddress(cfg.Key.PublicKey))
		if orDefault(&cfg.Account, of); cfg.Account != of {
			return fmt.Errorf("%w: the account is %s, and the key is that of %s; correct one of them",
				ErrConfig, cfg.Account, of)
		}
	}
	orDefault(&cfg.Confirmations, 1)
	gas := DefaultGas()
	orDefault(&cfg.Gas.Reserve, gas.Reserve)
	orDefault(&cfg.Gas.Fill, gas.Fill)
	orDefault(&cfg.Gas.Proof, gas.Proof)
	orDefault(&cfg.Gas.Free, gas.Free)
	orDefault(&cfg.Gas.Approve, gas.Approve)
	orDefault(&cfg.Gas.Mark, gas.Mark)
	orDefault(&cfg.CallTimeout, 10*time.Second)
	orDefault(&cfg.LongestRedialWait, 15*time.Second)
	orDefault(&cfg.StuckBlocks, 5)
	orDefault(&cfg.MaxInFlight, 16)
	orDefault(&cfg.FillHold, 8)
	orDefault(&cfg.SilentBlocks, 5)
	orDefault(&cfg.LeastSilence, 15*time.Second)
	orDefault(&cfg.ReturnAfter, time.Minute)
	orDefault(&cfg.MaxFeeCapWei, 500_000_000_000)
	orDefault(&cfg.MinTipWei, 10_000_000)
	orDefault(&cfg.MaxTipWei, 20_000_000_000)
	orDefault(&cfg.MaxGas, 1<<24)
	orDefault(&cfg.LogRange, 1000)
	orDefault(&cfg.Began, time.Now())
	switch {
	case cfg.ExactAllowance:
		cfg.Allowance = events.Amount{}
	case cfg.Allowance.IsZero():
		cfg.Allowance = account.Plenty()
	}
	if cfg.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		cfg.Log = silent
	}
	return nil
}

// connection is the part about the connection.
func (cfg *Config) connection(doubted func(context.Context)) rpc.Config {
	return rpc.Config{
		Endpoints:   append([]string{cfg.Endpoint}, cfg.Fallbacks...),
		CallTimeout: cfg.CallTimeout, LongestWait: cfg.LongestRedialWait, ReturnAfter: cfg.ReturnAfter,
		Want: rpc.Identity{ChainID: cfg.ChainID, Genesis: cfg.Genesis},
		Log:  cfg.Log, NotBelieved: cfg.NotBelieved, Doubted: doubted,
	}
}

func orDefault[T comparable](v *T, byDefault T) {
	var zero T
	if *v == zero {
		*v = byDefault
	}
}
