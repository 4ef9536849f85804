package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// The adapter on the real contract obeys the port, like the fake of the suite.
func TestTheContractObeysItsPort(t *testing.T) {
	porttest.Provider(t, func(t *testing.T) porttest.ProviderWorld {
		if testing.Short() && strings.HasSuffix(t.Name(), "a_ticket_gets_too_old") {
			t.Skip("8200 blocks")
		}
		w := newWorld(t)
		return porttest.ProviderWorld{
			Provider: w.newProvider("provider"), Mine: w.seal,
			Drive: func(call func(context.Context) error) error { return w.try("provider", call) },
		}
	})
}

// A provider outlives the ownership of its account's transactions.
func TestTransactionsAreSentWhileTheyAreOwned(t *testing.T) {
	w := newWorld(t)
	w.fund("provider")
	w.mint("provider", 10_000_000)
	p, m := w.reader("provider")
	dir, store := t.TempDir(), storetest.NewMemory()
	refused := func() {
		t.Helper()
		if _, err := p.Withdraw(t.Context(), "a"); !errors.Is(err, events.ErrNotOwner) {
			t.Fatalf("nobody sends it, and it ends with %v", err)
		}
		if _, err := p.Owed(t.Context()); err != nil {
			t.Fatalf("it does not read: %v", err)
		}
	}
	refused()
	owns := func() {
		t.Helper()
		if err := m.Own(t.Context(), store, dir); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		owns()
		if _, err := p.Withdraw(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := m.Disown(); err != nil {
			t.Fatal(err)
		}
		refused()
	}
	owns()
	s := &sealing{world: w, p: p, data: porttest.NewSectorData(t)}
	s.draws(3)
	asked := make(chan error, 1)
	go func() {
		_, err := p.PreCommit(t.Context(), s.call)
		asked <- err
	}()
	w.await("it is sent", func() bool { return w.waiting("provider") })
	if err := m.Disown(); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; !errors.Is(err, events.ErrNotOwner) {
		t.Fatalf("under way, it ends with %v", err)
	}
	owns()
	if r := s.preCommits(); r.TxHash.Zero() {
		t.Fatal("there is no receipt")
	}
}
