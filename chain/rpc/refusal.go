package rpc

import (
	"errors"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// Meaning is what a node's refusal of a transaction means.
type Meaning int

// The meanings of refusals.
const (
	// Unknown: the node's words are in no row of the table. That is no verdict on the transaction.
	Unknown Meaning = iota
	// KnownAlready: the node has it.
	KnownAlready
	// NonceUsed: one with this nonce is mined.
	NonceUsed
	// Rival: the node has another one with this nonce, and this one does not offer enough more.
	Rival
	// TooCheap: the node takes none with such a tip. Refusal.Floor says what it takes.
	TooCheap
	// Outbid: it offers less than the base fee, or than what fills the node's pool.
	Outbid
	// NoMoney: the account cannot pay for it.
	NoMoney
	// TooLittleGas: its data alone needs more gas than its limit.
	TooLittleGas
	// NeverMined: no block can ever hold it.
	NeverMined
	// Later: it may be taken later as it is.
	Later
	// TooOften: the node limits our requests.
	TooOften
)

// row is one way of saying something. Of sentences the first one that is contained counts, whatever the client,
// because clients and proxies copy each other's.
type row struct {
	clients string // where it was seen
	words   string // in lower case
	means   Meaning
}

// sentences are the refusals that are known, from the clients' sources and from public reports. What is part
// of another sentence comes after it.
var sentences = []row{
	{"Infura, Alchemy, dRPC", "rate limit", TooOften},
	{"proxies", "ratelimit", TooOften},
	{"proxies", "rate-limit", TooOften},
	{"HTTP 429 as text", "too many requests", TooOften},
	{"Infura", "request rate exceeded", TooOften},
	{"QuickNode, Base", "request limit reached", TooOften},
	{"BlockPI", "quota", TooOften},
	{"Alchemy", "compute units", TooOften},

	{"geth, Erigon, Reth, Besu, newer Nethermind", "replacement transaction underpriced", Rival},
	{"Erigon", "could not replace existing tx", Rival},
	{"Nethermind", "replacementnotallowed", Rival},
	{"older Nethermind", "ownnoncealreadyused", Rival},
	{"OpenEthereum", "another transaction with same nonce", Rival},
	{"Klaytn", "another tx which has the same nonce", Rival},
	{"Moonbeam", "toolowpriority", Rival},
	{"Filecoin", "replace by fee", Rival},

	{"Reth", "unknown transaction type", NeverMined}, // Besu's "known transaction" is part of it.
	{"geth, Erigon, Reth, Bor, newer Nethermind", "already known", KnownAlready},
	{"Besu, Klaytn, zkSync, geth before 1.9", "known transaction", KnownAlready},
	{"Nethermind", "alreadyknown", KnownAlready},
	{"Erigon", "existing txn with same hash", KnownAlready},
	{"OpenEthereum", "already imported", KnownAlready},
	{"Moonbeam", "alreadyimported", KnownAlready},
	{"Sei, Evmos", "already exists in cache", KnownAlready},
	{"Evmos", "already in mempool", KnownAlready},

	{"geth and most others", "nonce too low", NonceUsed},
	{"OpenEthereum", "nonce is too low", NonceUsed},
	{"Nethermind", "oldnonce", NonceUsed},
	{"Arbitrum", "invalid transaction nonce", NonceUsed},
	{"Moonbeam", "pool(stale)", NonceUsed},
	{"Substrate", "transaction is outdated", NonceUsed},
	{"Harmony", "transaction already finalized", NonceUsed},

	{"geth, Reth, Arbitrum, zkSync", "max fee per gas less than block base fee", Outbid},
	{"Erigon, geth before 1.11", "fee cap less than block base fee", Outbid},
	{"Moonbeam, Astar", "gas price less than block base fee", Outbid},
	{"Besu", "gas price below current base fee", Outbid},
	{"Nethermind", "maxfeepergas too low", Outbid},
	{"Hardhat", "is too low for the next block", Outbid},
	{"geth, Reth", "txpool is full", Outbid},
	{"Erigon", "sub-pool is full", Outbid},
	{"Reth", "due to pool size constraints", Outbid},
	{"OpenEthereum", "try increasing the fee", Outbid},

	{"geth from 1.16", "gas price below minimum", TooCheap},
	{"geth, Bor, Erigon, Reth, Avalanche, Klaytn", "underpriced", TooCheap},
	{"Besu, Hedera", "below configured minimum gas price", TooCheap},
	{"Nethermind", "feetoolow", TooCheap},
	{"Erigon", "fee too low", TooCheap},
	{"Arbitrum, Metis", "gas price too low", TooCheap},
	{"OpenEthereum", "gas price is too low", TooCheap},
	{"Reth", "below chain minimum", TooCheap},
	{"zkSync", "unacceptable gas price", TooCheap},
	{"Evmos, Sei", "insufficient fee", TooCheap},

	{"geth and most others", "insufficient funds", NoMoney},
	{"Nethermind", "insufficientfunds", NoMoney},
	{"Besu", "upfront cost exceeds account balance", NoMoney},
	{"OpenEthereum, zkSync, Erigon", "insufficient balance", NoMoney},
	{"Arbitrum, Filecoin", "not enough funds", NoMoney},
	{"Hardhat", "doesn't have enough funds", NoMoney},
	{"geth", "would cause overdraft", NoMoney},
	{"Hedera", "insufficient_payer_balance", NoMoney},

	{"geth, Reth, Arbitrum, Nethermind", "intrinsic gas too low", TooLittleGas},
	{"geth", "insufficient gas for floor data gas cost", TooLittleGas},
	{"Besu", "intrinsic gas exceeds gas limit", TooLittleGas},
	{"Erigon", "intrinsicgas", TooLittleGas},
	{"Reth", "intrinsic gas too high", TooLittleGas},
	{"Reth", "gas floor exceeds the gas limit", TooLittleGas},
	{"OpenEthereum", "transaction gas is too low", TooLittleGas},
	{"zkSync", "not enough gas for transaction validation", TooLittleGas},

	{"geth, Erigon", "exceeds the configured cap", NeverMined},
	{"Besu", "fee cap exceeded", NeverMined},
	{"geth, Erigon, Reth, Besu", "exceeds block gas limit", NeverMined},
	{"geth", "gas limit too high", NeverMined},
	{"Nethermind", "gaslimitexceeded", NeverMined},
	{"OpenEthereum", "gas is beyond limit", NeverMined},
	{"OpenEthereum", "exceeds current gas limit", NeverMined},
	{"geth, Erigon, Reth", "invalid sender", NeverMined},
	{"Nethermind", "failedtoresolvesender", NeverMined},
	{"geth, Reth", "invalid chain id", NeverMined},
	{"Besu", "wrong chainid", NeverMined},
	{"Besu", "chainid not supported", NeverMined},
	{"geth, Reth", "sender not an eoa", NeverMined},
	{"Nethermind", "senderiscontract", NeverMined},
	{"geth, Erigon, zkSync", "oversized data", NeverMined},
	{"geth, Reth", "transaction type not supported", NeverMined},

	{"geth, Erigon, Besu", "nonce too high", Later},
	{"Nethermind", "noncegap", Later},
	{"Nethermind", "noncetoofarinfuture", Later},
	{"geth", "future transaction tries to replace pending", Later},
	{"geth", "account limit exceeded", Later},
	{"Erigon, Reth", "spammer", Later},
	{"geth", "in-flight transaction limit", Later},
	{"Besu", "initial sync is still in progress", Later},
	{"Polygon zkEVM", "pending tx pool full", Later},
	{"Arbitrum", "queue full", Later},
	{"Arbitrum", "l2 congestion", Later},
}

// codes are error codes that say something together with the client that uses them; the client is the
// beginning of its answer to web3_clientVersion.
var codes = []struct {
	client string
	code   int
	means  Meaning
}{
	{"besu", -32001, NonceUsed},
	{"besu", -32003, TooLittleGas},
	{"besu", -32004, NoMoney},
	{"besu", -32005, NeverMined}, // It exceeds the gas limit of a block.
	{"besu", -32006, Later},      // The nonce is not the next one.
	{"besu", -32009, Outbid},
	{"geth", -32005, Later}, // A provider's rate limit: geth itself has -32000 for everything.
}

// saysFloor finds the least tip in wei in refusals that name it. In go-ethereum's other refusals "minimum needed" is
// an amount of gas.
var saysFloor = []*regexp.Regexp{
	regexp.MustCompile(`gas tip cap \d+, minimum needed (\d+)`),
	regexp.MustCompile(`tip needed (\d+), tip permitted \d+`), // Before 1.14.
}

// Refusal is a node's refusal of a transaction.
type Refusal struct {
	Means Meaning
	// Floor is the tip in wei that the node takes, or else what is worth a try; nil unless TooCheap.
	Floor *big.Int
	// Err is the node's answer.
	Err error
}

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the node's answer.
func (r *Refusal) Unwrap() error { return r.Err }

// refusalOf says what a node's answer to a transaction means. client is asked for the client's name only if
// the words are not known.
func refusalOf(err error, tx *types.Transaction, client func() string) *Refusal {
	said := strings.ToLower(err.Error())
	r := &Refusal{Means: meaningOf(said), Err: err}
	if answer, coded := errors.AsType[rpc.Error](err); r.Means == Unknown && coded {
		name := strings.ToLower(client())
		for _, c := range codes {
			if c.code == answer.ErrorCode() && strings.HasPrefix(name, c.client) {
				r.Means = c.means
			}
		}
	}
	if r.Means == TooCheap {
		r.Floor = new(big.Int).Lsh(tx.GasTipCap(), 1)
		for _, names := range saysFloor {
			if found := names.FindStringSubmatch(said); found != nil {
				r.Floor.SetString(found[1], 10)
			}
		}
	}
	return r
}

func meaningOf(said string) Meaning {
	for _, s := range sentences {
		if strings.Contains(said, s.words) {
			return s.means
		}
	}
	return Unknown
}

// rateLimited recognises a complaint about too many requests, whatever was asked.
func rateLimited(err error) bool {
	if err == nil {
		return false
	}
	if _, reverted := RevertData(err); reverted {
		return false
	}
	if answer, ok := errors.AsType[rpc.Error](err); ok && answer.ErrorCode() == http.StatusTooManyRequests {
		return true
	}
	said := strings.ToLower(err.Error())
	return slices.ContainsFunc(sentences, func(s row) bool {
		return s.means == TooOften && strings.Contains(said, s.words)
	})
}

// floorKept is how long an endpoint's floor counts without another refusal. Then half of it is tried: a
// floor may have been one of a busy hour.
const floorKept = 30 * time.Minute

// tipFloor is the least tip that an endpoint takes, as far as it was told. It is safe for concurrent use.
type tipFloor struct {
	mu    sync.Mutex
	wei   *big.Int // nil: not known
	until time.Time
}

func (f *tipFloor) raise(wei *big.Int, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = now.Add(floorKept)
	if f.wei == nil || f.wei.Cmp(wei) < 0 {
		f.wei = wei
	}
}

func (f *tipFloor) at(now time.Time) *big.Int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; f.wei != nil && now.After(f.until); f.until = f.until.Add(floorKept) {
		if f.wei = new(big.Int).Rsh(f.wei, 1); f.wei.Sign() == 0 {
			f.wei = nil
		}
	}
	if f.wei == nil {
		return new(big.Int)
	}
	return f.wei
}
