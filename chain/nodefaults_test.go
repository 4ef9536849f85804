package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestNodeWithLittleOrNoSupportForBatchesIsUsedAsItIs(t *testing.T) {
	refusals := map[string]func(http.ResponseWriter, []rpcRequest) bool{
		"none, as an object": func(out http.ResponseWriter, _ []rpcRequest) bool {
			fmt.Fprint(out, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not supported"}}`)
			return true
		},
		"none, as a status": func(out http.ResponseWriter, _ []rpcRequest) bool {
			http.Error(out, "bad request", http.StatusBadRequest)
			return true
		},
		"four, as geth says it": func(out http.ResponseWriter, calls []rpcRequest) bool {
			if len(calls) <= 4 {
				return false
			}
			_ = json.NewEncoder(out).Encode([]rpcAnswer{calls[0].Fails(-32600, "batch too large")})
			return true
		},
		"four, as a status": func(out http.ResponseWriter, calls []rpcRequest) bool {
			if len(calls) <= 4 {
				return false
			}
			http.Error(out, "too large", http.StatusRequestEntityTooLarge)
			return true
		},
	}
	for name, refuses := range refusals {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.gate.takes(refuses)
			m := w.newHost("host")
			call := callFor(w.request(), 0)
			w.seal(30)
			d := w.follow(m.Feed(), events.Cursor{})
			w.reserve(m, "host", call)
			w.fill(m, "host", call)
			w.caughtUp(d)
			want := []string{"StorageRequested", "ProofSubmitted", "SlotFilled"}
			if diff := cmp.Diff(want, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
		})
	}
}

// Many nodes have no pending block and use the newest one instead.
func TestNodeWhosePendingBlockIsTheNewestServesAWholeSale(t *testing.T) {
	for name, overrides := range map[string]bool{"with overrides of blocks": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				for i, p := range r.Params {
					if string(p) == `"pending"` {
						r.Params[i] = json.RawMessage(`"latest"`)
					}
				}
				if r.Method == "eth_call" && len(r.Params) > 2 && !overrides {
					return r.Fails(-32602, "too many arguments, want at most 2")
				}
				return node(r)
			})
			m := w.newHost("host")
			r := w.request()
			call := callFor(r, 0)
			w.reserve(m, "host", call)
			w.fill(m, "host", call)
			facts, err := m.Slot(t.Context(), r.ID, 1)
			if err != nil {
				t.Fatal(err)
			}
			w.sealUntil(facts.RequestExpiry.Add(time.Second))
			w.drive("host", func(ctx context.Context) (err error) { _, err = m.FreeSlot(ctx, call); return err })
		})
	}
}

func TestBlockThatIsAnnouncedAndNotYetKnownIsWaitedFor(t *testing.T) {
	methods := []string{"eth_getBlockByHash", "eth_getBlockByNumber", "eth_getLogs"}
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			m := w.newHost("host")
			w.request()
			w.seal(200)
			var mu sync.Mutex
			const most = 24 // Of all blocks together: each costs a pause.
			total, misses := 0, map[string]int{}
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				mu.Lock()
				defer mu.Unlock()
				if what := r.Param(0); r.Method == method && what != `"latest"` && misses[what] < 2 && total < most {
					total++
					if misses[what]++; method == "eth_getLogs" {
						return r.Fails(-32000, "unknown block")
					}
					return r.Returns("null")
				}
				return node(r)
			})
			d := w.follow(m.Feed(), events.Cursor{})
			w.caughtUp(d)
			w.gate.has(nil)
			if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBlocksThatDoNotFitTogetherAreNotTold(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	var looks atomic.Int64
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		a := node(r)
		if r.Method == "eth_getBlockByNumber" && looks.Add(1) < 30 {
			var block map[string]json.RawMessage
			_ = json.Unmarshal(a.Result, &block) // The node wrote it.
			if block != nil {
				block["parentHash"], _ = json.Marshal(common.Hash{1})
				a.Result, _ = json.Marshal(block)
			}
		}
		return a
	})
	told := len(d.read())
	w.seal(3)
	w.caughtUp(d)
	if looks.Load() < 30 || told != 0 || len(d.read()) != 0 {
		t.Fatalf("after %d looks the feed told %v", looks.Load(), d.read())
	}
}

func TestReorganisationDeeperThanWhatIsRememberedIsReadAgainFromBeforeIt(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	before := w.chain.Head()
	w.request()
	w.seal(20)
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	d.finish(t)
	from := d.at()
	from.Recent = map[uint64]events.Hash{from.Number: from.Hash}
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(5)
	w.request()
	w.seal(30)
	again := w.follow(m.Feed(), from)
	w.caughtUp(again)
	told := again.read()
	if len(told) != 2 || told[0] != "reorganized: 1 dropped" || told[1] != "StorageRequested" {
		t.Fatalf("feed told %v", told)
	}
	if r := again.updates[0].Reorganized; r.GetAncestor() > before.Number {
		t.Fatalf("everything after block %d was dropped, want after %d at most", r.GetAncestor(), before.Number)
	}
}

func TestFinalIsWhatTheChainCallsSoIfItIsAsked(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	said := &logLines{}
	cfg := w.config("host")
	cfg.Finalized, cfg.Confirmations, cfg.Log = true, 3, said.log()
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	head := w.chain.Head().Number
	want := func(number uint64, final bool) {
		t.Helper()
		if got, err := m.Final(t.Context(), number); got != final || err != nil {
			t.Fatalf("block %d of %d is final: %v (%v), want %v", number, head, got, err, final)
		}
	}
	want(head-1, false)
	want(head-2, true) // By confirmations: this chain names no final block.
	if !said.says("names no final block") {
		t.Fatal("nobody was told")
	}
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Param(0) == `"finalized"` {
			r.Params[0], _ = json.Marshal(hexutil.Uint64(head - 10))
		}
		return node(r)
	})
	want(head-9, false)
	want(head-10, true)
	want(head+1, false)
	w.gate.has(nil) // The node has just restarted and does not know it yet.
	if final, err := m.Final(t.Context(), head-20); final || !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("final without the tag that was there: %v (%v)", final, err)
	}
}

// Freeing a slot too early costs everything, so its end must be irreversible.
func TestSlotIsNotFreedBeforeItsEndIsFinal(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	cfg := w.config("host")
	cfg.Finalized = true
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	r := w.request()
	call := callFor(r, 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	running := w.chain.Head().Number
	facts, err := m.Slot(t.Context(), r.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.sealUntil(facts.RequestExpiry.Add(time.Second))
	var final atomic.Uint64
	final.Store(running)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Param(0) == `"finalized"` {
			r.Params[0], _ = json.Marshal(hexutil.Uint64(final.Load()))
		}
		return node(r)
	})
	if _, err := m.FreeSlot(t.Context(), call); !errors.Is(err, events.ErrTooEarly) {
		t.Fatalf("freed before its end was final: %v", err)
	}
	final.Store(w.chain.Head().Number)
	w.drive("host", func(ctx context.Context) (err error) { _, err = m.FreeSlot(ctx, call); return err })
}
