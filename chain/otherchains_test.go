package chain_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/signer/signertest"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

const gwei = 1_000_000_000

// foreign is a host with tokens and a request for it, before its node becomes one of another chain.
func (w *world) foreign(change func(*chain.Config)) (m *chain.Market, r events.Request, log *logText) {
	w.t.Helper()
	w.fund("host")
	w.mint("host", 10_000_000)
	r, log = w.request(), newLog()
	cfg := w.config("host")
	cfg.Log = log.logger
	if change != nil {
		change(&cfg)
	}
	m, err := w.dial(cfg, storetest.NewMemory(), w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = m.Close() })
	return m, r, log
}

// refusals counts the calls of a method that are refused with certain words.
func refusals(method, words string, refused *atomic.Int64) nodetest.Fault {
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		a := node(r)
		if r.Method == method && a.Error != nil && strings.Contains(a.Error.Message, words) {
			refused.Add(1)
		}
		return a
	}
}

// sells reserves a slot and fills it, which takes an approval too. Blocks are sealed whether or not a node took
// anything.
func (w *world) sells(m *chain.Market, call events.SlotCall) {
	w.t.Helper()
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	if err := w.sealUntilDone(done); err != nil {
		w.t.Fatal(err)
	}
	filled := later(w, func(ctx context.Context) (events.Fill, error) { return m.FillSlot(ctx, call, goodProof(1)) })
	if err := w.sealUntilDone(filled); err != nil {
		w.t.Fatal(err)
	}
}

func TestOffersReachANodesFloorInTheWordsOfEachClientAndTheNextOnesBeginThere(t *testing.T) {
	for _, c := range nodetest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t)
			m, r, log := w.foreign(func(cfg *chain.Config) { cfg.MinTipWei, cfg.MaxTipWei = gwei, 2*gwei })
			var refused atomic.Int64
			cheap := func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if r.Method == "eth_sendRawTransaction" && decodeTx(r.Param(0)).GasTipCap().Cmp(big.NewInt(25*gwei)) < 0 {
					refused.Add(1)
				}
				return node(r)
			}
			w.gate.has(nodetest.Stack(cheap, c.Speaks(), nodetest.Floor(25*gwei)))
			w.sells(m, callFor(r, 0))
			first := refused.Load()
			if first == 0 || first > 5 {
				t.Fatalf("%d refusals", first)
			}
			if !log.has("fees.maxTipGwei") {
				t.Fatal("nobody was told that the limit for tips is below the floor")
			}
			w.sells(m, callFor(r, 1))
			if n := refused.Load(); n != first {
				t.Fatalf("%d refusals of what came later", n-first)
			}
		})
	}
}

func TestAFloorAboveTheLimitOfFeesIsNotPaidAndTold(t *testing.T) {
	w := newWorld(t)
	m, r, _ := w.foreign(func(cfg *chain.Config) { cfg.MaxFeeCapWei = 20 * gwei })
	var most atomic.Int64
	w.gate.has(nodetest.Stack(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_sendRawTransaction" {
			most.Store(max(most.Load(), decodeTx(r.Param(0)).GasFeeCap().Int64()))
		}
		return node(r)
	}, nodetest.Floor(25*gwei)))
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	w.sealUntilHolds("it is told", func() bool { f, held := m.FeeLimit(); return held && f.Refused == "" })
	w.gate.has(nil)
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
	if got := most.Load(); got > 20*gwei {
		t.Fatalf("%d wei were offered", got)
	}
}

func TestARefusalInUnknownWordsIsToldOnceAndSeenFromTheSecondBlockOn(t *testing.T) {
	w := newWorld(t)
	m, r, log := w.foreign(nil)
	var refused atomic.Int64
	w.gate.has(nodetest.Stack(refusals("eth_sendRawTransaction", "the moon", &refused),
		func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
			if r.Method == "eth_sendRawTransaction" {
				return r.Fails(-32000, "the moon is full")
			}
			return node(r)
		}))
	before := w.chain.Head().Number
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	w.await("it is refused", func() bool { return refused.Load() > 0 })
	if _, held := m.FeeLimit(); held {
		t.Fatal("one refusal is in the status")
	}
	w.sealUntilHolds("it is seen", func() bool { _, held := m.FeeLimit(); return held })
	f, _ := m.FeeLimit()
	if text := f.String(); !strings.Contains(text, "the moon is full") || !strings.Contains(text, "reserve:") {
		t.Fatal(text)
	}
	if n := log.count("refused, will try again"); n != 1 {
		t.Fatalf("%d warnings", n)
	}
	if sent, blocks := refused.Load(), int64(w.chain.Head().Number-before); sent > blocks+1 {
		t.Fatalf("sent %d times in %d blocks", sent, blocks)
	}
	w.gate.has(nil)
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
	w.sealUntilHolds("it is over", func() bool { _, held := m.FeeLimit(); return !held })
}

