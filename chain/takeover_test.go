package chain_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

func outboxOf(t *testing.T, m *member) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.dir, events.TxStream(m.Account())+".outbox"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// quoted is a nonce as it is stored.
func quoted(nonce uint64) string { return fmt.Sprintf(`"%d"`, nonce) }

// inOutage is an owner that has sent a proof while the event store is away, and was then cut off. The proof is in the
// pool, and no block takes it.
func inOutage(t *testing.T) (
	w *world, old *member, record *storetest.Memory, call events.SlotCall, period uint64, r events.Request,
) {
	t.Helper()
	w = newWorld(t)
	r = w.request()
	w.fund("host")
	w.mint("host", 10_000_000)
	record = storetest.NewMemory()
	old = w.newMember(t.TempDir(), record)
	call, period = w.duePeriod(old.Market)
	w.await("the record is complete", func() bool { return len(sendingOf(t, record, old.Account())) == 9 })
	w.chain.Hold(true)
	t.Cleanup(func() { w.chain.Hold(false) })
	old.store.refuses(allAppends)
	later(w, func(ctx context.Context) (events.Receipt, error) {
		return old.SubmitProof(ctx, call, period, goodProof(2))
	})
	w.await("the proof is in the pool", func() bool { return w.waiting("host") })
	w.cutOff(old)
	return w, old, record, call, period, r
}

func TestAProofThatOnlyThePoolKnowsIsLeftAloneAndRecordedWhenItsOwnerReturns(t *testing.T) {
	for name, mined := range map[string]bool{"before the next owner begins": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			w, old, record, call, period, r := inOutage(t)
			before := w.nonce("host")
			if mined {
				w.chain.Hold(false)
				w.seal(1)
			}
			fresh := w.newMember(t.TempDir(), record)
			p := &pool{takes: everything}
			fresh.gate.has(p.answer)
			done := w.reserving(fresh, callFor(r, 0))
			w.await("it is sent", func() bool { return p.count() > 0 })
			if n := len(p.seen(before)); n != 0 {
				t.Fatalf("%d transactions with the proof's nonce", n)
			}
			w.chain.Hold(false)
			if err := w.sealUntilDone(done); err != nil || w.nonce("host") != before+2 || fresh.Failure() != nil {
				t.Fatalf("after %d transactions: %v, failed with %v", w.nonce("host")-before, err, fresh.Failure())
			}
			if n := len(fresh.told()); mined && (n != 1 || !fresh.told()[0].FormerOwner || fresh.told()[0].Ends) || n > 1 {
				t.Fatalf("told %+v", fresh.told())
			}
			// The former owner comes back with what only its outbox has.
			old.store.refuses(nil)
			<-old.Failed()
			w.end(old.guarded)
			w.end(fresh.guarded)
			again := w.newMember(old.dir, record)
			taken, err := again.TakenProofs(t.Context(), call.Slot, period)
			if err != nil || len(taken) != 1 || taken[0].Receipt.TxHash.Zero() {
				t.Fatalf("taken proofs: %+v, %v", taken, err)
			}
			w.await("it is in the record", func() bool {
				return strings.Contains(lastOf(t, record, again.Account()), taken[0].Receipt.TxHash.String())
			})
			w.reserve(again.Market, "host", callFor(r, 1))
			if n := len(again.told()); n != 0 {
				t.Fatalf("the returned owner tells %+v", again.told())
			}
		})
	}
}

// Both owners send the same call. Both transactions are followed.
func TestACallThatTwoOwnersSentIsFollowedTwice(t *testing.T) {
	w, old, record, _, _, _ := inOutage(t)
	before := w.nonce("host")
	twice := func(m *member) chan error {
		return later(w, func(ctx context.Context) (*types.Receipt, error) {
			return m.Submit(ctx, tx.Call{Key: "proof:x:1", To: common.Address{0x33}, Gas: 30_000})
		})
	}
	old.gate.set(false, false)
	first := twice(old)
	w.await("it is in the pool", func() bool { return w.chain.Pending() == 2 })
	old.gate.set(true, false)
	fresh := w.newMember(t.TempDir(), record)
	second := twice(fresh)
	w.await("both are in the pool", func() bool { return w.chain.Pending() == 3 })
	old.store.refuses(nil)
	<-old.Failed()
	w.end(old.guarded)
	w.end(fresh.guarded)
	<-first
	<-second
	again := w.newMember(old.dir, record)
	w.chain.Hold(false)
	w.sealUntilHolds("both are in the record", func() bool {
		keys := minedKeys(t, record, again.Account())
		return slices.Contains(keys, "proof:x:1#1") && slices.Contains(keys, "proof:x:1#2")
	})
	if n := w.nonce("host"); n != before+3 || again.Failure() != nil {
		t.Fatalf("%d transactions were mined, failed with %v", n-before, again.Failure())
	}
}

