package chain_test

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

// hostDir is where a host keeps its record: a directory with an event store in it, as far as this
// package is concerned.
type hostDir struct {
	dir   string
	store *storetest.Memory
}

func newHostDir(t *testing.T) hostDir { return hostDir{t.TempDir(), storetest.NewMemory()} }

// copied is a copy of the directory: a backup, or the directory on another machine.
func (p hostDir) copied(t *testing.T) hostDir {
	t.Helper()
	c := newHostDir(t)
	if err := os.CopyFS(c.dir, os.DirFS(p.dir)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	revisions := map[string]uint64{}
	for e, err := range p.store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		_, err := c.store.Append(t.Context(), e.Stream, events.ExpectNext(revisions[e.Stream]),
			[]events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta}})
		if err != nil {
			t.Fatal(err)
		}
		revisions[e.Stream]++
	}
	return c
}

// guarded is a host's market together with its reports of other users.
type guarded struct {
	*chain.Market
	mu   sync.Mutex
	uses []tx.ForeignUse
}

func (g *guarded) told() []tx.ForeignUse {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.uses)
}

// begins dials from a directory; the caller closes the market, or the end of the test does.
func (w *world) begins(p hostDir, changes ...func(*chain.Config)) (*guarded, error) {
	w.t.Helper()
	return w.beginsWith(p.store, p.dir, changes...)
}

func (w *world) beginsWith(store events.Store, dir string, changes ...func(*chain.Config)) (*guarded, error) {
	w.t.Helper()
	g := &guarded{}
	cfg := w.config("host")
	cfg.UsedElsewhere = func(u tx.ForeignUse) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.uses = append(g.uses, u)
	}
	for _, change := range changes {
		change(&cfg)
	}
	m, err := w.dial(cfg, store, dir)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	w.t.Cleanup(func() { once.Do(func() { _ = m.Close() }) })
	g.Market = m
	return g, nil
}

// must is a dial that has to succeed.
func (w *world) must(g *guarded, err error) *guarded {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("it does not begin: %v", err)
	}
	return g
}

// refused checks that a dial failed with an error that contains these words.
func (w *world) refused(err error, words ...string) {
	w.t.Helper()
	if !errors.Is(err, tx.ErrUsedElsewhere) {
		w.t.Fatalf("it begins, or fails for another reason: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("%q does not say %q", err, word)
		}
	}
}

func takeOver(cfg *chain.Config) { cfg.TakeOver = true }

// ranLong makes a host older than newcomers are.
func ranLong(cfg *chain.Config) { cfg.Began = time.Now().Add(-time.Hour) }

// end closes a market and takes it from those that the world waits for.
func (w *world) end(g *guarded) {
	w.t.Helper()
	w.markets = slices.DeleteFunc(w.markets, func(m *chain.Market) bool { return m == g.Market })
	if err := g.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// byHand sends a transaction with the host's key, as another user of the key would, and seals it.
func (w *world) byHand(to common.Address, data []byte) {
	w.t.Helper()
	key, nonce := keyOf(w.name+"host"), w.nonce("host")
	w.send(key, nonce, to, data, nil)
	w.await("it is mined", func() bool {
		w.seal(1)
		return w.nonce("host") > nonce
	})
}

// send sends a transaction from any account.
func (w *world) send(key *ecdsa.PrivateKey, nonce uint64, to common.Address, data []byte, wei *big.Int) {
	w.t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, GasTipCap: big.NewInt(40 * params.GWei),
		GasFeeCap: big.NewInt(400 * params.GWei), Gas: 200_000, To: &to, Data: data, Value: wei,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.SendTransaction(w.t.Context(), tx); err != nil {
		w.t.Fatalf("send by hand: %v", err)
	}
}

// wallet is a transfer that a person makes.
func (w *world) wallet() { w.byHand(common.Address{0x11}, nil) }

// otherHost is a call that only a host makes.
func (w *world) otherHost() {
	call := callFor(w.request(), 1)
	w.byHand(common.Address(w.at.Marketplace), bindings.NewMarketplace().PackReserveSlot(call.Request, call.Index))
}

// observed are the counts of others' transactions in the directory's record.
func (w *world) observed(p hostDir) (counts []uint64) {
	w.t.Helper()
	codec := events.NewCodec(transactions.Table())
	for e, err := range p.store.ReadStream(w.t.Context(), events.TxStream(w.account("host")), events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			w.t.Fatal(err)
		}
		m, err := codec.Decode(e)
		if err != nil {
			w.t.Fatal(err)
		}
		if o, ok := m.(*messages.TxCountObserved); ok {
			counts = append(counts, o.GetCount())
		}
	}
	return counts
}

