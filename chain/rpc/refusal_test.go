package rpc

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
)

// coded is a node's error with a code.
type coded struct {
	text string
	code int
}

func (e coded) Error() string  { return e.text }
func (e coded) ErrorCode() int { return e.code }

// The sentences are as clients say them, found in their sources and in public reports.
func TestANodesRefusalIsUnderstoodInTheWordsOfEachClient(t *testing.T) {
	for _, tc := range []struct {
		client, says string
		code         int
		means        Meaning
	}{
		{"geth", "already known", -32000, KnownAlready},
		{"geth", "known transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960", -32000, KnownAlready},
		{"geth", "nonce too low: next nonce 8090, tx nonce 8089", -32000, NonceUsed},
		{"geth", "replacement transaction underpriced", -32000, Rival},
		{"geth", "transaction underpriced", -32000, TooCheap},
		{"geth", "transaction underpriced: tip needed 25000000000, tip permitted 1", -32000, TooCheap},
		{"geth", "transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000", -32000, TooCheap},
		{"geth", "max fee per gas less than block base fee: address 0x20f3, maxFeePerGas: 1, baseFee: 765625000", -32000, Outbid},
		{"geth", "txpool is full", -32000, Outbid},
		{"geth", "insufficient funds for gas * price + value: balance 1, tx cost 3, overshot 2", -32000, NoMoney},
		{"geth", "insufficient funds for transfer", -32000, NoMoney},
		{"geth", "transaction would cause overdraft", -32000, NoMoney},
		{"geth", "intrinsic gas too low: gas 100, minimum needed 21000", -32000, TooLittleGas},
		{"geth", "insufficient gas for floor data gas cost: gas 22000, minimum needed 25000", -32000, TooLittleGas},
		{"geth", "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)", -32000, NeverMined},
		{"geth", "exceeds block gas limit", -32000, NeverMined},
		{"geth", "transaction gas limit too high (cap: 16777216, tx: 20000000)", -32000, NeverMined},
		{"geth", "invalid sender", -32000, NeverMined},
		{"geth", "sender not an eoa", -32000, NeverMined},
		{"geth", "invalid chain id for signer: have 1 want 1337", -32000, NeverMined},
		{"geth", "transaction type not supported: type 2 rejected, pool not yet in London", -32000, NeverMined},
		{"geth", "oversized data: transaction size 140000, limit 131072", -32000, NeverMined},
		{"geth", "nonce too high: tx nonce 5, gapped nonce 2", -32000, Later},
		{"geth", "account limit exceeded: pooled 16 txs", -32000, Later},
		{"geth", "future transaction tries to replace pending", -32000, Later},
		{"geth", "in-flight transaction limit reached for delegated accounts", -32000, Later},
		{"Geth/v1.15 behind Infura", "an internal reason", -32005, Later},
		{"Bor", "transaction underpriced: gas tip cap 1000000000, minimum needed 25000000000", -32000, TooCheap},
		{"Avalanche", "transaction underpriced: address 0xab have gas fee cap (1) < pool minimum fee cap (25000000000)", -32000, TooCheap},

		{"Besu", "Known transaction", -32000, KnownAlready},
		{"Besu", "Nonce too low", -32001, NonceUsed},
		{"Besu", "Replacement transaction underpriced", -32000, Rival},
		{"Besu", "Gas price below configured minimum gas price", -32009, TooCheap},
		{"Besu", "Gas price below current base fee", -32009, Outbid},
		{"Besu", "Upfront cost exceeds account balance", -32004, NoMoney},
		{"Besu", "Intrinsic gas exceeds gas limit", -32003, TooLittleGas},
		{"Besu", "Transaction gas limit exceeds block gas limit", -32005, NeverMined},
		{"Besu", "Transaction fee cap exceeded", -32000, NeverMined},
		{"Besu", "Wrong chainId", -32000, NeverMined},
		{"Besu", "ChainId not supported", -32000, NeverMined},
		{"Besu", "Initial sync is still in progress", -32008, Later},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32001, NonceUsed},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32003, TooLittleGas},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32004, NoMoney},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32005, NeverMined},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32006, Later},
		{"besu/v25.4.1/linux-x86_64/openjdk-java-21", "worded anew", -32009, Outbid},

		{"Nethermind", "AlreadyKnown", -32010, KnownAlready},
		{"Nethermind", "OldNonce, Current nonce: 22, nonce of rejected tx: 17", -32010, NonceUsed},
		{"Nethermind", "ReplacementNotAllowed", -32010, Rival},
		{"Nethermind", "OwnNonceAlreadyUsed", -32010, Rival},
		{"Nethermind", "FeeTooLow, EffectivePriorityFeePerGas too low 10 < 20, BaseFee: 30", -32010, TooCheap},
		{"Nethermind", "FeeTooLowToCompete", -32010, TooCheap},
		{"Nethermind", "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 50, BaseFee: 100, MaxPriorityFeePerGas:200", -32010, Outbid},
		{"Nethermind", "InsufficientFunds, Account balance: 1, cumulative cost: 2", -32010, NoMoney},
		{"Nethermind", "GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 150", -32010, NeverMined},
		{"Nethermind", "FailedToResolveSender", -32010, NeverMined},
		{"Nethermind", "SenderIsContract", -32010, NeverMined},
		{"Nethermind", "NonceGap, Future nonce. Expected nonce: 10", -32010, Later},
		{"Nethermind", "NonceTooFarInFuture", -32010, Later},

		{"Erigon", "INTERNAL_ERROR: existing txn with same hash", -32000, KnownAlready},
		{"Erigon", "INTERNAL_ERROR: nonce too low", -32000, NonceUsed},
		{"Erigon", "INTERNAL_ERROR: could not replace existing tx", -32000, Rival},
		{"Erigon", "INTERNAL_ERROR: underpriced", -32000, TooCheap},
		{"Erigon", "INTERNAL_ERROR: fee too low", -32000, TooCheap},
		{"Erigon", "fee cap less than block base fee: address 0xab, feeCap: 1 baseFee: 2", -32000, Outbid},
		{"Erigon", "INTERNAL_ERROR: pending sub-pool is full", -32000, Outbid},
		{"Erigon", "INTERNAL_ERROR: IntrinsicGas", -32000, TooLittleGas},
		{"Erigon", "INTERNAL_ERROR: spammer", -32000, Later},

		{"Reth", "transaction feeCap 1 below chain minimum", -32003, TooCheap},
		{"Reth", "transaction discarded outright due to pool size constraints", -32003, Outbid},
		{"Reth", "intrinsic gas too high", -32003, TooLittleGas},
		{"Reth", "gas floor exceeds the gas limit", -32003, TooLittleGas},
		{"Reth", "unknown transaction type: 126", -32602, NeverMined},

		{"OpenEthereum", "Transaction with the same hash was already imported.", -32010, KnownAlready},
		{"OpenEthereum", "Transaction nonce is too low. Try incrementing the nonce.", -32010, NonceUsed},
		{"OpenEthereum", "Transaction gas price supplied is too low. There is another transaction with same nonce in the " +
			"queue. Try increasing the gas price or incrementing the nonce.", -32010, Rival},
		{"OpenEthereum", "Transaction gas price is too low. It does not satisfy your node's minimal gas price " +
			"(minimal: 100 got: 50). Try increasing the gas price.", -32010, TooCheap},
		{"OpenEthereum", "There are too many transactions in the queue. Your transaction was dropped due to limit. " +
			"Try increasing the fee.", -32010, Outbid},
		{"OpenEthereum", "Insufficient funds. The account you tried to send transaction from does not have enough funds.", -32010, NoMoney},
		{"OpenEthereum", "Insufficient balance for transaction. Balance=100.25, Cost=200.50", -32010, NoMoney},
		{"OpenEthereum", "Transaction gas is too low. There is not enough gas to cover minimal cost of the transaction", -32010, TooLittleGas},
		{"OpenEthereum", "Supplied gas is beyond limit.", -32010, NeverMined},
		{"OpenEthereum", "Transaction cost exceeds current gas limit. Limit: 50, got: 100. Try decreasing supplied gas.", -32010, NeverMined},

		{"Arbitrum", "invalid transaction nonce", -32000, NonceUsed},
		{"Arbitrum", "gas price too low", -32000, TooCheap},
		{"Arbitrum", "not enough funds for gas", -32000, NoMoney},
		{"Arbitrum", "intrinsic gas too low", -32000, TooLittleGas},
		{"Arbitrum", "tx dropped due to L2 congestion", -32000, Later},
		{"Arbitrum", "queue full", -32000, Later},
		{"Moonbeam", "submit transaction to pool failed: Pool(AlreadyImported)", -32603, KnownAlready},
		{"Moonbeam", "submit transaction to pool failed: Pool(Stale)", -32603, NonceUsed},
		{"Moonbeam", "submit transaction to pool failed: Pool(TooLowPriority { old: 1, new: 1 })", -32603, Rival},
		{"Moonbeam", "gas price less than block base fee", -32603, Outbid},
		{"Substrate", "submit transaction to pool failed: InvalidTransaction: Transaction is outdated", 1010, NonceUsed},
		{"Klaytn", "there is another tx which has the same nonce in the tx pool", -32000, Rival},
		{"Harmony", "transaction already finalized", -32000, NonceUsed},
		{"Sei", "tx already exists in cache", -32000, KnownAlready},
		{"Evmos", "tx already in mempool", -32000, KnownAlready},
		{"Sei", "insufficient fees; got: 1usei required: 2usei: insufficient fee", -32000, TooCheap},
		{"zkSync", "known transaction. transaction with hash 0x6013 is already in the system", 3, KnownAlready},
		{"zkSync", "The operator included transaction with an unacceptable gas price", 3, TooCheap},
		{"zkSync", "Account validation error: Not enough gas for transaction validation", 3, TooLittleGas},
		{"Hedera", "Gas price '830000000000' is below configured minimum gas price '950000000000'", -32009, TooCheap},
		{"Hedera", "transaction 0.0.3041916 failed precheck with status INSUFFICIENT_PAYER_BALANCE", -32000, NoMoney},
		{"Hardhat", "Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 2", -32000, Outbid},
		{"Hardhat", "Sender doesn't have enough funds to send tx. The max upfront cost is: 2", -32000, NoMoney},
		{"Filecoin", "mpool push: failed to add message: replace by fee has too low GasPremium", 1, Rival},
		{"Polygon zkEVM", "sequencer pending tx pool full, please try again", -32000, Later},

		{"Infura", "project ID request rate exceeded", -32005, TooOften},
		{"Infura", "daily request count exceeded, request rate limited", -32005, TooOften},
		{"QuickNode", "25/second request limit reached", -32007, TooOften},
		{"Alchemy", "Your app has exceeded its compute units per second capacity", 429, TooOften},
		{"dRPC", "ratelimit", -32000, TooOften},
		{"a proxy", "rate-limited", -32000, TooOften},
		{"a proxy", "Too Many Requests", -32000, TooOften},
		{"BlockPI", "your monthly quota is used", -32000, TooOften},

		// A code says nothing about another client, and nothing at all about one that does not say what it is.
		{"Geth/v1.17.10-stable/linux-amd64/go1.26", "worded anew", -32009, Unknown},
		{"Nethermind/v1.31.0", "worded anew", -32005, Unknown},
		{"", "worded anew", -32005, Unknown},
		{"geth", "the moon is full", -32000, Unknown},
	} {
		tx := types.NewTx(&types.DynamicFeeTx{GasTipCap: big.NewInt(7), GasFeeCap: big.NewInt(9)})
		got := refusalOf(coded{tc.says, tc.code}, tx, func() string { return tc.client })
		if got.Means != tc.means {
			t.Errorf("%s, %q (%d): %d, want %d", tc.client, tc.says, tc.code, got.Means, tc.means)
		}
		if (got.Floor != nil) != (tc.means == TooCheap) {
			t.Errorf("%s, %q: floor %v", tc.client, tc.says, got.Floor)
		}
		if limited := rateLimited(coded{tc.says, tc.code}); limited != (tc.means == TooOften) {
			t.Errorf("%s, %q: rate limited %v", tc.client, tc.says, limited)
		}
	}
}

