package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// ErrConfig: the configuration cannot work.
var ErrConfig = errors.New("invalid chain configuration")

// Gas are the gas limits of our transactions. They are fixed, not estimated: an
// estimate is made on the newest block and fails for a proof that is right for the next
// one, and too little gas looks like a wrong proof (spec/ethereum.md §3).
type Gas struct {
	Reserve uint64 // default 142,500
	Fill    uint64 // default 915,000
	Proof   uint64 // default 510,000
	Free    uint64 // default 175,500
	Approve uint64 // default 70,500
	Mark    uint64 // default 247,500
}

// GasMargin is how much more gas than a call was measured to take it may use, in percent.
// It covers the refunds at the end of a call, at most a fifth of what it used, which a
// measurement does not show, and contracts that differ a little.
const GasMargin = 50

// MeasuredGas is the most that the calls were measured to take, under the rules of Prague
// and Osaka, with this contract and the network's own (spec/ethereum.md §3); a test of the
// contracts holds them to it. Chains with other prices of gas need other limits.
func MeasuredGas() Gas {
	return Gas{Reserve: 95_000, Fill: 610_000, Proof: 340_000, Free: 117_000, Approve: 47_000, Mark: 165_000}
}

// DefaultGas is what was measured, and GasMargin.
func DefaultGas() Gas {
	g := MeasuredGas()
	for _, limit := range []*uint64{&g.Reserve, &g.Fill, &g.Proof, &g.Free, &g.Approve, &g.Mark} {
		*limit += *limit * GasMargin / 100
	}
	return g
}

// Config says how to reach the contract. Endpoint, Marketplace and Key are required;
// zero values of the rest mean the defaults that are named.
type Config struct {
	// Endpoint is a ws, http or https URL, or the path of a unix socket.
	Endpoint string
	// Fallbacks are further endpoints of the same chain, in the order in which they are
	// tried when the one in use does not answer.
	Fallbacks   []string
	Marketplace events.Address
	// RewardRecipient gets the rewards of sales; zero: the account. The collateral always
	// comes back to the account.
	RewardRecipient events.Address
	// Finalized demands the chain's tag finalized, besides the confirmations, of the
	// block of what cannot be taken back. Chains without the tag go by confirmations.
	Finalized bool
	// SilentBlocks is after how many block times without a new block the connection is
	// made anew: default 5. It is never sooner than LeastSilence, default 15 s.
	SilentBlocks uint64
	LeastSilence time.Duration
	// ReturnAfter is after how long on a fallback the endpoints before it are tried again:
	// default 1 min.
	ReturnAfter time.Duration
	// Key signs for the host's account, which is used by nobody else.
	Key *ecdsa.PrivateKey
	// ChainID and Genesis are what the node must have, when they are not zero.
	ChainID uint64
	Genesis events.Hash
	// Confirmations is how many blocks, the transaction's own included, make a
	// transaction count: 1 to 100, default 1.
	Confirmations uint64
	Gas           Gas
	// Allowance is what the marketplace may take from our tokens, renewed when it is
	// used up. Default 2^96-1 base units.
	Allowance events.Amount
	// CallTimeout is for one request to the node: default 10 s.
	CallTimeout time.Duration
	// LongestRedialWait is between attempts to connect: default 15 s.
	LongestRedialWait time.Duration
	// BlockTime is how far apart blocks usually are in chain time; 0: it is measured.
	BlockTime time.Duration
	// PollInterval is how often a new block is looked for; 0: as the block time demands.
	PollInterval time.Duration
	// StuckBlocks is after how many blocks a higher fee is offered: default 5. It
	// becomes less as a deadline comes near.
	StuckBlocks uint64
	// MaxInFlight is the most transactions that are sent and not mined, 1 to 256:
	// default 16. A quarter of them is kept for proofs. What a host needs follows from
	// its duties: a period brings slots/probability proofs, nearly all at its beginning,
	// and they must be mined in the blocks that are left when they are made; so at least
	// slots/probability divided by half of the blocks in a period. Nodes hold 16 of an
	// account for sure; with more, use a node that holds them.
	MaxInFlight uint64
	// FillHold is within how many blocks before a proof is due nothing else is sent
	// first: default 8.
	FillHold uint64
	// ExactAllowance lets the marketplace take no more of our tokens than the fills under
	// way need, at the price of an approval for each; Allowance is not used then.
	ExactAllowance bool
	// MaxTipWei is the most wei for one gas that a first offer tips, whatever a node suggests:
	// default 20 gwei. What waits too long offers more.
	MaxTipWei uint64
	// MaxFeeCapWei is the most wei for one gas: default 500 gwei. MinTipWei is the
	// least tip for one gas: default 0.01 gwei.
	MaxFeeCapWei, MinTipWei uint64
	// LogRange is the most blocks in one search for logs: default 1000.
	LogRange uint64
	// DeployedAt is the contract's block, if it is known; no log is older.
	DeployedAt uint64
	// TakeOver begins although the chain shows that the account was used elsewhere, and
	// does not end when it shows later that another host uses it.
	TakeOver bool
	// Began is since when this host runs: default now. Of two hosts with one account the
	// newer one ends.
	Began time.Time
	// UsedElsewhere, if it is set, is told when somebody else used the account, at most
	// once an hour. It must not block.
	UsedElsewhere func(tx.ForeignUse)
	// NotBelieved, if it is set, is told when a node said what cannot be true: when that
	// begins, and then at most once in the time for which it is asked last. It must not block.
	NotBelieved func(rpc.AnswerError)
	// Waits, if it is set, has Dial try until an endpoint answers, and is told after each
	// round why none does. It must not block.
	Waits func(error)
	// FeeLimited, if it is set, is told when MaxFeeCapWei begins to hold up what must be
	// sent. It must not block.
	FeeLimited func(tx.FeeLimit)
	// OtherContracts are those that the same account calls besides, through Transactions.
	OtherContracts []tx.Contract
	// Epoch and Node go into the metadata of the account's events.
	Epoch uint64
	Node  string
	Log   logrus.FieldLogger // default: silent
}

const (
	maxConfirmations = 100 // nodes keep the state of 128 blocks
	// mostInFlight is the most that MaxInFlight may be: their receipts and their
	// rebroadcast must fit a few requests per block.
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
	orDefault(&cfg.LogRange, 1000)
	orDefault(&cfg.Began, time.Now())
	if cfg.Allowance.IsZero() {
		cfg.Allowance = largeAllowance()
	}
	if cfg.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		cfg.Log = silent
	}
	return nil
}

// connection is the part that is about how the chain is reached.
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