// legacy demands that all transactions with a nonce have one price, and that each one is raised by an eighth.
func (p *pool) legacy(t *testing.T, nonce uint64) (all []*types.Transaction) {
	t.Helper()
	all = p.seen(nonce)
	for i, tx := range all {
		if tx.Type() != types.LegacyTxType || !tx.Protected() {
			t.Fatalf("attempt %d is of type %d (protected: %v)", i, tx.Type(), tx.Protected())
		}
		if i > 0 && !eighthMore(tx.GasPrice(), all[i-1].GasPrice()) {
			t.Fatalf("attempt %d offers %s after %s", i, tx.GasPrice(), all[i-1].GasPrice())
		}
	}
	return all
}

func TestAChainWithoutABaseFeeGetsLegacyTransactionsAlsoAsReplacementsAndFromTheOutbox(t *testing.T) {
	for name, signs := range map[string]bool{"a key": false, "a signer": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			w.mint("host", 10_000_000)
			r := w.request()
			cfg := w.config("host")
			if signs {
				cfg = w.signedBy("host", signertest.New(t, keyOf(w.name+"host")))
			}
			cfg.StuckBlocks = 1
			p := newPool(w)
			p.takes = nothing
			w.gate.has(nodetest.Stack(nodetest.WithoutBaseFee(), p.answer))
			dir, store := t.TempDir(), storetest.NewMemory()
			m, err := w.dial(cfg, store, dir)
			if err != nil {
				t.Fatal(err)
			}
			call := callFor(r, 0)
			done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
			w.sealUntilHolds("it is replaced", func() bool { return len(p.seen(0)) > 1 })
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			<-done
			p.legacy(t, 0)
			recorded := lastOf(t, store, m.Account()) // Perhaps a replacement that was not sent yet.
			p.set(func(p *pool) { p.sent = nil })
			w.markets = nil
			if m, err = w.dial(cfg, store, dir); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			w.await("it is sent again", func() bool { return p.count() > 0 })
			if again := p.legacy(t, 0); !strings.Contains(recorded, again[0].Hash().Hex()) {
				t.Fatalf("%s was sent again, and recorded was last %s", again[0].Hash(), recorded)
			}
			p.set(func(p *pool) { p.takes = everything })
			w.sells(m, call)
			for nonce := range w.nonce("host") {
				p.legacy(t, nonce)
			}
		})
	}
}

// A node that is slow, or does not estimate, says only that it is too little.
func TestWithoutEstimatesACallGetsMoreGasUntilItIsEnough(t *testing.T) {
	w := newWorld(t)
	m, r, _ := w.foreign(nil)
	noEstimates := func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_estimateGas" {
			return r.Fails(-32601, "the method eth_estimateGas does not exist")
		}
		return node(r)
	}
	w.gate.has(nodetest.Stack(noEstimates, nodetest.DataInGas(func() uint64 { return 2000 })))
	w.sells(m, callFor(r, 0))
}

// What needs more gas than a transaction may have is never mined; what is behind it must not wait for it.
func TestACallThatIsTooLargeForTheChainHoldsUpNothing(t *testing.T) {
	w := newWorld(t)
	m, _, _ := w.foreign(nil)
	var sent atomic.Int64
	count := func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_sendRawTransaction" {
			sent.Add(1)
		}
		return node(r)
	}
	w.gate.has(nodetest.Stack(count, nodetest.DataInGas(func() uint64 { return 2000 })))
	send := func(key string, data []byte) chan error {
		before := sent.Load()
		done := later(w, func(ctx context.Context) (*types.Receipt, error) {
			return m.Submit(ctx, tx.Call{Key: key, To: common.Address{0x33}, Data: data, Gas: 60_000})
		})
		w.await("it is sent", func() bool { return sent.Load() > before })
		return done
	}
	large := send("give:large:1", make([]byte, 10_000)) // 20 million gas.
	small := send("give:small:1", nil)
	if err := w.sealUntilDone(small); err != nil {
		t.Fatal(err)
	}
	if err := w.sealUntilDone(large); err == nil {
		t.Fatal("the large one is mined")
	}
}

