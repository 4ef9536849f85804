package chain_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// readerConfig is the configuration of a process without the account's key.
func (w *world) readerConfig(name string) chain.Config {
	cfg := w.config(name)
	cfg.Key, cfg.Account = nil, w.account(name)
	return cfg
}

func (w *world) owns(m *chain.Market, store events.Store, dir string) {
	w.t.Helper()
	if err := m.Own(w.t.Context(), store, dir); err != nil {
		w.t.Fatalf("own: %v", err)
	}
}

func (w *world) disowns(m *chain.Market) {
	w.t.Helper()
	if err := m.Disown(); err != nil {
		w.t.Fatalf("disown: %v", err)
	}
}

// sendingCalls are the calls that need the account's transactions.
func sendingCalls(m *chain.Market, r events.Request) map[string]func(context.Context) error {
	call := callFor(r, 0)
	return map[string]func(context.Context) error{
		"ReserveSlot": func(ctx context.Context) error { _, err := m.ReserveSlot(ctx, call); return err },
		"FillSlot":    func(ctx context.Context) error { _, err := m.FillSlot(ctx, call, goodProof(1)); return err },
		"SubmitProof": func(ctx context.Context) error { _, err := m.SubmitProof(ctx, call, 1, goodProof(1)); return err },
		"TakenProofs": func(ctx context.Context) error { _, err := m.TakenProofs(ctx, call.Slot, 0); return err },
		"FreeSlot":    func(ctx context.Context) error { _, err := m.FreeSlot(ctx, call); return err },
		"MarkMissing": func(ctx context.Context) error {
			_, err := m.MarkMissing(ctx, refOf(r, 0), 1, time.Time{})
			return err
		},
		"Sent":         func(ctx context.Context) error { _, err := m.Sent(ctx); return err },
		"Transactions": func(ctx context.Context) error { _, err := submit(ctx, m, tx.Call{Key: "give:1"}); return err },
	}
}

// readings are what a market reads, of a request whose first slot is its account's.
func readings(t *testing.T, m *chain.Market, r events.Request) map[string]any {
	t.Helper()
	all := map[string]any{"Account": m.Account(), "Token": m.Token(), "Identity": m.Identity()}
	note := func(what string, v any, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		all[what] = v
	}
	ctx := t.Context()
	config, err := m.Config(ctx)
	note("Config", config, err)
	head, err := m.Head(ctx)
	note("Head", head, err)
	block, err := m.HeadAt(ctx, head.Number-1)
	note("HeadAt", block, err)
	heads, err := m.HeadsBetween(ctx, head.Number-3, head.Number)
	note("HeadsBetween", heads, err)
	request, err := m.Request(ctx, r.ID)
	note("Request", request, err)
	slot, err := m.Slot(ctx, r.ID, 0)
	note("Slot", slot, err)
	holds, at, err := m.HoldsReservation(ctx, r.ID, 1)
	note("HoldsReservation", []any{holds, at}, err)
	mine, err := m.MySlots(ctx)
	note("MySlots", mine, err)
	balance, err := m.Balance(ctx)
	note("Balance", []any{balance.Tokens, balance.Wei, balance.ProofWei.IsZero(), balance.SaleWei.IsZero()}, err)
	final, err := m.Final(ctx, head.Number-1)
	note("Final", final, err)
	note("Confirm", nil, m.Confirm(ctx, r.ID, 0, slot))
	note("ConfirmNotOurs", nil, m.ConfirmNotOurs(ctx, refOf(r, 1).Slot))
	missing, err := m.Missing(ctx, []events.SlotRef{refOf(r, 0), refOf(r, 1)}, 1)
	note("Missing", missing, err)
	return all
}

