package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// withoutStore is a host that has used its outbox before and now waits for its event store. It
// hosts a slot.
func withoutStore(t *testing.T) (w *world, p hostDir, g *guarded, call events.SlotCall) {
	t.Helper()
	w = newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	p = newHostDir(t)
	before := w.must(w.begins(p))
	call = callFor(w.request(), 0)
	w.reserve(before.Market, "host", call)
	w.fill(before.Market, "host", call)
	w.recorded(p, 9) // Reserve, approve and fill.
	w.end(before)
	return w, p, w.must(w.beginsWithout(p.dir)), call
}

// beginsWithout dials without a store.
func (w *world) beginsWithout(dir string) (*guarded, error) {
	return w.beginsWith(nil, dir)
}

// nextProof submits a proof of the next period.
func (w *world) nextProof(m *chain.Market, call events.SlotCall) (period uint64, err error) {
	w.t.Helper()
	const seconds = 20
	period = uint64(w.chain.Head().Time.Unix())/seconds + 1
	w.sealUntil(events.Unix(period * seconds))
	return period, w.try("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(byte(period)))
		return err
	})
}

func TestWhatIsSentWithoutAStoreIsRecordedByTheNextStart(t *testing.T) {
	w, p, g, call := withoutStore(t)
	period, err := w.nextProof(g.Market, call)
	if err != nil {
		t.Fatal(err)
	}
	if since, reason := g.RecordAway(); since.IsZero() || !errors.Is(reason, events.ErrAway) {
		t.Fatalf("the store is away since %s: %v", since, reason)
	}
	w.end(g)
	if n := len(historyOf(t, p.store, w.account("host"))); n != 9 {
		t.Fatalf("the record has %d events already", n)
	}
	g = w.must(w.begins(p))
	w.recorded(p, 12)
	taken, err := g.TakenProofs(t.Context(), call.Slot, period)
	if err != nil || len(taken) != 1 || taken[0].Period != period {
		t.Fatalf("taken proofs: %+v, %v", taken, err)
	}
}

func TestWithoutAStoreAnOutboxMustHaveBeenUsed(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	dir := t.TempDir()
	for range 2 { // The first try leaves a file behind.
		if _, err := w.beginsWithout(dir); !errors.Is(err, events.ErrAway) {
			t.Fatalf("with an outbox that was never used: %v", err)
		}
	}
}

func TestWithoutAStoreAnOlderOutboxDoesNotBegin(t *testing.T) {
	w, p, g, call := withoutStore(t)
	older := t.TempDir()
	if err := os.CopyFS(older, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.nextProof(g.Market, call); err != nil {
		t.Fatal(err)
	}
	w.end(g)
	if _, err := w.beginsWithout(older); !errors.Is(err, events.ErrAway) {
		t.Fatalf("with an outbox that lacks a transaction: %v", err)
	}
	w.must(w.beginsWithout(p.dir))
}

// Any other use of the account ends a market without a store. The next start with a store judges it
// as usual.
func TestWithoutAStoreAnybodyWhoUsesTheAccountEndsTheSending(t *testing.T) {
	for name, c := range map[string]struct {
		use    func(*world)
		begins error // the start with the store
	}{
		"a wallet":     {(*world).wallet, nil},
		"another host": {(*world).otherHost, tx.ErrUsedElsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, g, call := withoutStore(t)
			c.use(w)
			w.await("it ends", func() bool { return g.Failure() != nil })
			sent := w.gate.sent()
			if _, err := w.nextProof(g.Market, call); !errors.Is(err, tx.ErrUsedElsewhere) || w.gate.sent() != sent {
				t.Fatalf("a proof afterwards: %v, %d were sent", err, w.gate.sent()-sent)
			}
			w.end(g)
			if _, err := w.begins(p); !errors.Is(err, c.begins) {
				t.Fatalf("the next start: %v, want %v", err, c.begins)
			}
		})
	}
}

// Knowing that more was mined than we know of is enough to hold back a proof; finding out who it
// was may take a while.
func TestWithoutAStoreNothingIsSentWhileTheAccountMayBeUsedElsewhere(t *testing.T) {
	w, p, g, call := withoutStore(t)
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		var whole bool
		if r.Method == "eth_getBlockByNumber" && json.Unmarshal(r.Params[1], &whole) == nil && whole {
			return r.Fails(-32000, "not now")
		}
		return node(r)
	})
	const seconds = 20
	period := uint64(w.chain.Head().Time.Unix())/seconds + 1
	w.sealUntil(events.Unix(period * seconds))
	w.otherHost()
	sent, done := w.gate.sent(), make(chan error, 1)
	go func() {
		_, err := g.SubmitProof(t.Context(), call, period, goodProof(1))
		done <- err
	}()
	w.await("it is to be sent", func() bool {
		outbox, err := os.ReadFile(filepath.Join(p.dir, events.TxStream(w.account("host"))+".outbox"))
		return err == nil && strings.Contains(string(outbox), "proof:")
	})
	for range 4 {
		w.sealStep()
	}
	if n := w.gate.sent() - sent; n != 0 {
		t.Fatalf("%d transactions were sent", n)
	}
	w.gate.has(nil)
	ended := func() bool { return g.Failure() != nil }
	w.await("it ends", func() bool {
		w.seal(1)
		w.looked(ended)
		return ended()
	})
	if err := <-done; !errors.Is(err, tx.ErrUsedElsewhere) {
		t.Fatalf("the proof ends with %v", err)
	}
	if n := w.gate.sent() - sent; n != 0 {
		t.Fatalf("%d transactions were sent at last", n)
	}
}
