package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"
)

// gate is an HTTP endpoint of the chain that a test can close, and that can lose
// transactions.
type gate struct {
	server *httptest.Server
	node   *rpc.Client

	mu     sync.Mutex
	closed bool
	loses  bool // transactions are acknowledged and forgotten
	sends  int  // how many were handed in
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

type rpcRequest struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (g *gate) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		http.Error(out, "gate is closed", http.StatusServiceUnavailable)
		return
	}
	var raw json.RawMessage
	if err := json.NewDecoder(in.Body).Decode(&raw); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	var many []rpcRequest
	if raw[0] != '[' {
		var one rpcRequest
		_ = json.Unmarshal(raw, &one) // Our own client wrote it.
		_ = json.NewEncoder(out).Encode(g.answer(in.Context(), one))
		return
	}
	_ = json.Unmarshal(raw, &many)
	answers := make([]rpcAnswer, len(many))
	for i, one := range many {
		answers[i] = g.answer(in.Context(), one)
	}
	_ = json.NewEncoder(out).Encode(answers)
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
	params := make([]any, len(r.Params))
	for i, p := range r.Params {
		params[i] = p
	}
	err := g.node.CallContext(ctx, &a.Result, r.Method, params...)
	if err == nil {
		if a.Result == nil {
			a.Result = json.RawMessage("null")
		}
		return a
	}
	a.Result, a.Error = nil, &rpcError{Code: -32000, Message: err.Error()}
	var coded rpc.Error
	if errors.As(err, &coded) {
		a.Error.Code = coded.ErrorCode()
	}
	var withData rpc.DataError
	if errors.As(err, &withData) {
		a.Error.Data = withData.ErrorData()
	}
	return a
}
