package chain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

func TestOfTwoHostsWithACopyTheNewerEndsAndTheOlderGoesOn(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newHostDir(t)
	old := w.must(w.begins(p, ranLong))
	r := w.request()
	w.reserve(old.Market, "host", callFor(r, 0))
	w.recorded(p, 3)
	c := p.copied(t)
	fresh := w.must(w.begins(c)) // Nothing shows it yet.
	w.reserve(old.Market, "host", callFor(r, 1))
	<-fresh.Failed()
	if err := fresh.Failure(); !errors.Is(err, tx.ErrUsedElsewhere) || old.Failure() != nil {
		t.Fatalf("the newer: %v, the older: %v", err, old.Failure())
	}
	if told := fresh.told(); len(told) != 1 || !told[0].Host || !told[0].Ends {
		t.Fatalf("the newer tells %+v", told)
	}
	call := callFor(w.request(), 0)
	if _, err := fresh.ReserveSlot(t.Context(), call); !errors.Is(err, tx.ErrUsedElsewhere) {
		t.Fatalf("the newer goes on: %v", err)
	}
	w.end(fresh)
	_, err := w.begins(c)
	w.refused(err, "has mined 2 transactions", "knows of 1")
	if old.Failure() != nil || len(old.told()) != 0 {
		t.Fatalf("the older: %v, %v", old.Failure(), old.told())
	}
}

func TestAHostThatRanLongGoesOnBesideAnotherAndTells(t *testing.T) {
	for name, change := range map[string]func(*chain.Config){"it ran long": ranLong, "it took over": takeOver} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			p := newHostDir(t)
			g := w.must(w.begins(p, change))
			r := w.request()
			w.reserve(g.Market, "host", callFor(r, 0))
			w.otherHost()
			w.await("it is told", func() bool { return len(g.told()) == 1 })
			if use := g.told()[0]; !use.Host || use.Ends || g.Failure() != nil {
				t.Fatalf("told %+v, failed with %v", use, g.Failure())
			}
			w.reserve(g.Market, "host", callFor(r, 1))
			w.end(g)
			w.must(w.begins(p))
		})
	}
}

func TestANonceTakenByAnotherHostWhileOursWasOutEndsTheNewer(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.seal(1)
	p := newHostDir(t)
	g := w.must(w.begins(p))
	r := w.request()
	w.gate.set(false, true) // Our transaction is acknowledged and lost.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := g.ReserveSlot(ctx, callFor(r, 0))
		done <- err
	}()
	w.await("ours was sent", func() bool { return len(historyOf(t, p.store, g.Account())) >= 2 })
	w.byHand(common.Address(w.at.Marketplace), bindings.NewMarketplace().PackReserveSlot(r.ID, 1))
	w.gate.set(false, false)
	ended := func() bool { return g.Failure() != nil }
	w.await("the newer ends", func() bool {
		w.seal(1)
		w.looked(ended)
		return ended()
	})
	if err := <-done; !errors.Is(err, tx.ErrUsedElsewhere) {
		t.Fatalf("the call ends with %v", err)
	}
}

func TestACountThatFellWithAReorganisationIsNoReason(t *testing.T) {
	c, err := devchain.Open(t.Context(), devchain.Config{Dir: t.TempDir(), Alloc: rich()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w := newWorldOn(t, c)
	w.fund("host")
	p, r := newHostDir(t), w.request()
	g := w.must(w.begins(p))
	w.reserve(g.Market, "host", callFor(r, 0))
	w.end(g)
	if _, err := c.Reorganize(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	if n := w.nonce("host"); n != 0 {
		t.Fatalf("%d transactions are left after the reorganisation", n)
	}
	g = w.must(w.begins(p))
	w.reserve(g.Market, "host", callFor(r, 0))
	if len(g.told()) != 0 || len(w.observed(p)) != 0 {
		t.Fatalf("told %v, noted %v", g.told(), w.observed(p))
	}
}

func TestAnOutboxThatLacksTransactionsWaitsForTheEventStore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	r, store, dir := w.request(), newFlakyStore(), t.TempDir()
	m := w.host("host", dir, store)
	w.reserve(m, "host", callFor(r, 0))
	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	w.reserve(m, "host", callFor(r, 1))
	w.await("the record is complete", func() bool { return len(historyOf(t, store, m.Account())) == 6 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	store.away.Store(true)
	_, err := w.dial(w.config("host"), store, old)
	if !errors.Is(err, events.ErrAway) || errors.Is(err, tx.ErrUsedElsewhere) {
		t.Fatalf("with the store away: %v", err)
	}
	store.away.Store(false)
	w.host("host", old, store)
}
