package chain_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// eventsOf are the names of an account's events, in order.
func eventsOf(t *testing.T, store events.Store, who events.Address) []string {
	t.Helper()
	var names []string
	for e, err := range store.ReadStream(t.Context(), events.TxStream(who), events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Type)
	}
	return names
}

// historyOf is the same without repeated sending: a transaction that some blocks do not take is
// sent again with a higher fee, and how many blocks that takes depends on the machine.
func historyOf(t *testing.T, store events.Store, who events.Address) []string {
	t.Helper()
	return slices.CompactFunc(eventsOf(t, store, who), func(x, y string) bool { return x == "TxSent" && y == "TxSent" })
}

// lastOf is the newest event of an account's transactions, as stored.
func lastOf(t *testing.T, store events.Store, who events.Address) string {
	t.Helper()
	newest := events.ReadStream{From: events.End, Backward: true, Limit: 1}
	for e, err := range store.ReadStream(t.Context(), events.TxStream(who), newest) {
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Data)
	}
	return ""
}

// started runs a call until its transaction is in the mempool, and then gives it up.
func (w *world) started(name string, f func(context.Context) error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	w.await("a transaction in the pool", func() bool { return w.waiting(name) })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		w.t.Fatalf("the call ended with %v", err)
	}
}

func TestHostThatDiesBeforeTheReceiptFindsItsTransactionAgain(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), storetest.NewMemory()
	m := w.host("host", dir, store)
	call := callFor(w.request(), 0)
	w.started("host", func(ctx context.Context) error {
		_, err := m.ReserveSlot(ctx, call)
		return err
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	w.seal(1)
	m = w.host("host", dir, store)
	receipt := w.reserve(m, "host", call)
	if receipt.TxHash.Zero() || w.nonce("host") != 1 {
		t.Fatalf("receipt %+v after %d transactions, want the first one's", receipt, w.nonce("host"))
	}
	w.await("the record is complete", func() bool {
		return cmp.Equal(historyOf(t, store, m.Account()), wholeTransaction())
	})
}

func TestHostThatDiesBeforeSendingSendsTheSameTransactionLater(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), storetest.NewMemory()
	m := w.host("host", dir, store)
	call := callFor(w.request(), 0)
	// The attempt is recorded but reaches no node.
	before := w.gate.sent()
	w.gate.set(false, true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.ReserveSlot(ctx, call)
		done <- err
	}()
	w.await("the attempt is sent", func() bool { return w.gate.sent() > before })
	cancel()
	<-done
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	w.gate.set(false, false)
	m = w.host("host", dir, store)
	if receipt := w.reserve(m, "host", call); receipt.TxHash.Zero() || w.nonce("host") != 1 {
		t.Fatalf("receipt %+v after %d transactions", receipt, w.nonce("host"))
	}
	w.await("the record is complete", func() bool {
		return cmp.Equal(historyOf(t, store, m.Account()), wholeTransaction())
	})
}

