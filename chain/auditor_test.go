package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/audit"
)

var _ audit.Chain = (*chain.Auditor)(nil)

func (w *world) auditor(edit func(*chain.Config)) *chain.Auditor {
	w.t.Helper()
	cfg := w.config("nobody")
	cfg.Key = nil
	if edit != nil {
		edit(&cfg)
	}
	a, err := chain.DialAuditor(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestAnAuditorSeesWhatMovedAndWhatIsHeld(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	first, second := callFor(r, 0), callFor(r, 1)
	reserved := w.reserve(m, "host", first)
	fill := w.fill(m, "host", first)
	w.reserve(m, "host", second)
	w.fill(m, "host", second)
	a := w.auditor(nil)

	held, err := a.Held(t.Context(), []events.SlotID{first.Slot, {1}})
	want := []events.SlotHolding{
		{State: events.SlotFilled, Host: m.Account(), Collateral: events.NewAmount(10_000)},
		{State: events.SlotFree},
	}
	if diff := cmp.Diff(want, held, amounts); diff != "" || err != nil {
		t.Fatalf("held: %v (-want +got):\n%s", err, diff)
	}

	facts, err := m.Slot(t.Context(), r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.sealUntil(facts.RequestEnd.Add(time.Second))
	var payout events.PayoutReceipt
	w.drive("host", func(ctx context.Context) (err error) {
		payout, err = m.FreeSlot(ctx, first)
		return err
	})
	moves, err := a.Moves(t.Context(), m.Account(),
		[]events.Hash{fill.Receipt.TxHash, payout.Receipt.TxHash, reserved.TxHash, {9}})
	wantMoves := []events.TokenMove{
		{Found: true, Succeeded: true, Out: events.NewAmount(10_000)},
		{Found: true, Succeeded: true, In: payout.Paid},
		{Found: true, Succeeded: true},
		{},
	}
	if diff := cmp.Diff(wantMoves, moves, amounts); diff != "" || err != nil {
		t.Fatalf("moves: %v (-want +got):\n%s", err, diff)
	}
	last := payout.Receipt.Block.Number
	for _, step := range []uint64{1, 7, 1000} {
		a := w.auditor(func(cfg *chain.Config) { cfg.LogRange = step })
		in, out, err := a.Moved(t.Context(), m.Account(), fill.Block, last)
		if in != payout.Paid || out != events.NewAmount(20_000) || err != nil {
			t.Fatalf("in steps of %d blocks %s came in and %s went out: %v", step, in, out, err)
		}
	}
	if in, out, err := a.Moved(t.Context(), m.Account(), last, last); in != payout.Paid || !out.IsZero() || err != nil {
		t.Fatalf("in the last block %s came in and %s went out: %v", in, out, err)
	}
}

// go-ethereum makes logs searchable some moments after it has a block. Those of the newest blocks
// are neither waited for nor left out.
func TestAnAuditorReadsTheNewestBlocksOfANodeThatCannotSearchThemYet(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	w.reserve(m, "host", callFor(r, 0))
	fill := w.fill(m, "host", callFor(r, 0))
	w.seal(2)
	last := w.chain.Head().Number
	g := newGate(t, w.chain.Attach())
	g.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		var filter struct {
			ToBlock *hexutil.Uint64 `json:"toBlock"`
		}
		isFilter := r.Method == "eth_getLogs" && json.Unmarshal([]byte(r.Param(0)), &filter) == nil
		if isFilter && filter.ToBlock != nil && uint64(*filter.ToBlock) >= fill.Block {
			return r.Fails(-32602, "block range extends beyond current head block")
		}
		return node(r)
	})
	a := w.auditor(func(cfg *chain.Config) { cfg.Endpoint = g.server.URL })
	in, out, err := a.Moved(t.Context(), m.Account(), last-min(last, 100), last)
	if err != nil || !in.IsZero() || out != events.NewAmount(10_000) {
		t.Fatalf("%s came in and %s went out: %v", in, out, err)
	}
}

// Of several nodes behind one address, one may not have the block yet.
func TestAnAuditorWaitsForANodeThatIsBehind(t *testing.T) {
	w := newWorld(t)
	last := w.chain.Head().Number
	g := newGate(t, w.chain.Attach())
	var asked atomic.Int64
	g.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		switch {
		case r.Method == "eth_getLogs" && asked.Add(1) <= 3:
			return r.Fails(-32602, "block range extends beyond current head block")
		case r.Method == "eth_getBlockByNumber" && 0 < asked.Load() && asked.Load() <= 3:
			return r.Returns("null")
		}
		return node(r)
	})
	a := w.auditor(func(cfg *chain.Config) { cfg.Endpoint = g.server.URL })
	if in, out, err := a.Moved(t.Context(), events.Address{1}, last, last); err != nil || !in.IsZero() || !out.IsZero() {
		t.Fatalf("%s came in and %s went out: %v", in, out, err)
	}
	if asked.Load() != 5 { // One for each direction of transfers, and three without an answer.
		t.Fatalf("asked %d times", asked.Load())
	}
}

func TestAnAuditorOfAnotherChainIsRefused(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("nobody")
	cfg.Key, cfg.ChainID = nil, 77
	if _, err := chain.DialAuditor(t.Context(), cfg); !errors.Is(err, rpc.ErrWrongChain) {
		t.Fatalf("error %v", err)
	}
	cfg.Marketplace, cfg.ChainID = events.Address{1}, 0
	if _, err := chain.DialAuditor(t.Context(), cfg); !errors.Is(err, rpc.ErrNoContract) {
		t.Fatalf("error %v", err)
	}
}

func TestAnAuditorFindsAProofInTheContractsLog(t *testing.T) {
	w := newWorld(t)
	m, _, call, period := w.proving()
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(1))
		return err
	})
	w.sealUntil(events.Unix((period + 2) * periodSeconds))
	a := w.auditor(nil)
	fill, err := m.FillSlot(t.Context(), call, goodProof(1)) // It is told again.
	if err != nil {
		t.Fatal(err)
	}
	filled := uint64(fill.FilledAt.Unix()) / periodSeconds
	var asked []events.MissingProof
	for _, p := range []uint64{period + 1, period, filled, period + 1_000} {
		asked = append(asked, events.MissingProof{SlotRef: events.SlotRef{Slot: call.Slot}, Period: p})
	}
	asked = append(asked, events.MissingProof{SlotRef: events.SlotRef{Slot: events.SlotID{1}}, Period: period})
	got, err := a.Proven(t.Context(), asked)
	if diff := cmp.Diff([]bool{false, true, false, false, false}, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
}