// minedKeys are the keys of the recorded successes.
func minedKeys(t *testing.T, record *storetest.Memory, who events.Address) (keys []string) {
	t.Helper()
	codec := events.NewCodec(transactions.Table())
	for e, err := range record.ReadStream(t.Context(), events.TxStream(who), events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		m, err := codec.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if mined, ok := m.(*messages.TxMined); ok && mined.GetSucceeded() {
			keys = append(keys, mined.GetKey())
		}
	}
	return keys
}

// pending is a cheap transaction of the account that the record does not know, in the pool.
func (w *world) pending(nonce uint64) common.Hash {
	w.t.Helper()
	tip, err := w.client.SuggestGasTipCap(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	head, err := w.client.HeaderByNumber(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if least := big.NewInt(10_000_000); tip.Cmp(least) < 0 { // The least that we offer.
		tip = least
	}
	more := func(wei *big.Int) *big.Int { // 5%: neither outbid by a first attempt, nor hard to outbid.
		return new(big.Int).Div(new(big.Int).Mul(wei, big.NewInt(105)), big.NewInt(100))
	}
	to := common.Address{0x22}
	unknown, err := types.SignNewTx(keyOf(w.name+"host"), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)),
		&types.DynamicFeeTx{
			ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, Gas: 21_000, To: &to, GasTipCap: more(tip),
			GasFeeCap: more(new(big.Int).Add(tip, new(big.Int).Lsh(head.BaseFee, 1))),
		})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.SendTransaction(w.t.Context(), unknown); err != nil {
		w.t.Fatalf("send by hand: %v", err)
	}
	return unknown.Hash()
}

func TestAnUnknownPendingNonceIsWaitedForAndThenReplaced(t *testing.T) {
	type node struct {
		counts bool // the node counts what is in its pool
		says   nodetest.Client
	}
	nodes := map[string]node{"a node without txpool": {counts: true}}
	for _, client := range nodetest.Clients() { // Its words alone tell of the other transaction.
		nodes["a node that says nothing of its pool: "+client.Name] = node{says: client}
	}
	for name, c := range nodes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			r := w.request()
			w.chain.Hold(true)
			t.Cleanup(func() { w.chain.Hold(false) })
			unknown := w.pending(0)
			p := &pool{takes: everything}
			m := w.newMember(t.TempDir(), storetest.NewMemory(), func(q rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				switch {
				case strings.HasPrefix(q.Method, "txpool_"):
					t.Errorf("%s is called", q.Method)
				case q.Method == "eth_getTransactionCount" && len(q.Params) == 2 && q.Param(1) == `"pending"` && !c.counts:
					return q.Fails(-32602, "no such block")
				}
				return nodetest.Stack(c.says.Speaks(), p.answer)(q, node)
			})
			done := w.reserving(m, callFor(r, 0))
			ours := uint64(0)
			if c.counts {
				ours = 1
			}
			w.await("it is sent", func() bool { return len(p.seen(ours)) > 0 })
			began := w.chain.Head().Number
			inPool := func() bool {
				_, pending, err := w.client.TransactionByHash(t.Context(), unknown)
				return err == nil && pending
			}
			for w.chain.Head().Number < began+leftAlone-1 {
				w.sealStep()
				if !inPool() || len(p.seen(0)) != int(1-ours) {
					t.Fatalf("at block %d of %d it is in the pool: %t; %d of ours have its nonce",
						w.chain.Head().Number-began, leftAlone, inPool(), len(p.seen(0)))
				}
			}
			w.sealUntilHolds("it is replaced", func() bool { return !inPool() })
			w.chain.Hold(false)
			if err := w.sealUntilDone(done); err != nil {
				t.Fatal(err)
			}
			if n := len(m.told()); n != 0 {
				t.Fatalf("told %+v", m.told())
			}
		})
	}
}

func TestWithRecordFirstNobodyEndsBecauseOfAnotherHostsCall(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	record := storetest.NewMemory()
	m := w.newMember(t.TempDir(), record)
	r := w.request()
	w.reserve(m.Market, "host", callFor(r, 0))
	w.otherHost()
	w.await("it is told", func() bool { return len(m.told()) == 1 })
	w.wallet() // No owner of the account makes such a call.
	w.await("the wallet is told", func() bool { return len(m.told()) == 2 })
	if host, wallet := m.told()[0], m.told()[1]; !host.Host || host.Ends || !host.FormerOwner || wallet.FormerOwner {
		t.Fatalf("told %+v", m.told())
	}
	w.reserve(m.Market, "host", callFor(r, 1))
	w.end(m.guarded)
	fresh := w.newMember(t.TempDir(), record)
	if n := len(fresh.told()); n != 0 {
		t.Fatalf("the next owner is told %+v", fresh.told())
	}
	if err := errors.Join(m.Failure(), fresh.Failure()); err != nil {
		t.Fatal(err)
	}
}
