package projections

import (
	"net"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	_ "github.com/hostnode/hostnode/events/protoconflict" // the client registers gossip.proto
	"github.com/hostnode/hostnode/events/wire"
)

var _ watchful = (*esdb.Store)(nil)

// remote is a store as the official client of EventStoreDB reaches it.
func remote(t *testing.T, behind events.Store) *esdb.Store {
	t.Helper()
	server, err := wire.New(wire.Config{Store: behind, Anonymous: wire.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		<-served
	})
	store, err := esdb.Open(t.Context(), esdb.Config{URL: "esdb://" + listener.Addr().String() + "?tls=false"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return store
}

func TestViewsOverTheClientOfEventStoreDBAreTheSame(t *testing.T) {
	store, w := aDay(t)
	metadata(t, store, "another-stream", events.StreamMetadata{MaxCount: 7})
	far := remote(t, store)
	cfg := Config{Dir: t.TempDir()}
	p := open(t, far, cfg)
	p.Follow(t.Context())
	w.Life(7, 2)
	head, err := store.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitFor(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	same(t, built(t, store), p.views)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = open(t, far, cfg)
	if s := p.Status(); s.StartedFrom != head || s.Ignored != "" || s.Away != "" {
		t.Fatalf("status %+v", s)
	}
	then, err := ViewsAt(t.Context(), far, Scope{}, UntilPosition(40))
	if err != nil {
		t.Fatal(err)
	}
	near, err := ViewsAt(t.Context(), store, Scope{}, UntilPosition(40))
	if err != nil {
		t.Fatal(err)
	}
	same(t, near, then)
}
