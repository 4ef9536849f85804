package chain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestStuckTransactionIsOfferedForMore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	store := storetest.NewMemory()
	m := w.host("host", t.TempDir(), store)
	call := callFor(w.request(), 0)
	w.gate.set(false, true)
	done := make(chan error, 1)
	go func() {
		_, err := m.ReserveSlot(t.Context(), call)
		done <- err
	}()
	w.sealUntilHolds("a second attempt", func() bool {
		// A third event may follow before the next look.
		got := eventsOf(t, store, m.Account())
		return len(got) >= 3 && cmp.Equal(got[:3], []string{"TxIntended", "TxSent", "TxSent"})
	})
	w.gate.set(false, false)
	w.sealUntilHolds("a receipt", func() bool {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return true
		default:
			return false
		}
	})
	if n := w.nonce("host"); n != 1 {
		t.Fatalf("%d transactions were mined, want 1", n)
	}
}

func TestTransactionThatComesTooLateIsReplacedByAnEmptyOne(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	store := storetest.NewMemory()
	m := w.host("host", t.TempDir(), store)
	call := callFor(w.request(), 0)
	call.Deadline = w.chain.Head().Time.Add(3 * time.Second)
	nonce, before := w.nonce("host"), w.gate.sent()
	w.gate.set(false, true)
	done := make(chan error, 1)
	go func() {
		_, err := m.ReserveSlot(t.Context(), call)
		done <- err
	}()
	w.await("the attempt is sent", func() bool { return w.gate.sent() > before })
	w.sealUntil(call.Deadline)
	// Before that, on a slow machine, the call may have been sent with a higher fee.
	w.await("the empty transaction", func() bool {
		return strings.Contains(lastOf(t, store, m.Account()), `"gasLimit":"21000"`)
	})
	w.gate.set(false, false)
	var err error
	w.sealUntilHolds("an answer", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	if !errors.Is(err, events.ErrDeadlinePassed) || w.nonce("host") != nonce+1 {
		t.Fatalf("error %v after %d transactions, want ErrDeadlinePassed after one",
			err, w.nonce("host")-nonce)
	}
	facts, err := m.Slot(t.Context(), call.Request, call.Index)
	if err != nil || !facts.CanReserve {
		t.Fatalf("facts %+v (%v): the late reservation was mined", facts, err)
	}
}
