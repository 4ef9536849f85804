package nodetest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// This file has faults that make the node one of another chain, or of another client. Each is one trait;
// Stack combines them.

// Stack is all faults, of which the first one is the outermost: it sees requests first and answers last.
func Stack(faults ...Fault) Fault {
	return func(r Request, node func(Request) Answer) Answer {
		for _, f := range slices.Backward(faults) {
			inner := node
			node = func(r Request) Answer { return f(r, inner) }
		}
		return node(r)
	}
}

// Without is a node that does not offer some methods.
func Without(methods ...string) Fault {
	return func(r Request, node func(Request) Answer) Answer {
		if slices.Contains(methods, r.Method) {
			return r.Fails(-32601, fmt.Sprintf("the method %s does not exist/is not available", r.Method))
		}
		return node(r)
	}
}

// Floor is a node that takes no transaction with a tip below wei, and says so in go-ethereum's words. It
// still suggests what the node behind it suggests.
func Floor(wei uint64) Fault {
	least := new(big.Int).SetUint64(wei)
	return refusing(func(tx *types.Transaction) (refusal string) {
		if tx.GasTipCap().Cmp(least) >= 0 {
			return ""
		}
		return fmt.Sprintf("transaction gas price below minimum: gas tip cap %d, minimum needed %d",
			tx.GasTipCap(), least)
	})
}

// WithoutBaseFee is a chain without EIP-1559: its blocks have no base fee, and it takes no transactions with
// two fees.
func WithoutBaseFee() Fault {
	return Stack(
		Without("eth_maxPriorityFeePerGas", "eth_feeHistory"),
		blocks(every, func(b block) { delete(b, "baseFeePerGas") })(),
		refusing(func(tx *types.Transaction) (refusal string) {
			if tx.Type() <= types.AccessListTxType {
				return ""
			}
			return fmt.Sprintf("transaction type not supported: type %d rejected, pool not yet in London", tx.Type())
		}),
	)
}

// unsignedBytes is about how long a transaction is beside its data.
const unsignedBytes = 120

// DataInGas is a chain that pays another one for each byte of a transaction and counts that as gas: so much
// as perByte says at the time.
func DataInGas(perByte func() uint64) Fault {
	extra := func(data []byte) uint64 { return perByte() * uint64(len(data)+unsignedBytes) }
	estimated := func(r Request, node func(Request) Answer) Answer {
		a := node(r)
		var call struct{ Data, Input hexutil.Bytes }
		var gas hexutil.Uint64
		if r.Method == "eth_estimateGas" && a.Error == nil &&
			json.Unmarshal(r.Params[0], &call) == nil && json.Unmarshal(a.Result, &gas) == nil {
			a.Result = encoded(gas + hexutil.Uint64(extra(append(call.Data, call.Input...))))
		}
		return a
	}
	return Stack(estimated, refusing(func(tx *types.Transaction) (refusal string) {
		const transfer = 21_000
		if tx.Gas() >= transfer+extra(tx.Data()) {
			return ""
		}
		return "intrinsic gas too low"
	}))
}

// refusing refuses some transactions with go-ethereum's code.
func refusing(why func(*types.Transaction) string) Fault {
	return func(r Request, node func(Request) Answer) Answer {
		if r.Method != "eth_sendRawTransaction" {
			return node(r)
		}
		var raw hexutil.Bytes
		tx := new(types.Transaction)
		if json.Unmarshal(r.Params[0], &raw) != nil || tx.UnmarshalBinary(raw) != nil {
			return node(r)
		}
		if refusal := why(tx); refusal != "" {
			return r.Fails(-32000, refusal)
		}
		return node(r)
	}
}

// Client is how a client words its refusals of transactions.
type Client struct {
	Name    string
	Version string // its answer to web3_clientVersion
	// words are its refusals, with their codes, by the beginning of go-ethereum's.
	words map[string]Error
}

// Speaks is a client in front of a node with go-ethereum's words.
func (c Client) Speaks() Fault {
	return func(r Request, node func(Request) Answer) Answer {
		if r.Method == "web3_clientVersion" {
			return r.Returns(string(encoded(c.Version)))
		}
		a := node(r)
		if r.Method != "eth_sendRawTransaction" || a.Error == nil {
			return a
		}
		for said, own := range c.words {
			if strings.HasPrefix(a.Error.Message, said) {
				return r.Fails(own.Code, own.Message)
			}
		}
		return a
	}
}

