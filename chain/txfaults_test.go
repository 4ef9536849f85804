package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// pool is how the node treats transactions in a test.
type pool struct {
	mu   sync.Mutex
	sent []*types.Transaction
	// takes says whether a transaction gets into the mempool; all are acknowledged.
	takes func(*types.Transaction) bool
	// tip and baseFee, if set, are the prices that the node reports.
	tip, baseFee *big.Int
}

// newPool stands between a world's hosts and its node.
func newPool(w *world) *pool {
	p := &pool{takes: func(*types.Transaction) bool { return true }}
	w.gate.has(p.answer)
	return p
}

func (p *pool) answer(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.Method == "eth_sendRawTransaction":
		tx := decodeTx(r.Param(0))
		p.sent = append(p.sent, tx)
		if !p.takes(tx) {
			return r.Returns(`"` + tx.Hash().Hex() + `"`)
		}
	case r.Method == "eth_maxPriorityFeePerGas" && p.tip != nil:
		return r.Returns(`"` + hexutil.EncodeBig(p.tip) + `"`)
	case r.Method == "eth_getBlockByNumber" && p.baseFee != nil:
		var block map[string]any
		a := node(r)
		if json.Unmarshal(a.Result, &block) == nil && block != nil {
			block["baseFeePerGas"] = hexutil.EncodeBig(p.baseFee)
			a.Result, _ = json.Marshal(block)
		}
		return a
	}
	return node(r)
}

func decodeTx(param string) *types.Transaction {
	var raw hexutil.Bytes
	tx := new(types.Transaction)
	if err := errors.Join(json.Unmarshal([]byte(param), &raw), tx.UnmarshalBinary(raw)); err != nil {
		panic(err) // Our own manager made it.
	}
	return tx
}

func (p *pool) set(change func(*pool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// seen are the different transactions that were sent with a nonce.
func (p *pool) seen(nonce uint64) []*types.Transaction {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*types.Transaction
	for _, tx := range p.sent {
		same := func(o *types.Transaction) bool { return o.Hash() == tx.Hash() }
		if tx.Nonce() == nonce && !slices.ContainsFunc(all, same) {
			all = append(all, tx)
		}
	}
	return all
}

func (p *pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

func nothing(*types.Transaction) bool    { return false }
func everything(*types.Transaction) bool { return true }

// later runs a call in the background.
func later[T any](w *world, f func(context.Context) (T, error)) (done chan error) {
	done = make(chan error, 1)
	go func() {
		_, err := f(w.t.Context())
		done <- err
	}()
	return done
}

// sealUntilDone seals blocks until a call has ended, and returns its error. The manager sees each
// block before the next one.
func (w *world) sealUntilDone(done chan error) error {
	w.t.Helper()
	var err error
	w.await("the call ends", func() bool {
		w.sealStep()
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

// elsewhere sends a transaction of the account without the manager, and mines it.
func (w *world) elsewhere(name string) {
	w.t.Helper()
	to := common.Address(w.account("client"))
	head, err := w.client.HeaderByNumber(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	chainID, err := w.client.ChainID(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	tx := types.MustSignNewTx(keyOf(w.name+name), types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
		ChainID: chainID, Nonce: w.nonce(name), To: &to, Gas: 21_000, Value: big.NewInt(1),
		GasTipCap: big.NewInt(100e9), GasFeeCap: new(big.Int).Add(head.BaseFee, big.NewInt(200e9)),
	})
	if err := w.client.SendTransaction(w.t.Context(), tx); err != nil {
		w.t.Fatalf("send elsewhere: %v", err)
	}
	w.seal(1)
}

func TestNonceThatIsUsedElsewhereCostsTimeAndNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int           // of ours, before the nonce is used elsewhere
		deadline time.Duration // of ours; zero: none
		want     error
	}{
		"before ours is sent":                  {attempts: 0},
		"while ours is in flight":              {attempts: 1},
		"while ours is replaced":               {attempts: 3},
		"while an empty one takes its place":   {attempts: 2, deadline: 2 * time.Second, want: events.ErrDeadlinePassed},
		"and the deadline passes before a new": {attempts: 1, deadline: 3 * time.Second, want: events.ErrDeadlinePassed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			p := newPool(w)
			m := w.host("host", t.TempDir(), storetest.NewMemory())
			call := callFor(w.request(), 0)
			if tc.deadline > 0 {
				call.Deadline = w.chain.Head().Time.Add(tc.deadline)
			}
			if tc.attempts == 0 {
				w.elsewhere("host")
			}
			p.set(func(p *pool) { p.takes = nothing })
			done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
			w.await("the attempts", func() bool {
				if n := len(p.seen(w.nonce("host"))); n == 0 || n >= tc.attempts {
					return n > 0
				}
				w.sealStep()
				return false
			})
			if tc.attempts > 0 {
				w.elsewhere("host")
			}
			p.set(func(p *pool) { p.takes = everything })
			if err := w.sealUntilDone(done); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			facts, err := m.Slot(t.Context(), call.Request, call.Index)
			if err != nil || facts.CanReserve != (tc.want != nil) {
				t.Fatalf("facts %+v (%v)", facts, err)
			}
			// The account goes on.
			other := callFor(w.request(), 1)
			w.reserve(m, "host", other)
		})
	}
}

func TestNodeThatForgetsItsPoolIsToldAgain(t *testing.T) {
	for name, restart := range map[string]bool{"it forgets": false, "it is restarted with an empty pool": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			m := w.host("host", t.TempDir(), storetest.NewMemory())
			r := w.request()
			var all []chan error
			for i := range uint64(2) {
				all = append(all, later(w, func(ctx context.Context) (events.Receipt, error) {
					return m.ReserveSlot(ctx, callFor(r, i))
				}))
			}
			w.await("both are in the pool", func() bool { return w.chain.Pending() == 2 })
			if restart {
				w.gate.set(true, false)
			}
			head := w.chain.Head()
			if _, err := w.chain.Fork(t.Context(), head.Hash, true); err != nil {
				t.Fatal(err)
			}
			if n := w.chain.Pending(); n != 0 {
				t.Fatalf("%d transactions are in the pool", n)
			}
			w.gate.set(false, false)
			w.seal(1)
			w.await("both are in the pool again", func() bool { return w.chain.Pending() == 2 })
			w.seal(1)
			for _, done := range all {
				if err := w.sealUntilDone(done); err != nil {
					t.Fatal(err)
				}
			}
			if n := w.nonce("host"); n != 2 {
				t.Fatalf("%d transactions were mined, want 2", n)
			}
		})
	}
}

func TestPoolThatDropsWhatDoesNotFollowTheMinedNonceLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newPool(w)
	m := w.host("host", t.TempDir(), storetest.NewMemory())
	var calls []events.SlotCall
	for range 4 {
		r := w.request()
		calls = append(calls, callFor(r, 0), callFor(r, 1))
	}
	p.set(func(p *pool) {
		p.takes = func(tx *types.Transaction) bool { return tx.Nonce() == w.nonce("host") }
	})
	var all []chan error
	for _, call := range calls {
		all = append(all, later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) }))
	}
	for _, done := range all {
		if err := w.sealUntilDone(done); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.nonce("host"); n != uint64(len(calls)) {
		t.Fatalf("%d transactions were mined, want %d", n, len(calls))
	}
}

