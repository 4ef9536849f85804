package chain_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/nodetest"
)

// gate is an HTTP endpoint of the chain that a test can close, and that can lose
// transactions or have any other fault.
type gate struct {
	server *httptest.Server
	node   *rpc.Client

	mu     sync.Mutex
	closed bool
	status int    // the HTTP status while it is closed; 0: unavailable
	only   []byte // closed to messages with these words, and to no others; nil: to all
	loses  bool   // transactions are acknowledged and forgotten
	sends  int    // number of transactions sent through it
	fault  nodetest.Fault
	// batches, if set, may refuse a message with several calls in its own way, and then returns
	// true.
	batches func(out http.ResponseWriter, calls []rpcRequest) (refused bool)
}

// refuses closes the gate with an HTTP status.
func (g *gate) refuses(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.status = true, status
}

// refusesOnly is refuses for messages with these words.
func (g *gate) refusesOnly(status int, words string) {
	g.refuses(status)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.only = []byte(words)
}

// has gives the gate a fault.
func (g *gate) has(f nodetest.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = f
}

// takes sets how the gate treats batches.
func (g *gate) takes(batches func(http.ResponseWriter, []rpcRequest) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.batches = batches
}

func newGate(t *testing.T, node *rpc.Client) *gate {
	g := &gate{node: node}
	g.server = httptest.NewServer(g)
	t.Cleanup(func() {
		g.server.Close()
		node.Close()
	})
	return g
}

func (g *gate) set(closed, loses bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.loses = closed, loses
}

func (g *gate) sent() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sends
}

type (
	rpcRequest = nodetest.Request
	rpcAnswer  = nodetest.Answer
)

func (g *gate) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	g.mu.Lock()
	closed, batches, status := g.closed, g.batches, cmp.Or(g.status, http.StatusServiceUnavailable)
	only := g.only
	g.mu.Unlock()
	body, err := io.ReadAll(in.Body)
	in.Body = io.NopCloser(bytes.NewReader(body))
	if closed && (err != nil || bytes.Contains(body, only)) {
		http.Error(out, "gate is closed", status)
		return
	}
	nodetest.Serve(out, in, func(r rpcRequest) rpcAnswer { return g.answer(in.Context(), r) }, batches)
}

func (g *gate) answer(ctx context.Context, r rpcRequest) rpcAnswer {
	a := rpcAnswer{Version: "2.0", ID: r.ID}
	if r.Method == "eth_sendRawTransaction" {
		g.mu.Lock()
		g.sends++
		loses := g.loses
		g.mu.Unlock()
		if loses {
			a.Result = json.RawMessage(`"0x` + common.Hash{}.Hex()[2:] + `"`)
			return a
		}
	}
	g.mu.Lock()
	fault := g.fault
	g.mu.Unlock()
	if fault != nil {
		return fault(r, func(r rpcRequest) rpcAnswer { return nodetest.Ask(ctx, g.node, r) })
	}
	return nodetest.Ask(ctx, g.node, r)
}
