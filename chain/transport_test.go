package chain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// transports are an endpoint of the same chain for each transport.
func transports(t *testing.T) (*devchain.Chain, map[string]string) {
	t.Helper()
	c, err := devchain.Open(t.Context(), devchain.Config{
		Dir: shortDir(t), Alloc: rich(), HTTPPort: devchain.AnyPort, WSPort: devchain.AnyPort,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, map[string]string{"ws": c.WSEndpoint(), "http": c.HTTPEndpoint(), "ipc": c.IPCPath()}
}

// The feed is the same over every transport: what came before the start, what comes later, what a
// reorganisation replaces, and where it resumes after a restart.
func TestFeedIsTheSameOverEveryTransport(t *testing.T) {
	c, endpoints := transports(t)
	for name, endpoint := range endpoints {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, c)
			w.fund("host")
			w.mint("host", 10_000_000)
			cfg := w.config("host")
			cfg.Endpoint = endpoint
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			call := callFor(w.request(), 0)
			w.seal(140) // The blocks before are read in ranges.
			d := w.follow(m.Feed(), events.Cursor{})
			w.caughtUp(d)
			w.reserve(m, "host", call)
			w.fill(m, "host", call)
			w.seal(1)
			w.caughtUp(d)
			if _, err := c.Reorganize(t.Context(), 2, true); err != nil {
				t.Fatal(err)
			}
			w.caughtUp(d)
			d.finish(t)
			w.fill(m, "host", call)
			again := w.follow(m.Feed(), d.at())
			w.caughtUp(again)
			want := []string{
				"StorageRequested", "ProofSubmitted", "SlotFilled", "reorganized: 2 dropped",
				"ProofSubmitted", "SlotFilled",
			}
			if diff := cmp.Diff(want, append(d.read(), again.read()...)); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			asked := m.Requests()
			if (asked["eth_subscribe"] > 0) == (name == "http") {
				t.Fatalf("%d subscriptions over %s", asked["eth_subscribe"], name)
			}
		})
	}
}
