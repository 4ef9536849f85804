package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// answering is a fault that answers some calls in its own way while it is on; nil: as the node does.
func answering(on *atomic.Bool, own func(rpcRequest) *rpcAnswer) nodetest.Fault {
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if on.Load() {
			if a := own(r); a != nil {
				return *a
			}
		}
		return node(r)
	}
}

// bodies says that blocks are asked for with their transactions.
func bodies(r rpcRequest) bool { return r.Method == "eth_getBlockByNumber" && r.Param(1) == "true" }

func hidesReceipts(answer func(rpcRequest) rpcAnswer, also ...string) func(rpcRequest) *rpcAnswer {
	return func(r rpcRequest) *rpcAnswer {
		if r.Method == "eth_getTransactionReceipt" || slices.Contains(also, r.Method) ||
			slices.Contains(also, "bodies") && bodies(r) {
			a := answer(r)
			return &a
		}
		return nil
	}
}

func none(r rpcRequest) rpcAnswer { return r.Returns("null") }

func indexing(r rpcRequest) rpcAnswer { return r.Fails(-32000, "transaction indexing is in progress") }

// minedProof has a proof mined while a node does not tell so, and more blocks sealed than a missing receipt was
// once believed after.
func (w *world) minedProof(own func(rpcRequest) *rpcAnswer) (
	m *chain.Market, store events.Store, hidden *atomic.Bool, done chan error,
) {
	w.t.Helper()
	m, store, call, period := w.proving()
	hidden = new(atomic.Bool)
	hidden.Store(true)
	w.gate.has(answering(hidden, own))
	done = later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, period, goodProof(2))
	})
	w.await("the proof is sent", func() bool { return w.waiting("host") })
	for range 6 {
		w.sealStep()
	}
	return m, store, hidden, done
}

func TestAMinedProofIsNotMissedBecauseItsReceiptIsNotThere(t *testing.T) {
	for name, own := range map[string]func(rpcRequest) *rpcAnswer{
		"and no block tells":                   hidesReceipts(none, "bodies"),
		"and the receipts of blocks neither":   hidesReceipts(none, "eth_getBlockReceipts"),
		"because the node refuses it":          hidesReceipts(indexing, "eth_getBlockReceipts"),
		"because the node refuses it and more": hidesReceipts(indexing, "eth_getBlockReceipts", "bodies"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m, store, hidden, done := w.minedProof(own)
			select {
			case err := <-done:
				t.Fatalf("it ended with %v, and nobody knows yet", err)
			default:
			}
			hidden.Store(false)
			if err := w.sealUntilDone(done); err != nil {
				t.Fatalf("the proof was mined: %v", err)
			}
			if got := historyOf(t, store, m.Account()); slices.Contains(got, "TxAbandoned") {
				t.Fatalf("the record is %v", got)
			}
		})
	}
}

func TestAReceiptThatTheNodeRefusesIsFoundInItsBlock(t *testing.T) {
	w := newWorld(t)
	m, store, _, done := w.minedProof(hidesReceipts(indexing))
	w.await("the proof counts", func() bool { return slices.Contains(historyOf(t, store, m.Account()), "TxMined") })
	w.gate.has(nil) // For the call itself.
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedReceiptsHoldUpNothingElse(t *testing.T) {
	w := newWorld(t)
	call := callFor(w.request(), 0)
	m, _, _, done := w.minedProof(hidesReceipts(indexing, "eth_getBlockReceipts", "bodies"))
	before := w.nonce("host")
	other := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("the next transaction is sent", func() bool { return w.waiting("host") })
	w.seal(1)
	if got := w.nonce("host"); got != before+1 {
		t.Fatalf("%d transactions are mined, %d were", got, before)
	}
	w.gate.has(nil)
	if err := errors.Join(w.sealUntilDone(other), w.sealUntilDone(done)); err != nil {
		t.Fatal(err)
	}
}

func TestACountThatIsOldDoesNotGiveANonceTwice(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	w.reserve(m, "host", callFor(r, 0))
	old := new(atomic.Bool)
	old.Store(true)
	w.gate.has(answering(old, func(r rpcRequest) *rpcAnswer {
		if r.Method != "eth_getTransactionCount" || r.Param(1) != `"latest"` {
			return nil
		}
		a := r.Returns(`"0x0"`)
		return &a
	}))
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 1)) })
	w.await("the next transaction is in the pool", func() bool { return w.waiting("host") })
	old.Store(false)
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
}

func TestABlockThatANodeDoesNotHaveYetIsNoReorganisation(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	lines := &logLines{}
	cfg := w.config("host")
	cfg.Log = lines.log()
	store := storetest.NewMemory()
	m, err := w.dial(cfg, store, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call := callFor(w.request(), 0)
	mined := w.reserve(m, "host", call)
	lags := new(atomic.Bool)
	lags.Store(true)
	w.gate.has(answering(lags, func(r rpcRequest) *rpcAnswer {
		var n hexutil.Uint64
		if r.Method == "eth_getTransactionReceipt" || r.Method == "eth_getBlockByNumber" &&
			json.Unmarshal(r.Params[0], &n) == nil && uint64(n) >= mined.Block.Number {
			a := r.Returns("null")
			return &a
		}
		return nil
	}))
	w.seal(3)
	again := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	for range 3 {
		w.seal(1)
	}
	lags.Store(false)
	if err := w.sealUntilDone(again); err != nil {
		t.Fatal(err)
	}
	if got := historyOf(t, store, m.Account()); !slices.Equal(got, wholeTransaction()) {
		t.Fatalf("the record is %v", got)
	}
	if lines.says("reorganisation") {
		t.Fatalf("told of a reorganisation that never was: %q", lines.lines)
	}
}

func TestCallsAndQuestionsDoNotWaitForTheNode(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.reserve(m, "host", callFor(w.request(), 0))
	hangs := make(chan struct{})
	asked := make(chan struct{}, 1)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-hangs
		return node(r)
	})
	defer w.gate.has(nil)
	defer close(hangs)
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan error, 1)
	go func() {
		_, err := m.Submit(ctx, tx.Call{Key: "any:1", To: common.Address(w.at.Marketplace), Gas: 100_000})
		calls <- err
	}()
	<-asked
	if err := m.Idle(t.Context(), "other:"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-calls; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
