package chain_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// rangeOf is the range of blocks of a search for logs; false when it is for one block by
// its hash.
func rangeOf(r rpcRequest) (from, to uint64, ok bool) {
	var filter struct {
		FromBlock, ToBlock *hexutil.Uint64
	}
	if r.Method != "eth_getLogs" || json.Unmarshal(r.Params[0], &filter) != nil || filter.FromBlock == nil {
		return 0, 0, false
	}
	return uint64(*filter.FromBlock), uint64(*filter.ToBlock), true
}

// deliveredWith is what a feed delivers from the deployment on, of two requests with many blocks in
// between, from a node with a fault.
func deliveredWith(t *testing.T, f nodetest.Fault) []string {
	t.Helper()
	w := newWorld(t)
	m := w.newHost("host")
	w.request()
	w.seal(100)
	w.request()
	w.seal(200)
	w.gate.has(f)
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.has(nil)
	return d.read()
}

func TestRangeThatIsTooMuchIsReadInPieces(t *testing.T) {
	for _, words := range []string{
		"query returned more than 10000 results",
		"block range is too wide, maximum is 7",
		"eth_getLogs is limited to a 7 range",
		"exceed maximum block range: 7",
		"query timeout exceeded",
		"Log response size exceeded",
	} {
		t.Run(words, func(t *testing.T) {
			var most, refused atomic.Uint64
			got := deliveredWith(t, func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				from, to, ok := rangeOf(r)
				if ok && to-from >= 7 {
					refused.Add(1)
					return r.Fails(-32005, words)
				}
				if ok && to-from+1 > most.Load() {
					most.Store(to - from + 1)
				}
				return node(r)
			})
			if diff := cmp.Diff([]string{"StorageRequested", "StorageRequested"}, got); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			if most.Load() < 4 || refused.Load() > 30 {
				t.Fatalf("pieces of %d blocks, after %d refusals", most.Load(), refused.Load())
			}
		})
	}
}

func TestRangeIsNotSplitBecauseOfARateLimit(t *testing.T) {
	var smallest atomic.Uint64
	smallest.Store(1 << 40)
	var left atomic.Int64
	left.Store(3)
	got := deliveredWith(t, func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		from, to, ok := rangeOf(r)
		if ok && to-from+1 < smallest.Load() && to > from {
			smallest.Store(to - from + 1)
		}
		if ok && left.Add(-1) >= 0 {
			return r.Fails(-32005, "rate limit exceeded: too many requests, limit is 5 per second")
		}
		return node(r)
	})
	if diff := cmp.Diff([]string{"StorageRequested", "StorageRequested"}, got); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
	if smallest.Load() < 100 {
		t.Fatalf("a range of %d blocks was read", smallest.Load())
	}
}

// When one piece fails after another one succeeded, neither may be lost.
func TestPiecesCountOnlyWhenAllAreThere(t *testing.T) {
	var failures atomic.Int64
	got := deliveredWith(t, func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		from, to, ok := rangeOf(r)
		switch {
		case ok && to-from >= 64:
			return r.Fails(-32000, "block range too large")
		case ok && failures.Add(1)%2 == 0 && failures.Load() < 7:
			return r.Fails(-32000, "internal error")
		}
		return node(r)
	})
	if diff := cmp.Diff([]string{"StorageRequested", "StorageRequested"}, got); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
	if failures.Load() < 3 {
		t.Fatal("no piece failed")
	}
}

// If a node cuts a long result without saying so, later logs must not be missed.
func TestResultThatWasCutSilentlyIsReadInPieces(t *testing.T) {
	const most = 500
	w := newWorld(t)
	m := w.newHost("host")
	w.request()
	w.seal(40)
	w.request()
	w.seal(200)
	var padded json.RawMessage
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		a := node(r)
		from, to, ok := rangeOf(r)
		if !ok {
			return a
		}
		var logs []json.RawMessage
		if err := json.Unmarshal(a.Result, &logs); err != nil {
			t.Error(err)
		}
		if padded == nil && len(logs) > 0 {
			padded = logs[0]
		}
		if to-from >= 16 && len(logs) > 0 { // Many logs, so that ours are cut off.
			logs = logs[:1]
			for len(logs) < most {
				logs = append(logs, padded)
			}
		}
		a.Result, _ = json.Marshal(logs)
		return a
	})
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.has(nil)
	if diff := cmp.Diff([]string{"StorageRequested", "StorageRequested"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

func TestDeploymentIsSearchedWhenItIsNotKnown(t *testing.T) {
	for name, forgets := range map[string]bool{"archive": false, "node without old states": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			cfg := w.config("host")
			cfg.DeployedAt = 0
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			w.request()
			w.seal(200)
			var first atomic.Uint64
			first.Store(1 << 40)
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if forgets && r.Method == "eth_getCode" && r.Param(1) != `"latest"` {
					return r.Fails(-32000, "historical state is not available")
				}
				if from, _, ok := rangeOf(r); ok && from < first.Load() {
					first.Store(from)
				}
				return node(r)
			})
			d := w.follow(m.Feed(), events.Cursor{})
			w.caughtUp(d)
			w.gate.has(nil)
			if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			if got := first.Load(); !forgets && got != w.at.Block || forgets && got > 1 {
				t.Fatalf("logs were read from block %d on, the contract is of block %d", got, w.at.Block)
			}
		})
	}
}

func TestLogIsToldOnceHoweverOftenTheNodeGivesIt(t *testing.T) {
	got := deliveredWith(t, func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		a := node(r)
		if r.Method == "eth_getLogs" {
			var logs []json.RawMessage
			_ = json.Unmarshal(a.Result, &logs) // The node wrote it.
			for i := len(logs) - 1; i >= 0; i-- {
				removed := strings.Replace(string(logs[i]), `"removed":false`, `"removed":true`, 1)
				logs = append(logs, logs[i], json.RawMessage(removed))
			}
			a.Result, _ = json.Marshal(logs)
		}
		return a
	})
	if diff := cmp.Diff([]string{"StorageRequested", "StorageRequested"}, got); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

// A load balancer may pass the question on to a node on the branch that lost.
func TestLogsOfABlockThatIsGoneAreNotTold(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	before := w.chain.Head()
	w.request()
	gone := w.chain.Head()
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(3)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_getLogs" && strings.Contains(r.Param(0), "blockHash") {
			r.Params[0] = json.RawMessage(strings.Replace(r.Param(0), w.hashAt(gone.Number), gone.Hash.String(), 1))
		}
		return node(r)
	})
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.has(nil)
	if got := d.read(); len(got) != 0 {
		t.Fatalf("feed told %v", got)
	}
}

func (w *world) hashAt(number uint64) string {
	w.t.Helper()
	h, err := w.client.HeaderByNumber(w.t.Context(), new(big.Int).SetUint64(number))
	if err != nil {
		w.t.Error(err)
		return ""
	}
	return h.Hash().Hex()
}

func TestLogsThatANodeKnowsOnlyLaterAreAskedForAgain(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_getLogs" && strings.Contains(r.Param(0), "blockHash") {
			return r.Returns("[]") // The block is known, its logs are not.
		}
		return node(r)
	})
	w.request()
	w.caughtUp(d)
	if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}
