package esdb_test

import (
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
	_ "github.com/hostnode/hostnode/events/protoconflict" // the client registers gossip.proto
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// TestMain also demands that no goroutine outlives the tests: neither ours nor
// the client's.
func TestMain(m *testing.M) {
	// The client leaks an idle connection when the first call on it fails (discoverNode in its
	// impl.go), as on a slow machine.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}

// serve serves a store by the protocol, and returns the address.
func serve(t testing.TB, cfg wire.Config) string {
	t.Helper()
	server, err := wire.New(cfg)
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
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// serveStore is serve without users.
func serveStore(t testing.TB, store events.Store) string {
	t.Helper()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store behind the server: %v", err)
		}
	})
	return serve(t, wire.Config{Store: store, Anonymous: wire.RoleAdmin})
}

// plain is the connection string of a server without TLS.
func plain(address string) string { return "esdb://" + address + "?tls=false" }

// patience is long enough for any machine under any load: it only turns what
// would hang into a failure.
const patience = 4 * time.Minute

// open opens a store; timeouts that a test does not set are long.
func open(t testing.TB, cfg esdb.Config) *esdb.Store {
	t.Helper()
	if cfg.OpenTimeout == 0 {
		cfg.OpenTimeout = patience
	}
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = time.Minute
	}
	s, err := esdb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreOverTheWireToMemory(t *testing.T) {
	storetest.RunRemote(t, func(t *testing.T) events.Store {
		return open(t, esdb.Config{URL: plain(serveStore(t, storetest.NewMemory()))})
	}, storetest.Options{})
}

func TestStoreOverTheWireWithoutBatchAppend(t *testing.T) {
	storetest.RunRemote(t, func(t *testing.T) events.Store {
		return open(t, esdb.Config{URL: plain(serveStore(t, storetest.NewMemory())), NoBatch: true})
	}, storetest.Options{})
}

func TestStoreOverTheWireToTheEmbeddedStore(t *testing.T) {
	storetest.RunRemote(t, func(t *testing.T) events.Store {
		behind, _, err := embedded.Open(t.TempDir(), embedded.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return open(t, esdb.Config{URL: plain(serveStore(t, behind))})
	}, storetest.Options{})
}

// TestStoreOverAServerThatOthersUse runs the suite as against a real server, where there are
// other events and every test begins where the last one ended.
func TestStoreOverAServerThatOthersUse(t *testing.T) {
	behind := storetest.NewMemory()
	for n := range 3 {
		if _, err := behind.Append(t.Context(), "others-1", events.Any(), oneEvent(n)); err != nil {
			t.Fatal(err)
		}
	}
	url := plain(serveStore(t, behind))
	o := likeReal()
	o.DeleteForgets = false // As the store behind this server.
	storetest.RunRemote(t, func(t *testing.T) events.Store { return open(t, esdb.Config{URL: url}) }, o)
}

// likeReal lists what an EventStoreDB does differently from our server.
func likeReal() storetest.Options {
	return storetest.Options{
		Shared: true, NoVirtual: os.Getenv("HOSTNODE_TEST_ESDB_NO_PROJECTIONS") != "", Late: true,
		DeleteForgets: true, AppendBytes: events.PreferredAppendBytes,
	}
}

// TestStoreOverTheOperatorsServer runs against a server that is named to it:
// docs/eventstore.md, "Testing against your own server".
func TestStoreOverTheOperatorsServer(t *testing.T) {
	url := os.Getenv("HOSTNODE_TEST_ESDB")
	if url == "" {
		t.Skip("set HOSTNODE_TEST_ESDB=esdb://user:password@host:2113 to run the suite against a server of yours")
	}
	storetest.RunRemote(t, func(t *testing.T) events.Store {
		return open(t, esdb.Config{URL: url, CallTimeout: time.Minute})
	}, likeReal())
}