func TestAMarketWithoutAKeyReadsWhatTheHostReadsAndSendsNothing(t *testing.T) {
	w := newWorld(t)
	host := w.newHost("host")
	r := w.request()
	w.reserve(host, "host", callFor(r, 1))
	w.occupy(host, "host", r, 0)
	cfg := w.readerConfig("host")
	cfg.Fallbacks = []string{w.chain.IPCPath()} // The second endpoint, for Confirm.
	m := w.reader(cfg)
	if diff := cmp.Diff(readings(t, host, r), readings(t, m, r), amounts); diff != "" {
		t.Errorf("without a key (-host +reader):\n%s", diff)
	}
	sent := w.gate.sent()
	for name, call := range sendingCalls(m, r) {
		if err := call(t.Context()); !errors.Is(err, events.ErrNotOwner) {
			t.Errorf("%s ends with %v", name, err)
		}
	}
	if err := m.Own(t.Context(), storetest.NewMemory(), t.TempDir()); !errors.Is(err, chain.ErrConfig) {
		t.Errorf("without a key it begins to send: %v", err)
	}
	m.DutiesDue(w.chain.Head().Time)
	since, away := m.RecordAway()
	if _, limited := m.FeeLimit(); limited || away != nil || !since.IsZero() || m.Failure() != nil {
		t.Errorf("it tells of transactions: %v, %v since %v, %v", limited, away, since, m.Failure())
	}
	w.disowns(m)
	if n := w.gate.sent() - sent; n != 0 {
		t.Errorf("it sent %d transactions", n)
	}
}

func TestAccountAndKeyMustAgree(t *testing.T) {
	w := newWorld(t)
	other := w.config("host")
	other.Account = w.account("client")
	none := w.config("host")
	none.Key = nil
	for name, cfg := range map[string]chain.Config{"another's account": other, "no account": none} {
		if _, err := chain.DialReader(t.Context(), cfg); !errors.Is(err, chain.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := chain.Dial(t.Context(), w.readerConfig("host"), nil, t.TempDir()); !errors.Is(err, chain.ErrConfig) {
		t.Errorf("a host without a key: %v", err)
	}
	both := w.config("host")
	both.Account = w.account("host")
	w.reader(both)
}

// Whatever a call waits for, a block or the node, it ends with the ownership. The next owner goes on with
// what it sent.
func TestCallsUnderWayEndWithTheOwnership(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	m, dir, store := w.reader(w.config("host")), t.TempDir(), storetest.NewMemory()
	w.owns(m, store, dir)
	r := w.request()
	reserve := func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) }
	mining := later(w, reserve)
	w.await("it is sent", func() bool { return w.waiting("host") })
	waiting := later(w, reserve) // Until no transaction for the same slot is under way.
	asked, answer := w.gate.blocks("eth_call")
	defer answer()
	asking := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 1)) })
	<-asked
	w.disowns(m)
	for name, done := range map[string]<-chan error{"mining": mining, "waiting": waiting, "asking the node": asking} {
		if err := <-done; !errors.Is(err, events.ErrNotOwner) || errors.Is(err, context.Canceled) {
			t.Errorf("%s ends with %v", name, err)
		}
	}
	answer()
	w.owns(m, store, dir)
	if receipt := w.reserve(m, "host", callFor(r, 0)); receipt.TxHash.Zero() || w.nonce("host") != 1 {
		t.Fatalf("receipt %+v, %d transactions were mined", receipt, w.nonce("host"))
	}
}

// blocks lets the node answer no call of a method until answer is called. asked is closed by the first one.
func (g *gate) blocks(method string) (asked <-chan struct{}, answer func()) {
	first, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == method {
			once.Do(func() { close(first) })
			<-free
		}
		return node(r)
	})
	return first, sync.OnceFunc(func() { close(free) })
}

func TestDisownEndsAnOwnThatWaitsForTheNode(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	cfg := w.config("host")
	cfg.Waits = func(error) {} // Without end.
	m, dir, store := w.reader(cfg), t.TempDir(), storetest.NewMemory()
	asked, answer := w.gate.blocks("eth_getTransactionCount")
	defer answer()
	owning := make(chan error, 1)
	go func() { owning <- m.Own(t.Context(), store, dir) }()
	<-asked
	w.disowns(m)
	if err := <-owning; !errors.Is(err, events.ErrNotOwner) {
		t.Fatalf("own ends with %v", err)
	}
	if _, err := m.Sent(t.Context()); !errors.Is(err, events.ErrNotOwner) {
		t.Fatalf("afterwards it sends: %v", err)
	}
	answer()
	w.owns(m, store, dir)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Own(t.Context(), store, dir); !errors.Is(err, tx.ErrStopped) {
		t.Fatalf("after Close: %v", err)
	}
}

func TestOwningAndDisowningTwiceChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	m, dir, store := w.reader(w.config("host")), t.TempDir(), storetest.NewMemory()
	w.disowns(m)
	failed := m.Failed()
	call := callFor(w.request(), 0)
	var receipts []events.Receipt
	for range 2 {
		w.owns(m, store, dir)
		w.owns(m, store, dir)
		receipts = append(receipts, w.reserve(m, "host", call))
		w.disowns(m)
		w.disowns(m)
	}
	if diff := cmp.Diff(receipts[0], receipts[1], amounts); diff != "" || receipts[0].TxHash.Zero() {
		t.Fatalf("the next owner reports another reservation (-first +second):\n%s", diff)
	}
	if failed != m.Failed() {
		t.Fatal("an end that was wanted counts as a failure")
	}
}

