package chain_test

import (
	"cmp"
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
// transactions or have any other fault.
type gate struct {
	server *httptest.Server
	node   *rpc.Client

	mu     sync.Mutex
	closed bool
	status int  // what the gate answers while it is closed; 0: that it is unavailable
	loses  bool // transactions are acknowledged and forgotten
	sends  int  // how many were handed in
	fault  fault
	// batches refuses a message with that many calls, in its own words; nil takes all.
	batches func(out http.ResponseWriter, calls []rpcRequest) (refused bool)
}

// fault answers a request in place of the node, which it may ask.
type fault func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer

// refuses closes the gate with a status of HTTP.
func (g *gate) refuses(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.status = true, status
}

// has makes the gate faulty.
func (g *gate) has(f fault) {
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

func (r rpcRequest) fails(code int, message string) rpcAnswer {
	return rpcAnswer{Version: "2.0", ID: r.ID, Error: &rpcError{Code: code, Message: message}}
}

func (r rpcRequest) returns(result string) rpcAnswer {
	return rpcAnswer{Version: "2.0", ID: r.ID, Result: json.RawMessage(result)}
}

// param is the nth parameter as JSON, empty when there is none.
func (r rpcRequest) param(n int) string {
	if n >= len(r.Params) {
		return ""
	}
	return string(r.Params[n])
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
	closed, batches, status := g.closed, g.batches, cmp.Or(g.status, http.StatusServiceUnavailable)
	g.mu.Unlock()
	if closed {
		http.Error(out, "gate is closed", status)
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
	if batches != nil && batches(out, many) {
		return
	}
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
	g.mu.Lock()
	fault := g.fault
	g.mu.Unlock()
	if fault != nil {
		return fault(r, func(r rpcRequest) rpcAnswer { return g.ask(ctx, r) })
	}
	return g.ask(ctx, r)
}

// ask is the node's answer.
func (g *gate) ask(ctx context.Context, r rpcRequest) rpcAnswer {
	a := rpcAnswer{Version: "2.0", ID: r.ID}
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