func TestAChainThatCountsDataInGasGetsEstimatesAndARefusedOneANewEstimate(t *testing.T) {
	w := newWorld(t)
	m, r, _ := w.foreign(nil)
	var refused atomic.Int64
	var perByte atomic.Uint64
	perByte.Store(2000)
	w.gate.has(nodetest.Stack(refusals("eth_sendRawTransaction", "intrinsic", &refused), nodetest.DataInGas(perByte.Load)))
	w.sells(m, callFor(r, 0))
	if n := refused.Load(); n != 0 {
		t.Fatalf("%d refusals", n)
	}
	// Its price rises after the estimate.
	p := newPool(w)
	w.gate.has(nodetest.Stack(refusals("eth_sendRawTransaction", "intrinsic", &refused),
		func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
			if r.Method == "eth_sendRawTransaction" {
				perByte.Store(6000)
			}
			return node(r)
		}, nodetest.DataInGas(perByte.Load), p.answer))
	call := callFor(r, 1)
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.sealUntilHolds("it is taken", func() bool { return p.count() > 0 })
	if n := refused.Load(); n != 1 {
		t.Fatalf("%d refusals", n)
	}
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
	// An empty transaction has data, too: its own.
	call = callFor(w.requestDirectly(), 0)
	call.Deadline = w.chain.Head().Time.Add(5 * time.Second)
	p.set(func(p *pool) {
		p.takes = func(tx *types.Transaction) bool { return len(tx.Data()) == 0 }
	})
	nonce := w.nonce("host")
	done = later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("it is sent", func() bool { return len(p.seen(nonce)) > 0 })
	if err := w.sealUntilDone(done); !errors.Is(err, events.ErrDeadlinePassed) || w.nonce("host") != nonce+1 {
		t.Fatalf("after %d of %d: %v", w.nonce("host"), nonce+1, err)
	}
	if n := refused.Load(); n != 1 {
		t.Fatalf("%d refusals", n)
	}
}

// requestDirectly is request without the gate's faults.
func (w *world) requestDirectly() events.Request {
	w.t.Helper()
	w.gate.mu.Lock()
	fault := w.gate.fault
	w.gate.fault = nil
	w.gate.mu.Unlock()
	defer w.gate.has(fault)
	return w.request()
}

// A node that refuses estimates costs no time, and what was measured counts.
func TestANodeWithoutEstimatesIsNotAskedAgainAndMeasuredGasCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		fault nodetest.Fault
		most  int64
	}{
		"none": {nodetest.Without("eth_estimateGas"), 3},
		"none of another block": {func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
			if r.Method == "eth_estimateGas" && len(r.Params) > 1 {
				return r.Fails(-32602, "too many arguments, want at most 1")
			}
			return node(r)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m, r, _ := w.foreign(nil)
			p := newPool(w)
			var refused atomic.Int64
			w.gate.has(nodetest.Stack(refusals("eth_estimateGas", "", &refused), tc.fault, p.answer))
			w.sells(m, callFor(r, 0))
			w.sells(m, callFor(r, 1))
			if n := refused.Load(); n != tc.most {
				t.Fatalf("%d refused estimates, want %d", n, tc.most)
			}
			if gas := p.seen(0)[0].Gas(); gas != chain.DefaultGas().Reserve {
				t.Fatalf("%d gas", gas)
			}
		})
	}
}

func TestOfAKindThatNeedsNoMoreThanWasMeasuredOneCallIsEstimated(t *testing.T) {
	w := newWorld(t)
	m, r, _ := w.foreign(nil)
	var estimates atomic.Int64
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_estimateGas" {
			estimates.Add(1)
		}
		return node(r)
	})
	const counts = 32 // blocks for which an estimate counts
	first := w.chain.Head().Number
	w.sells(m, callFor(r, 0))
	w.sells(m, callFor(r, 1))
	passed := int64(w.chain.Head().Number - first)
	// Of a reservation, an approval and a fill, and of another fill if the first was estimated before the approval was
	// mined; of the second sale only as often as the first estimates are too old. The newest blocks may be counted late.
	if n := estimates.Load(); n < 3 || n > 4+2*((passed+4)/counts) {
		t.Fatalf("%d estimates in %d blocks", n, passed)
	}
}

func TestWithoutASuggestedTipItIsThePriceOfGasWithoutTheBaseFee(t *testing.T) {
	w := newWorld(t)
	m, r, log := w.foreign(func(cfg *chain.Config) { cfg.MaxTipWei = 5 * gwei })
	p := newPool(w)
	p.baseFee = big.NewInt(gwei)
	w.gate.has(nodetest.Stack(nodetest.Without("eth_maxPriorityFeePerGas"),
		func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
			if r.Method == "eth_gasPrice" {
				return r.Returns(`"0xee6b2800"`) // 4 gwei
			}
			return node(r)
		}, p.answer))
	w.sells(m, callFor(r, 0))
	if tip := p.seen(0)[0].GasTipCap(); tip.Cmp(big.NewInt(3*gwei)) != 0 {
		t.Fatalf("a tip of %s", tip)
	}
	if log.has("fees.maxTipGwei") {
		t.Fatal("a tip within the limit is told")
	}
}

func TestALimitForTipsBelowWhatTheNodeSuggestsIsToldAtTheStart(t *testing.T) {
	w := newWorld(t)
	newPool(w).tip = big.NewInt(30 * gwei)
	_, _, log := w.foreign(nil)
	if log.count("fees.maxTipGwei") != 1 {
		t.Fatal("nobody was told")
	}
}
