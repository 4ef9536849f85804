package chain_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// slowFirst is a host with two endpoints, of which the first does not answer these requests until it
// is let.
func slowFirst(t *testing.T, meant func(rpcRequest) bool) (
	m *chain.Market, others *atomic.Int64, let func(), said *logLines,
) {
	t.Helper()
	w, second, m, said := twoGates(t, func(cfg *chain.Config) { cfg.CallTimeout = time.Second })
	others = &atomic.Int64{}
	second.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		others.Add(1)
		return node(r)
	})
	hold := make(chan struct{})
	let = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(let)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if meant(r) {
			<-hold
		}
		return node(r)
	})
	if _, err := m.Slot(t.Context(), events.RequestID{1}, 0); !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("a call without an answer: %v", err)
	}
	return m, others, let, said
}

// A node that checks a pairing while a proof is made takes its time for that, and for nothing else.
func TestACallWithoutAnAnswerLeavesTheConnectionToOthers(t *testing.T) {
	m, others, let, said := slowFirst(t, func(r rpcRequest) bool { return r.Method == "eth_call" })
	if _, err := m.Head(t.Context()); err != nil {
		t.Fatalf("another call: %v", err)
	}
	let()
	if _, err := m.Slot(t.Context(), events.RequestID{1}, 0); err != nil {
		t.Fatalf("the same call, later: %v", err)
	}
	if n := others.Load(); n > 0 || said.says("leaving this endpoint") {
		t.Fatalf("%d requests went to the other endpoint:\n%s", n, said.lines)
	}
}

func TestANodeThatAnswersNothingIsLeft(t *testing.T) {
	m, others, _, said := slowFirst(t, func(rpcRequest) bool { return true })
	if _, err := m.Head(t.Context()); err != nil {
		t.Fatalf("the next call: %v", err)
	}
	if others.Load() == 0 || !said.says("leaving this endpoint") {
		t.Fatalf("the other endpoint had %d requests:\n%s", others.Load(), said.lines)
	}
}

// What stands before a node waits for it no longer than it likes.
func TestAGatewayThatWaitsNoLongerLeavesTheConnectionToOthers(t *testing.T) {
	w, second, m, said := twoGates(t, nil)
	second.set(true, false)
	// Whatever else the market asks meanwhile is answered, as its look whether the node is there.
	w.gate.refusesOnly(http.StatusGatewayTimeout, "eth_call")
	if _, err := m.Slot(t.Context(), events.RequestID{1}, 0); !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("it answered: %v", err)
	}
	w.gate.set(false, false)
	if _, err := m.Head(t.Context()); err != nil || said.says("leaving this endpoint") {
		t.Fatalf("the next call: %v\n%s", err, said.lines)
	}
}