// recorded waits until the record has this many events of transactions.
func (w *world) recorded(p hostDir, want int) {
	w.t.Helper()
	w.await("the record is complete", func() bool {
		return len(historyOf(w.t, p.store, w.account("host"))) == want
	})
}

func TestAnOlderRecordOfAnAccountDoesNotBeginUnasked(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	r, p := w.request(), newHostDir(t)
	g := w.must(w.begins(p))
	w.reserve(g.Market, "host", callFor(r, 0))
	w.recorded(p, 3)
	backup := p.copied(t)
	w.reserve(g.Market, "host", callFor(r, 1))
	w.recorded(p, 6)
	w.end(g)

	_, err := w.begins(backup)
	w.refused(err, "has mined 2 transactions", "knows of 1")
	if w.end(w.must(w.begins(p))); len(w.observed(p)) != 0 {
		t.Fatal("the record that is up to date notes something")
	}
	w.end(w.must(w.begins(backup, takeOver)))
	again := w.must(w.begins(backup)) // Once is enough.
	w.recorded(backup, 4)
	if counts := w.observed(backup); !slices.Equal(counts, []uint64{2}) {
		t.Fatalf("noted %d, want 2 once", counts)
	}
	w.reserve(again.Market, "host", callFor(w.request(), 0))
}

func TestANewRecordDoesNotBeginUnaskedWhereTheAccountHostsSlots(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	r, p := w.request(), newHostDir(t)
	g := w.must(w.begins(p))
	w.reserve(g.Market, "host", callFor(r, 0))
	w.fill(g.Market, "host", callFor(r, 0))
	w.end(g)

	fresh := newHostDir(t)
	_, err := w.begins(fresh)
	w.refused(err, "hosts 1 slots")
	w.end(w.must(w.begins(fresh, takeOver)))
	w.must(w.begins(fresh))
}

func TestANewRecordBeginsWhereTheAccountWasAWalletOnly(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.wallet()
	p := newHostDir(t)
	g := w.must(w.begins(p))
	w.reserve(g.Market, "host", callFor(w.request(), 0))
	if told := g.told(); len(told) != 0 {
		t.Fatalf("what a wallet did before is told as %v", told)
	}
	w.end(g)
	w.must(w.begins(p))
}

func TestAWalletsTransactionIsToldAndRecordedAndEndsNobody(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newHostDir(t)
	g := w.must(w.begins(p))
	r := w.request()
	w.reserve(g.Market, "host", callFor(r, 0))
	w.wallet()
	w.await("it is told", func() bool { return len(g.told()) == 1 })
	if use := g.told()[0]; use.Host || use.Ends || use.Nonce != 1 || use.Mined != 2 || use.Transaction.Zero() {
		t.Fatalf("it is told as %+v", use)
	}
	w.await("it is recorded", func() bool { return slices.Equal(w.observed(p), []uint64{2}) })
	w.wallet()
	w.await("the second is recorded", func() bool { return slices.Equal(w.observed(p), []uint64{2, 3}) })
	if n := len(g.told()); n != 1 {
		t.Fatalf("told %d times within an hour", n)
	}
	w.reserve(g.Market, "host", callFor(r, 1))
	w.end(g)
	w.must(w.begins(p))
}

func TestAWalletsTransactionRightBeforeAStopIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newHostDir(t)
	g := w.must(w.begins(p, func(cfg *chain.Config) { cfg.PollInterval = time.Hour })) // It looks only when it must.
	call := callFor(w.request(), 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.ReserveSlot(ctx, call)
		done <- err
	}()
	w.await("it is sent", func() bool { return w.waiting("host") })
	w.seal(1)
	cancel()
	<-done
	w.wallet()
	w.end(g)
	w.must(w.begins(p))
}
