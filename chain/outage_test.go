package chain_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// flakyStore is a store that can be away, or lose its answers after it has written.
type flakyStore struct {
	events.Store
	away, loses atomic.Bool
	lost        atomic.Int32
}

func newFlakyStore() *flakyStore { return &flakyStore{Store: storetest.NewMemory()} }

func (s *flakyStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if s.away.Load() {
		return events.AppendResult{}, events.ErrAway
	}
	r, err := s.Store.Append(ctx, stream, expected, batch)
	if s.loses.Load() && err == nil {
		s.lost.Add(1)
		return events.AppendResult{}, events.ErrAway
	}
	return r, err
}

func (s *flakyStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if s.away.Load() {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, events.ErrAway) }
	}
	return s.Store.ReadStream(ctx, stream, q)
}

// wholeTransaction are the events of one complete transaction.
func wholeTransaction() []string { return []string{"TxIntended", "TxSent", "TxMined"} }

func TestTransactionsGoOutWhileTheStoreIsAwayAndAreRecordedLater(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), newFlakyStore()
	m := w.host("host", dir, store)
	r := w.request()
	w.reserve(m, "host", callFor(r, 0)) // From here on the outbox knows where the stream ends.
	store.away.Store(true)
	if receipt := w.reserve(m, "host", callFor(r, 1)); receipt.TxHash.Zero() {
		t.Fatal("no receipt")
	}
	w.await("it says that the store is away", func() bool {
		since, reason := m.RecordAway()
		return !since.IsZero() && errors.Is(reason, events.ErrAway)
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = w.host("host", dir, store) // The store is still away.
	if again := w.reserve(m, "host", callFor(r, 1)); again.TxHash.Zero() || w.nonce("host") != 2 {
		t.Fatalf("after the restart: %+v, %d transactions", again, w.nonce("host"))
	}
	store.away.Store(false)
	w.await("the record is complete", func() bool {
		return cmp.Equal(historyOf(t, store, m.Account()), append(wholeTransaction(), wholeTransaction()...))
	})
	w.await("it says that the store is back", func() bool {
		_, reason := m.RecordAway()
		return reason == nil
	})
}

func TestAnOutboxThatWasNeverUsedWaitsForTheStore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), newFlakyStore()
	store.away.Store(true)
	if _, err := chain.Dial(t.Context(), w.config("host"), store, dir); !errors.Is(err, events.ErrAway) {
		t.Fatalf("without the store: %v", err)
	}
	store.away.Store(false)
	w.host("host", dir, store)
}

// The copier cannot send the same append again, because there are more entries now.
func TestAnswersThatAreLostLeaveTheRecordWholeAndNobodyIsTakenForARival(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir, store := t.TempDir(), newFlakyStore()
	m := w.host("host", dir, store)
	r := w.request()
	store.loses.Store(true)
	w.reserve(m, "host", callFor(r, 0))
	w.await("an answer is lost", func() bool { return store.lost.Load() > 0 })
	w.reserve(m, "host", callFor(r, 1))
	if err := m.Close(); err != nil { // A restart does not know what was written, either.
		t.Fatal(err)
	}
	m = w.host("host", dir, store)
	third := callFor(w.request(), 0)
	w.reserve(m, "host", third)
	store.loses.Store(false)
	want := append(append(wholeTransaction(), wholeTransaction()...), wholeTransaction()...)
	w.await("the record is complete", func() bool { return cmp.Equal(historyOf(t, store, m.Account()), want) })
	if receipt := w.reserve(m, "host", third); receipt.TxHash.Zero() {
		t.Fatal("nothing is sent any more")
	}
}

func TestAProofOfBeforeACrashInAnOutageIsFoundAndNotSentAgain(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	dir, store := t.TempDir(), newFlakyStore()
	m := w.host("host", dir, store)
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	store.away.Store(true)
	const seconds = 20
	number := uint64(w.chain.Head().Time.Unix())/seconds + 1
	w.sealUntil(events.Unix(number * seconds))
	w.started("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, number, goodProof(2))
		return err
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	sent := w.nonce("host") + 1

	m = w.host("host", dir, store)
	var receipt events.Receipt
	w.drive("host", func(ctx context.Context) (err error) { // Two Groth16 proofs of the same statement differ.
		receipt, err = m.SubmitProof(ctx, call, number, goodProof(3))
		return err
	})
	if receipt.TxHash.Zero() || w.nonce("host") != sent {
		t.Fatalf("receipt %+v after %d transactions, want the one of before of %d", receipt, w.nonce("host"), sent)
	}
	taken, err := m.TakenProofs(t.Context(), call.Slot, number)
	want := []events.TakenProof{{Period: number, Receipt: receipt}}
	if diff := cmp.Diff(want, taken, amounts); diff != "" || err != nil {
		t.Fatalf("taken proofs (%v): %s", err, diff)
	}
	store.away.Store(false)
	w.await("the record is complete", func() bool {
		got := historyOf(t, store, m.Account())
		return len(got) == 12 && cmp.Equal(got[9:], wholeTransaction()) // After reserve, approve and fill.
	})
}

func TestTwoProofsOfOnePeriodAreNeverUnderWayAtOnce(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	m := w.host("host", t.TempDir(), newFlakyStore())
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	const seconds = 20
	number := uint64(w.chain.Head().Time.Unix())/seconds + 1
	w.sealUntil(events.Unix(number * seconds))
	before := w.nonce("host")
	receipts := make(chan events.Receipt, 8)
	for n := range byte(cap(receipts)) {
		go func() {
			for t.Context().Err() == nil { // What stands in the way passes.
				r, err := m.SubmitProof(t.Context(), call, number, goodProof(n))
				if err == nil {
					receipts <- r
					return
				}
			}
		}()
	}
	w.await("all have a receipt", func() bool {
		if w.waiting("host") {
			w.seal(1)
		}
		return len(receipts) == cap(receipts)
	})
	first := <-receipts
	for range cap(receipts) - 1 {
		if diff := cmp.Diff(first, <-receipts, amounts); diff != "" {
			t.Fatalf("two receipts: %s", diff)
		}
	}
	if n := w.nonce("host"); n != before+1 {
		t.Fatalf("%d transactions were sent", n-before)
	}
}