// All at once: no call ends with another error than ErrNotOwner, and in the end the account works.
func TestOwnershipMayChangeAtAnyTime(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	m, dir, store := w.reader(w.config("host")), t.TempDir(), storetest.NewMemory()
	r := w.request()
	const rounds = 20
	var all sync.WaitGroup
	repeat := func(what string, f func() error) {
		all.Go(func() {
			for range rounds {
				if err := f(); err != nil && !errors.Is(err, events.ErrNotOwner) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	repeat("own", func() error { return m.Own(t.Context(), store, dir) })
	repeat("own too", func() error { return m.Own(t.Context(), store, dir) })
	repeat("disown", m.Disown)
	for _, name := range []string{"TakenProofs", "Sent"} {
		repeat(name, func() error { return sendingCalls(m, r)[name](t.Context()) })
	}
	repeat("proves beside", func() error {
		_, err := m.SubmitProofAnyway(t.Context(), dir, callFor(r, 0), 1, goodProof(1))
		if errors.Is(err, events.ErrNotOurSlot) { // That far it got.
			return nil
		}
		return err
	})
	repeat("reads", func() error { _, err := m.Balance(t.Context()); return err })
	repeat("tells", func() error {
		m.DutiesDue(time.Time{})
		m.FeeLimit()
		m.Failed()
		_, away := m.RecordAway()
		return errors.Join(away, m.Failure())
	})
	all.Wait()
	w.owns(m, store, dir)
	if receipt := w.reserve(m, "host", callFor(r, 0)); receipt.TxHash.Zero() {
		t.Fatal("there is no receipt")
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Two members own the transactions in turn, except that one does not hear of the other in time: its
// ownership fails. It is told so each time, whenever it began to listen, and may own them again.
func TestAFailureIsThatOfOneOwnership(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	store, dir, dirOther := storetest.NewMemory(), t.TempDir(), t.TempDir()
	m, other := w.reader(w.config("host")), w.reader(w.config("host"))
	for i := range uint64(2) {
		failed := m.Failed() // Before there is anything that could fail.
		w.owns(m, store, dir)
		w.owns(other, store, dirOther)
		w.reserve(other, "host", callFor(w.request(), i))
		<-failed
		why := m.Failure()
		if !errors.Is(why, tx.ErrUsedElsewhere) || !isClosed(m.Failed()) {
			t.Fatalf("it failed with %v", why)
		}
		if err := m.Own(t.Context(), store, dir); !errors.Is(err, why) {
			t.Fatalf("owning what has failed: %v", err)
		}
		w.disowns(other)
		w.disowns(m)
		if err := m.Failure(); err != nil || isClosed(m.Failed()) {
			t.Fatalf("who owns nothing has failed: %v", err)
		}
	}
	w.owns(m, store, dir)
	if receipt := w.reserve(m, "host", callFor(w.request(), 0)); receipt.TxHash.Zero() {
		t.Fatal("there is no receipt")
	}
}

// intentsOf are the calls that a market has been asked for.
func intentsOf(t *testing.T, m *chain.Market) (all []tx.Intent) {
	t.Helper()
	err := m.Shared().Tx.WithManager(t.Context(), func(_ context.Context, manager *tx.Manager) (err error) {
		all, err = manager.Intents("")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A member hears of its duties before it becomes the owner.
func TestDutiesThatWereToldBeforeCount(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	m := w.reader(w.config("host"))
	r := w.request()
	p := newPool(w)
	m.DutiesDue(w.chain.Head().Time.Add(7 * time.Second))
	w.owns(m, storetest.NewMemory(), t.TempDir())
	held := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	w.await("it waits", func() bool { return len(intentsOf(t, m)) == 1 })
	w.sealStep()
	w.sealStep()
	if n := len(p.seen(0)); n != 0 {
		t.Fatal("what can wait was sent")
	}
	m.DutiesDue(time.Time{})
	if err := w.sealUntilDone(held); err != nil {
		t.Fatal(err)
	}
	if w.nonce("host") != 1 {
		t.Fatalf("%d transactions were mined", w.nonce("host"))
	}
}
