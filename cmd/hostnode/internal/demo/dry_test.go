//go:build !race

package demo

import (
	"context"
	"math"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
)

// counted puts an endpoint in front of the chain that counts the transactions that come through it.
func counted(t *testing.T, ipc string) (url string, asked, sent *atomic.Int64) {
	t.Helper()
	behind, err := rpc.Dial(ipc)
	check(t, err)
	t.Cleanup(behind.Close)
	asked, sent = &atomic.Int64{}, &atomic.Int64{}
	front := httptest.NewServer(nodetest.Node(behind, func(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer {
		if asked.Add(1); r.Method == "eth_sendRawTransaction" || r.Method == "eth_sendTransaction" {
			sent.Add(1)
		}
		return node(r)
	}))
	t.Cleanup(front.Close)
	return front.URL, asked, sent
}

// A dry run has the key of its account within reach, and a host with the same account sells beside it.
func TestADryRunSendsNothingAndRecordsWhatItWouldHaveSold(t *testing.T) {
	var beside node.Options
	var host atomic.Pointer[node.Node]
	var asked, sent *atomic.Int64
	s := setUp(t, play{
		periods: 1, source: func(*client) string { return "http://127.0.0.1:1" }, // There is nothing to fetch from.
		change: func(s *stage) devchain.Pacer {
			beside = s.options
			beside.Dir = datadir.At(t.TempDir())
			beside.Fetch.Sources = []string{s.client.url}
			s.options.Dry, s.options.Key, s.options.Keys = true, nil, nil
			s.options.Chain.Endpoint, asked, sent = counted(t, s.local.IPCPath())
			return pacer(s.local, longestHold, func(ctx context.Context) (Progress, error) {
				p, err := s.progress(ctx)
				if n := host.Load(); err == nil && n != nil {
					alone := stage{node: n}
					other, err := alone.progress(ctx)
					p.Working = p.Working || other.Working
					return p, err
				}
				return p, err
			})
		},
	})
	began := s.balance(t)
	id := s.begin(t)
	poll(t, func(ctx context.Context) bool { // Nobody else is there, so it is the first for all slots.
		st, err := s.node.Host.Status(ctx)
		check(t, err)
		hosted := 0
		for _, one := range st.Sales {
			if one.State.Hosting() {
				hosted++
			}
		}
		return hosted == 3
	})
	if state, err := s.client.account.RequestState(t.Context(), id); err != nil || state != events.RequestNew {
		t.Fatalf("on chain the request is %s (%v)", state, err)
	}
	if got := s.balance(t); got != began {
		t.Fatalf("the account holds %s, and began with %s", got, began)
	}
	store, _, err := embedded.Open(filepath.Join(t.TempDir(), "events"), embedded.Config{})
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	beside.Store = store
	n, err := node.Start(t.Context(), beside)
	check(t, err)
	t.Cleanup(func() { check(t, n.Stop(context.WithoutCancel(t.Context()))) })
	host.Store(n)
	poll(t, func(ctx context.Context) bool {
		return n.Host.Ledger(ctx, capacity.Create{At: time.Now(), ID: events.AvailabilityID{2}, Now: capacity.Offer{
			Size: 100 << 20, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(math.MaxInt64), Enabled: true,
		}}) == nil
	})
	s.over(t, id)
	if got := s.phases(t); got["Finished"] != 3 {
		t.Fatalf("sales of the dry run ended as %v, want 3 finished", got)
	}
	if asked.Load() == 0 || sent.Load() != 0 {
		t.Fatalf("the dry run asked its endpoint %d times, and sent %d transactions", asked.Load(), sent.Load())
	}
	sold := stage{node: n, store: store, client: s.client}
	sold.over(t, id)
	if got := sold.phases(t); got["Finished"] != 3 {
		t.Fatalf("sales of the host ended as %v, want 3 finished", got)
	}
	stored, err := s.node.Repo.Stored(t.Context())
	if err != nil || len(stored) != 0 {
		t.Fatalf("%d slots of the dry run are on disk (%v)", len(stored), err)
	}
}
