package chain_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// This file has nodes that do not have yet what was seen, and the record of which is right.

// balanced is the address of several nodes: one call in three is answered by one that is 3 blocks behind, and no more than
// two in a row. A host asks ten times, in turn with its own looks: by chance alone one question in 60,000 would fail.
func balanced(seed uint64) nodetest.Fault {
	var mu sync.Mutex
	chance, row := rand.New(rand.NewPCG(seed, seed)), 0
	return nodetest.Lagging(3, func() bool {
		mu.Lock()
		defer mu.Unlock()
		if row++; row > 2 || chance.IntN(3) > 0 {
			row = 0
		}
		return row > 0
	})
}

func TestNodesThatLagByChanceAreNoReorganisation(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.has(balanced(1))
	var want []string
	for range 20 {
		w.gate.has(nil)
		w.request()
		want = append(want, "StorageRequested")
		w.gate.has(balanced(uint64(len(want))))
		w.seal(3)
		w.caughtUp(d)
	}
	w.gate.has(nil)
	if diff := cmp.Diff(want, d.read()); diff != "" {
		t.Fatalf("the feed tells (-want +got):\n%s", diff)
	}
}

func TestWhatIsReadNeverGoesBackBehindNodesThatLag(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	w.gate.has(balanced(1))
	defer w.gate.has(nil)
	for range 50 {
		w.seal(1)
		seen, err := m.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if facts, err := m.Slot(t.Context(), r.ID, 0); err != nil || facts.At.Number < seen.Number {
			t.Fatalf("block %d was seen, and the slot is read at block %d: %v", seen.Number, facts.At.Number, err)
		}
		if at, err := m.HeadAt(t.Context(), seen.Number); err != nil || at.Hash != seen.Hash {
			t.Fatalf("block %d was seen, and is %+v: %v", seen.Number, at, err)
		}
	}
}

// The newest block and what is read at it come in one message, which a node that lags may get.
func TestAReadIsNoOlderThanWhatWasSeenIfTheFirstNodeLags(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	if _, err := m.Slot(t.Context(), r.ID, 0); err != nil { // From now on it is one message.
		t.Fatal(err)
	}
	w.seal(4)
	seen, err := m.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	w.gate.has(nodetest.Lagging(3, func() bool { return asked.Add(1) <= 8 }))
	defer w.gate.has(nil)
	if facts, err := m.Slot(t.Context(), r.ID, 0); err != nil || facts.At.Number < seen.Number {
		t.Fatalf("block %d was seen, and the slot is read at block %d: %v", seen.Number, facts.At.Number, err)
	}
	if asked.Load() <= 8 {
		t.Fatalf("%d questions were asked; the message has other ones now", asked.Load())
	}
}

// withoutReceipts is a node that has no receipts while missing says so.
func withoutReceipts(missing func() bool) nodetest.Fault {
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_getTransactionReceipt" && missing() {
			return r.Returns("null")
		}
		return node(r)
	}
}

func TestAMissingReceiptDoesNotSayThatWhatTheRecordHasWasUndone(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	var missing atomic.Bool
	w.gate.has(withoutReceipts(missing.Load))
	call := callFor(w.request(), 0)
	repeats := map[string]func(context.Context) (any, error){
		"reservation": func(ctx context.Context) (any, error) { return m.ReserveSlot(ctx, call) },
	}
	first := map[string]any{"reservation": w.reserve(m, "host", call)}
	again := func(what string) {
		t.Helper()
		missing.Store(true)
		got, err := repeats[what](t.Context())
		missing.Store(false)
		if !errors.Is(err, rpc.ErrReceiptNotThere) {
			t.Errorf("%s without a receipt: %+v, %v", what, got, err)
		}
		got, err = repeats[what](t.Context())
		if diff := cmp.Diff(first[what], got, amounts); err != nil || diff != "" {
			t.Errorf("%s once more: %v (-first +again):\n%s", what, err, diff)
		}
	}
	again("reservation")
	fill := w.fill(m, "host", call)
	facts, err := m.Slot(t.Context(), call.Request, call.Index)
	if err != nil || fill.Block == 0 {
		t.Fatal(err)
	}
	w.sealUntil(facts.RequestExpiry.Add(1e9))
	payout := w.free(m, "host", call)
	payout.AlreadyFree = true // It is by the second call.
	first["payout"] = payout
	repeats["payout"] = func(ctx context.Context) (any, error) { return m.FreeSlot(ctx, call) }
	again("payout")
}

func TestAProofWhoseReceiptIsMissingIsFoundInTheContractsLog(t *testing.T) {
	w := newWorld(t)
	m, _, call, period := w.proving()
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(1))
		return err
	})
	var asked atomic.Int64
	w.gate.has(withoutReceipts(func() bool { return asked.Add(1) == 1 })) // The node that is asked next has it.
	defer w.gate.has(nil)
	w.takes(m, call, period)
}

// takes checks that the proof of one period counts as taken.
func (w *world) takes(m *chain.Market, call events.SlotCall, period uint64) {
	w.t.Helper()
	taken, err := m.TakenProofs(w.t.Context(), call.Slot, period)
	if err != nil || len(taken) != 1 || taken[0].Period != period || taken[0].Receipt.TxHash.Zero() {
		w.t.Fatalf("the contract took %+v, want the proof of period %d: %v", taken, period, err)
	}
}

// The record gave a transaction up, and another one of the account has proven the period: by the owner of the
// account at that time, or in a node's answer that was not believed.
func TestAProofThatTheRecordGaveUpIsFoundInTheContractsLog(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	cfg := w.config("host")
	cfg.RecordFirst = true
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	call, period := w.duePeriod(m)
	w.gate.set(false, true) // What is sent is lost.
	submitted := make(chan error, 1)
	sent := w.gate.sent()
	go func() {
		_, err := m.SubmitProof(t.Context(), call, period, goodProof(1))
		submitted <- err
	}()
	w.await("the proof is sent", func() bool { return w.gate.sent() > sent })
	w.sendAs(keyOf(w.name+"host"), w.nonce("host"), chain.SubmitProofData(call.Slot, goodProof(2)))
	w.gate.set(false, false)
	w.sealUntil(events.Unix((period + 1) * periodSeconds))
	w.await("the proof is given up", func() bool {
		select {
		case err = <-submitted:
			return true
		default:
			return false
		}
	})
	if err == nil || strings.Contains(err.Error(), "context") {
		t.Fatalf("the proof that was lost: %v", err)
	}
	w.takes(m, call, period)
}