// client is one with its refusals in the order of these beginnings of go-ethereum's.
func client(name, version string, words ...Error) Client {
	c := Client{Name: name, Version: version, words: map[string]Error{}}
	for i, said := range []string{
		"already known", "nonce too low", "replacement transaction underpriced",
		"transaction gas price below minimum", "max fee per gas less than block base fee",
		"insufficient funds", "intrinsic gas too low",
	} {
		c.words[said] = words[i]
	}
	return c
}

// all are refusals with the same code.
func all(code int, messages ...string) (words []Error) {
	for _, m := range messages {
		words = append(words, Error{Code: code, Message: m})
	}
	return words
}

// Clients are those whose words are known, as they were seen or stand in their sources.
func Clients() []Client {
	return []Client{
		{Name: "go-ethereum", Version: "Geth/v1.17.10-stable/linux-amd64/go1.26"},
		client("go-ethereum before 1.16", "Geth/v1.15.11-stable/linux-amd64/go1.24.2", all(-32000,
			"already known", "nonce too low", "replacement transaction underpriced",
			"transaction underpriced: tip needed 25000000000, tip permitted 1000000000",
			"max fee per gas less than block base fee", "insufficient funds for gas * price + value",
			"intrinsic gas too low",
		)...),
		client("Bor", "bor/v2.0.0/linux-amd64/go1.24.1", all(-32000,
			"already known", "nonce too low", "replacement transaction underpriced",
			"transaction underpriced: gas tip cap 1000000000, minimum needed 25000000000",
			"max fee per gas less than block base fee", "insufficient funds for gas * price + value",
			"intrinsic gas too low",
		)...),
		client("Besu", "besu/v25.4.1/linux-x86_64/openjdk-java-21",
			Error{Code: -32000, Message: "Known transaction"}, Error{Code: -32001, Message: "Nonce too low"},
			Error{Code: -32000, Message: "Replacement transaction underpriced"},
			Error{Code: -32009, Message: "Gas price below configured minimum gas price"},
			Error{Code: -32009, Message: "Gas price below current base fee"},
			Error{Code: -32004, Message: "Upfront cost exceeds account balance"},
			Error{Code: -32003, Message: "Intrinsic gas exceeds gas limit"},
		),
		client("Nethermind", "Nethermind/v1.31.0+2e7a1e1e/linux-x64/dotnet9.0.4", all(-32010,
			"AlreadyKnown", "OldNonce, Current nonce: 22, nonce of rejected tx: 17", "ReplacementNotAllowed",
			"FeeTooLow", "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 50, BaseFee: 100, MaxPriorityFeePerGas:200",
			"InsufficientFunds, Account balance: 4740799397601480913, cumulative cost: 22019342038993800000",
			"Invalid, intrinsic gas too low",
		)...),
		client("Erigon", "erigon/3.0.0/linux-amd64/go1.24.1", all(-32000,
			"INTERNAL_ERROR: existing txn with same hash", "INTERNAL_ERROR: nonce too low",
			"INTERNAL_ERROR: could not replace existing tx", "INTERNAL_ERROR: underpriced",
			"INTERNAL_ERROR: fee too low", "INTERNAL_ERROR: insufficient funds", "INTERNAL_ERROR: IntrinsicGas",
		)...),
		client("Reth", "reth/v1.3.0-1e965ca/x86_64-unknown-linux-gnu",
			Error{Code: -32000, Message: "already known"},
			Error{Code: -32000, Message: "nonce too low: next nonce 8090, tx nonce 8089"},
			Error{Code: -32000, Message: "replacement transaction underpriced"},
			Error{Code: -32003, Message: "transaction underpriced"},
			Error{Code: -32000, Message: "max fee per gas less than block base fee"},
			Error{Code: -32003, Message: "insufficient funds for gas * price + value: have 1 want 2"},
			Error{Code: -32000, Message: "intrinsic gas too low"},
		),
		client("OpenEthereum", "OpenEthereum//v3.3.5-stable/x86_64-linux-musl/rustc1.59.0", all(-32010,
			"Transaction with the same hash was already imported.",
			"Transaction nonce is too low. Try incrementing the nonce.",
			"Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue "+
				"with gas price 150wei. Try increasing the gas price or incrementing the nonce.",
			"Transaction gas price is too low. It does not satisfy your node's minimal gas price "+
				"(minimal: 100 got: 50). Try increasing the gas price.",
			"Transaction gas price is too low. It does not satisfy your node's minimal gas price "+
				"(minimal: 100 got: 50). Try increasing the gas price.",
			"Insufficient funds. The account you tried to send transaction from does not have enough funds. "+
				"Required 200 and got: 100.",
			"Transaction gas is too low. There is not enough gas to cover minimal cost of the transaction "+
				"(minimal: 100 got: 50) Try increasing supplied gas.",
		)...),
	}
}