func TestLostOutboxIsRestoredFromTheStream(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	store := storetest.NewMemory()
	m := w.host("host", t.TempDir(), store)
	call := callFor(w.request(), 0)
	first := w.reserve(m, "host", call)
	w.await("the record is complete", func() bool { return len(historyOf(t, store, m.Account())) == 3 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = w.host("host", t.TempDir(), store)
	if again := w.reserve(m, "host", call); !cmp.Equal(first, again, amounts) {
		t.Fatalf("the same call brought %+v, first %+v", again, first)
	}
}

// The first one learns of the second from the record or from the chain, whichever comes first.
func TestSecondOwnerOfAnAccountStopsTheFirst(t *testing.T) {
	takenOver := func(err error) bool {
		return errors.Is(err, tx.ErrTakenOver) || errors.Is(err, tx.ErrUsedElsewhere)
	}
	w := newWorld(t)
	w.fund("host")
	store := storetest.NewMemory()
	r := w.request()
	first := w.host("host", t.TempDir(), store)
	second := w.host("host", t.TempDir(), store)
	w.reserve(second, "host", callFor(r, 0))
	w.await("the record of the second", func() bool { return len(historyOf(t, store, first.Account())) == 3 })
	w.drive("host", func(ctx context.Context) error {
		_, err := first.ReserveSlot(ctx, callFor(r, 1))
		if err != nil && !takenOver(err) && !errors.Is(err, tx.ErrStopped) {
			return err
		}
		return nil
	})
	w.await("the first has stopped", func() bool {
		other := callFor(w.request(), 0)
		err := w.try("host", func(ctx context.Context) error {
			_, err := first.ReserveSlot(ctx, other)
			return err
		})
		return takenOver(err)
	})
	select {
	case <-first.Failed():
	case <-t.Context().Done():
	}
	if err := first.Failure(); !takenOver(err) {
		t.Fatalf("the first says that it ended because of %v", err)
	}
	if err := second.Failure(); err != nil {
		t.Fatalf("the second failed, too: %v", err)
	}
}

func TestOutboxOfAnotherChainIsRefused(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir := t.TempDir()
	if err := w.host("host", dir, storetest.NewMemory()).Close(); err != nil {
		t.Fatal(err)
	}
	other, err := devchain.Open(t.Context(), devchain.Config{
		Dir: shortDir(t), Alloc: rich(), GenesisTime: time.Unix(1_600_000_000, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	there := newWorldOn(t, other)
	there.name = w.name // The same account on the other chain.
	cfg := there.config("host")
	_, err = w.dial(cfg, storetest.NewMemory(), dir)
	if !errors.Is(err, tx.ErrForeignOutbox) {
		t.Fatalf("error %v, want ErrForeignOutbox", err)
	}
}

func TestFillOfADroppedBlockIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	before := w.chain.Head()
	first := w.fill(m, "host", call)
	w.seal(2)
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(5) // The host may have sent its transaction again by now.
	isOn := func(block events.Head) bool {
		at, err := m.HeadAt(t.Context(), block.Number)
		if err != nil {
			t.Fatal(err)
		}
		return at.Hash == block.Hash
	}
	if isOn(first.Receipt.Block) {
		t.Fatalf("block %d of the fill is still on the chain", first.Block)
	}
	second := w.fill(m, "host", call)
	if !isOn(second.Receipt.Block) {
		t.Fatalf("the reported fill is not on the chain: %+v; that of the dropped block was %+v", second, first)
	}
	facts, err := m.Slot(t.Context(), call.Request, call.Index)
	if err != nil || facts.Host != m.Account() {
		t.Fatalf("slot after the second fill is %+v (%v)", facts, err)
	}
}

func TestMarketSurvivesANodeThatGoesAway(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.gate.set(true, false)
	if _, err := m.Head(t.Context()); !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("error %v, want ErrUnavailable", err)
	}
	w.gate.set(false, false)
	w.await("the node is back", func() bool {
		_, err := m.Head(t.Context())
		return err == nil
	})
	w.reserve(m, "host", callFor(w.request(), 0))
}

func TestManyTransactionsOfOneAccountAreAllMined(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	var calls []events.SlotCall
	for range 12 {
		r := w.request()
		calls = append(calls, callFor(r, 0), callFor(r, 1))
	}
	w.drive("host", func(ctx context.Context) error {
		errs := make(chan error, len(calls))
		for _, call := range calls {
			go func() {
				_, err := m.ReserveSlot(ctx, call)
				errs <- err
			}()
		}
		var all error
		for range calls {
			all = errors.Join(all, <-errs)
		}
		return all
	})
	if n := w.nonce("host"); n != uint64(len(calls)) {
		t.Fatalf("%d transactions were mined, want %d", n, len(calls))
	}
}

func TestUnconfirmedTransactionOfADroppedBlockIsMinedAgain(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	cfg := w.config("host")
	cfg.Confirmations = 3
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	call := callFor(w.request(), 0)
	before := w.chain.Head()
	answer := make(chan events.Receipt, 1)
	go func() {
		receipt, err := m.ReserveSlot(t.Context(), call)
		if err != nil {
			t.Errorf("reserve: %v", err)
		}
		answer <- receipt
	}()
	w.await("a transaction in the pool", func() bool { return w.waiting("host") })
	w.seal(2) // Two confirmations of three.
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(3)
	var receipt events.Receipt
	w.sealUntilHolds("a receipt", func() bool {
		select {
		case receipt = <-answer:
			return true
		default:
			return false
		}
	})
	// The manager may send it again before the first block of the new branch is sealed; the check
	// of the branch is below.
	if receipt.Block.Number <= before.Number || receipt.Block.Number+2 > w.chain.Head().Number {
		t.Fatalf("receipt is of block %d, the fork of %d, the head %d: not confirmed on the new branch",
			receipt.Block.Number, before.Number, w.chain.Head().Number)
	}
	if at, err := m.HeadAt(t.Context(), receipt.Block.Number); err != nil || at.Hash != receipt.Block.Hash {
		t.Fatalf("block of the receipt is not on the chain: %v", err)
	}
}

// TestACompactedOutboxCompletesAnEmptyStore: the store was lost, or another one was configured. No
// take-over is needed, because the outbox knows each transaction.
func TestACompactedOutboxCompletesAnEmptyStore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), storetest.NewMemory()
	m := w.host("host", dir, store)
	call := callFor(w.request(), 0)
	first := w.reserve(m, "host", call)
	w.await("the record is complete", func() bool { return len(historyOf(t, store, m.Account())) == 3 })
	if err := m.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // And once more with the result of that start.
		empty := storetest.NewMemory()
		m = w.host("host", dir, empty)
		if again := w.reserve(m, "host", call); again.TxHash != first.TxHash || w.nonce("host") != 1 {
			t.Fatalf("receipt of %s after %d transactions, want that of %s", again.TxHash, w.nonce("host"), first.TxHash)
		}
		w.await("the stream is complete", func() bool {
			return cmp.Equal(historyOf(t, empty, m.Account()),
				append([]string{"TxCountObserved"}, wholeTransaction()...))
		})
		if err := m.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