// A row that is never reached, because an earlier one is part of it, would be dead.
func TestEachSentenceOfTheTableIsReached(t *testing.T) {
	for i, s := range sentences {
		if strings.ToLower(s.words) != s.words || s.clients == "" {
			t.Errorf("%q of %q", s.words, s.clients)
		}
		for _, earlier := range sentences[:i] {
			if strings.Contains(s.words, earlier.words) {
				t.Errorf("%q is never reached, because of %q", s.words, earlier.words)
			}
		}
	}
}

func TestAFloorIsOnlyReadWhereItIsAPrice(t *testing.T) {
	for says, want := range map[string]int64{
		"transaction gas price below minimum: gas tip cap 7, minimum needed 25000000000": 25_000_000_000,
		"transaction underpriced: gas tip cap 7, minimum needed 30000000000":             30_000_000_000,
		"transaction underpriced: tip needed 50, tip permitted 7":                        50,
		"transaction gas price below minimum: blob fee cap 7, minimum needed 99":         14, // Not of this fee.
		"Gas price below configured minimum gas price":                                   14, // Twice what was refused.
	} {
		tx := types.NewTx(&types.DynamicFeeTx{GasTipCap: big.NewInt(7), GasFeeCap: big.NewInt(9)})
		if got := refusalOf(errors.New(says), tx, nil).Floor; got == nil || got.Cmp(big.NewInt(want)) != 0 {
			t.Errorf("%q: %v, want %d", says, got, want)
		}
	}
	for _, says := range []string{
		"intrinsic gas too low: gas 100, minimum needed 21000",
		"insufficient gas for floor data gas cost: gas 22000, minimum needed 25000",
	} {
		if got := refusalOf(errors.New(says), types.NewTx(&types.DynamicFeeTx{}), nil); got.Floor != nil {
			t.Errorf("%q: %v", says, got.Floor)
		}
	}
}

func TestAFloorIsHalvedEachTimeThatItExpires(t *testing.T) {
	var f tipFloor
	now := time.Unix(1_800_000_000, 0)
	want := func(wei int64) {
		t.Helper()
		if got := f.at(now); got.Cmp(big.NewInt(wei)) != 0 {
			t.Fatalf("%s, want %d", got, wei)
		}
	}
	want(0)
	f.raise(big.NewInt(20), now)
	f.raise(big.NewInt(12), now) // Of another transaction at the same time.
	now = now.Add(floorKept)
	want(20)
	now = now.Add(time.Second)
	want(10)
	f.raise(big.NewInt(20), now)
	now = now.Add(2*floorKept + time.Second)
	want(5)
	now = now.Add(1000 * floorKept)
	want(0)
}
