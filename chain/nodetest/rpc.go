package nodetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ethereum/go-ethereum/rpc"
)

// Request is a JSON-RPC call.
type Request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// Error is a node's refusal.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Answer is a node's answer to a call.
type Answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Fault answers a request in place of the node, which it may ask. It is called from many
// goroutines.
type Fault func(r Request, node func(Request) Answer) Answer

// Fails is an answer with an error.
func (r Request) Fails(code int, message string) Answer {
	return Answer{Version: "2.0", ID: r.ID, Error: &Error{Code: code, Message: message}}
}

// Returns is an answer with a result in JSON.
func (r Request) Returns(result string) Answer {
	return Answer{Version: "2.0", ID: r.ID, Result: json.RawMessage(result)}
}

// Param is the nth parameter in JSON, empty if there is none.
func (r Request) Param(n int) string {
	if n >= len(r.Params) {
		return ""
	}
	return string(r.Params[n])
}

// Ask is the node's answer.
func Ask(ctx context.Context, node *rpc.Client, r Request) Answer {
	a := Answer{Version: "2.0", ID: r.ID}
	params := make([]any, len(r.Params))
	for i, p := range r.Params {
		params[i] = p
	}
	err := node.CallContext(ctx, &a.Result, r.Method, params...)
	if err == nil {
		if a.Result == nil {
			a.Result = json.RawMessage("null")
		}
		return a
	}
	a.Result, a.Error = nil, &Error{Code: -32000, Message: err.Error()}
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

// Serve answers one message over HTTP, a call or a batch. Batches, if set, may refuse a batch in
// its own way; it then returns true.
func Serve(
	out http.ResponseWriter, in *http.Request, answer func(Request) Answer,
	batches func(http.ResponseWriter, []Request) (refused bool),
) {
	var raw json.RawMessage
	if err := json.NewDecoder(in.Body).Decode(&raw); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	var many []Request
	if raw[0] != '[' {
		var one Request
		_ = json.Unmarshal(raw, &one) // Our own client wrote it.
		_ = json.NewEncoder(out).Encode(answer(one))
		return
	}
	_ = json.Unmarshal(raw, &many)
	if batches != nil && batches(out, many) {
		return
	}
	answers := make([]Answer, len(many))
	for i, one := range many {
		answers[i] = answer(one)
	}
	_ = json.NewEncoder(out).Encode(answers)
}

// Node is a node's endpoint over HTTP with a fault.
func Node(node *rpc.Client, has Fault) http.Handler {
	return Messages(node, func() Fault { return has })
}

// Messages is an endpoint over HTTP that has a fault of its own for each message, in which the requests are answered
// one after the other.
func Messages(node *rpc.Client, each func() Fault) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		has := each()
		Serve(out, in, func(r Request) Answer {
			return has(r, func(r Request) Answer { return Ask(in.Context(), node, r) })
		}, nil)
	})
}