func TestEmptyTransactionThatIsStuckIsOfferedForMore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newPool(w)
	cfg := w.config("host")
	cfg.MaxFeeCapWei = 20_000_000_000 // Calls soon reach it; empty transactions have room of their own.
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call := callFor(w.request(), 0)
	p.set(func(p *pool) { p.takes, p.tip = nothing, big.NewInt(17_000_000_000) })
	call.Deadline = w.chain.Head().Time.Add(8 * time.Second)
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	empty := func() (n int) {
		for _, tx := range p.seen(0) {
			if tx.Gas() == 21_000 {
				n++
			}
		}
		return n
	}
	w.await("it is sent", func() bool { return len(p.seen(0)) > 0 })
	w.sealUntilHolds("an empty transaction", func() bool { return empty() > 0 })
	p.set(func(p *pool) { p.takes = everything })
	if err := w.sealUntilDone(done); !errors.Is(err, events.ErrDeadlinePassed) || w.nonce("host") != 1 {
		t.Fatalf("error %v after %d transactions, want ErrDeadlinePassed after one", err, w.nonce("host"))
	}
	most := new(big.Int)
	for _, tx := range p.seen(0) {
		if tx.GasFeeCap().Cmp(new(big.Int).SetUint64(cfg.MaxFeeCapWei)) > 0 {
			t.Fatalf("a fee of %s is above the limit", tx.GasFeeCap())
		}
		if tx.Gas() != 21_000 && tx.GasFeeCap().Cmp(most) > 0 {
			most = tx.GasFeeCap()
		}
	}
	if room := new(big.Int).Mul(most, big.NewInt(1125)); room.Cmp(new(big.Int).Mul(newBig(cfg.MaxFeeCapWei), big.NewInt(1000))) > 0 {
		t.Fatalf("a call offers %s, which leaves no room for an empty transaction below %d", most, cfg.MaxFeeCapWei)
	}
}

func newBig(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
