package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// namesHash says that a call names its block by a hash (EIP-1898).
func namesHash(r rpcRequest) bool {
	return (r.Method == "eth_call" || r.Method == "eth_getBalance") && strings.Contains(r.Param(1), "blockHash")
}

// noHashes is a node that refuses each such call with an error, and counts them.
func noHashes(code int, words string, refused *atomic.Int64, others nodetest.Fault) nodetest.Fault {
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		switch {
		case namesHash(r):
			refused.Add(1)
			return r.Fails(code, words)
		case others != nil:
			return others(r, node)
		}
		return node(r)
	}
}

func TestNodeThatRefusesBlocksByHashIsAskedByNumber(t *testing.T) {
	for words, code := range map[string]int{
		"invalid argument 1: json: cannot unmarshal object into Go value of type string": -32602,
		"Invalid params: blockHash is not supported":                                     -32602,
		"Parse error":                    -32700,
		"Internal error":                 -32603,
		"the request makes no sense":     -32000,
		"data did not match any variant": 7,
	} {
		t.Run(words, func(t *testing.T) {
			w := newWorld(t)
			r := w.request()
			other := w.newHost("other")
			w.fund("host")
			want, err := other.Slot(t.Context(), r.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			var refused atomic.Int64
			w.gate.has(noHashes(code, words, &refused, nil))
			m := w.host("host", t.TempDir(), storetest.NewMemory())
			got, err := m.Slot(t.Context(), r.ID, 0)
			if diff := cmp.Diff(want, got, amounts); diff != "" || err != nil {
				t.Fatalf("slot (-by hash +by number): %v\n%s", err, diff)
			}
			if _, err := m.Balance(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := refused.Load(); n != 1 {
				t.Fatalf("it was asked by hash %d times", n)
			}
			// The number means another block at each look.
			w.gate.has(noHashes(code, words, &refused, func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				a := node(r)
				if r.Method == "eth_getBlockByNumber" && r.Param(0) != `"latest"` {
					a.Result = json.RawMessage(strings.ReplaceAll(string(a.Result), w.chain.Head().Hash.String(),
						common.Hash{9}.Hex()))
				}
				return a
			}))
			if _, err := m.Slot(t.Context(), r.ID, 0); !errors.Is(err, rpc.ErrUnavailable) {
				t.Fatalf("a block that changed was believed: %v", err)
			}
		})
	}
}

// When a node refuses although it has taken a hash, refuses the number as well, or limits requests,
// this says nothing about hashes.
func TestNodeThatFailsForAnotherReasonIsAskedByHashOn(t *testing.T) {
	always := func(rpcRequest) bool { return true }
	for name, tc := range map[string]struct {
		before  bool // It took a hash in such a call.
		refuses func(rpcRequest) bool
		words   string
	}{
		"it took a hash before":     {true, namesHash, "Parse error"},
		"it refuses the number too": {false, always, "Parse error"},
		"it limits our requests":    {false, namesHash, "Too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.newHost("host")
			look := func() error { _, err := m.Balance(t.Context()); return err }
			if tc.before {
				if err := look(); err != nil {
					t.Fatal(err)
				}
			}
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if r.Method == "eth_getBalance" && tc.refuses(r) {
					return r.Fails(-32700, tc.words)
				}
				return node(r)
			})
			if err := look(); err == nil {
				t.Fatal("there is a balance")
			}
			var byNumber atomic.Int64
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if r.Method == "eth_getBalance" && !namesHash(r) {
					byNumber.Add(1)
				}
				return node(r)
			})
			var err error
			w.await("the node is asked again", func() bool {
				err = look()
				return !errors.Is(err, rpc.ErrUnavailable)
			})
			if err != nil || byNumber.Load() != 0 {
				t.Fatalf("asked by number %d times: %v", byNumber.Load(), err)
			}
		})
	}
}

// The same for logs (EIP-234): they are searched by number, and count if they belong to the
// intended block.
func TestNodeThatRefusesBlocksByHashTellsTheirLogsByNumber(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_getLogs" && strings.Contains(r.Param(0), "blockHash") {
			return r.Fails(-32700, "Parse error")
		}
		return node(r)
	})
	d := w.follow(m.Feed(), events.Cursor{})
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	w.seal(3)
	w.caughtUp(d)
	if diff := cmp.Diff([]string{"StorageRequested", "ProofSubmitted", "SlotFilled"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

// Every call that names a block goes the same way: on a node that takes no hashes, a slot is
// reserved, filled and proven, a refused proof is judged, and a missing one marked.
func TestNodeThatRefusesBlocksByHashServesAllThatAHostDoes(t *testing.T) {
	w := newWorld(t)
	var refused, pending atomic.Int64
	looks := func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_call" && r.Param(1) == `"pending"` {
			pending.Add(1)
		}
		return node(r)
	}
	w.gate.has(noHashes(-32700, "Parse error", &refused, looks))
	m, _, call, period := w.proving()
	if held := w.reserve(m, "host", callFor(w.request(), 1)); held.TxHash.Zero() {
		t.Fatal("the reservation has no transaction")
	}
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(2))
		return err
	})
	next, number := w.duePeriod(m)
	next.Challenge = w.challenge(m, next, number)
	w.gate.has(noHashes(-32700, "Parse error", &refused, passes(submitProofSelector)))
	err := w.try("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, next, number, events.Proof{}) // The verifier refuses the zero proof.
		return err
	})
	if !errors.Is(err, events.ErrInvalidProof) {
		t.Fatalf("the refused proof was judged: %v", err)
	}
	w.gate.has(noHashes(-32700, "Parse error", &refused, looks))
	validator := w.newHost("validator")
	slot := w.occupy(m, "host", w.ask(1, 1), 0)
	before := pending.Load()
	w.markNext(validator, "validator", slot)
	if n := pending.Load() - before; n != 0 {
		t.Fatalf("the pending block was asked %d times for what the next block says", n)
	}
	if n := refused.Load(); n != 2 {
		t.Fatalf("two connections were refused hashes %d times", n)
	}
}
