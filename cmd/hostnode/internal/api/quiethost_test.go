package api_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
)

// quietMarket is a market on which nothing ever happens: it has a head, a balance, and
// no requests. Nothing is sold, so the calls that send something are never made and
// are left to the embedded nil interface.
type quietMarket struct {
	port.Market
	mu      sync.Mutex
	balance events.Balance
	fails   error
}

var (
	me   = events.Address{0xc0, 1}
	head = events.Head{Number: 300, Hash: events.Hash{3}, Parent: events.Hash{2}, Time: events.Unix(1_750_000_000)}
)

func (m *quietMarket) Account() events.Address { return me }

func (m *quietMarket) Config(context.Context) (events.MarketConfig, error) {
	return events.MarketConfig{
		MaxNumberOfSlashes: 2, SlashPercentage: 20, MaxReservations: 3, RequestDurationLimit: 24 * time.Hour,
		Proofs: events.ProofConfig{
			Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67, KeyHash: "k",
		},
	}, nil
}

func (m *quietMarket) Head(context.Context) (events.Head, error)           { return head, nil }
func (m *quietMarket) HeadAt(context.Context, uint64) (events.Head, error) { return head, nil }
func (m *quietMarket) MySlots(context.Context) ([]events.OwnedSlot, error) { return nil, nil }

func (m *quietMarket) Balance(context.Context, ...events.Head) (events.Balance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.balance, m.fails
}

func (m *quietMarket) holds(tokens, wei uint64, fails error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.balance, m.fails = events.Balance{Tokens: events.NewAmount(tokens), Wei: events.NewAmount(wei)}, fails
}

// quietFeed says once that the head was seen.
type quietFeed struct{}

func (quietFeed) Follow(
	ctx context.Context, _ events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	if err := deliver(ctx, events.ChainUpdate{Head: head, Live: true}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f quietFeed) FollowHeads(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.Follow(ctx, from, deliver)
}

// idle stands for the ports that nobody calls on a quiet market.
type idle struct {
	port.Content
}

func (idle) Prove(context.Context, events.ProofJob) (events.ProofResult, error) {
	return events.ProofResult{}, events.ErrNoSuchSlot
}
func (idle) KeyHash() string                                        { return "k" }
func (idle) Stored(context.Context) ([]events.StoredSlot, error)    { return nil, nil }
func (idle) Delete(context.Context, events.SlotID) error            { return nil }
func (idle) Extend(context.Context, events.SlotID, time.Time) error { return nil }
func (idle) Room() (events.Bytes, error)                            { return 1 << 40, nil }
func (idle) ScrubProgress() events.ScrubProgress                    { return events.ScrubProgress{} }

func (idle) Scrub(context.Context, time.Time, events.Bytes) (events.Scrubbed, error) {
	return events.Scrubbed{Ended: true}, nil
}

func (idle) Check(context.Context, events.SlotID, uint64, events.Bytes) (none events.Checked, err error) {
	return none, events.ErrNoSuchSlot
}
func (idle) Limit(events.Bytes) {}
func (idle) Now() time.Time     { return time.Now() }
func (idle) After(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// running starts a host on a quiet market, in a bubble of fake time.
func running(t *testing.T) (live *api.Live, m *quietMarket, kill func()) {
	t.Helper()
	return runningOn(t, storetest.NewMemory())
}

func runningOn(t *testing.T, store events.Store, changes ...func(*api.LiveConfig),
) (live *api.Live, m *quietMarket, kill func()) {
	t.Helper()
	return runningWith(t, store, 10<<20, changes...)
}

func runningWith(t *testing.T, store events.Store, quota events.Bytes, changes ...func(*api.LiveConfig),
) (live *api.Live, m *quietMarket, kill func()) {
	t.Helper()
	return runningPorts(t, store, quota, func(*actors.Ports) {}, changes...)
}

func runningPorts(
	t *testing.T, store events.Store, quota events.Bytes, more func(*actors.Ports), changes ...func(*api.LiveConfig),
) (live *api.Live, m *quietMarket, kill func()) {
	t.Helper()
	live, m, _, kill = started(t, store, quota, more, changes...)
	synctest.Wait()
	return live, m, kill
}

// started is runningPorts outside of a bubble: it does not wait for the host.
func started(
	t testing.TB, store events.Store, quota events.Bytes, more func(*actors.Ports), changes ...func(*api.LiveConfig),
) (live *api.Live, m *quietMarket, host *actors.Host, kill func()) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	m = &quietMarket{}
	m.holds(1<<20, 7, nil)
	ports := actors.Ports{
		Market: m, Feed: quietFeed{}, Prover: idle{}, Repo: idle{}, Content: idle{}, Clock: idle{}, Store: store,
	}
	more(&ports)
	host, err := actors.Start(t.Context(), actors.Config{
		Node: "test", Version: "v1", ChainID: 31337, Genesis: events.Hash{1}, Contract: events.Address{0xcc},
		Quota: quota,
	}, ports, logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	p, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p.Follow(t.Context())
	kill = sync.OnceFunc(host.Kill) // A host is killed once.
	t.Cleanup(func() {
		kill()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := api.LiveConfig{
		Source: api.Source{Account: me, DataDir: "/data", Endpoint: "ws://node"},
		Host:   host, Store: store, Projector: p, Balance: m.Balance, Development: true,
		Standing: func() (none rpc.Reachability) { return none }, Signing: func() string { return "" },
		FeeLimit: func() (none tx.FeeLimit, _ bool) { return none, false },
		Outage:   func() (none health.OutageFacts) { return none },
	}
	for _, change := range changes {
		change(&cfg)
	}
	return api.NewLive(cfg), m, host, kill
}

func ask[A any](t *testing.T, call func(context.Context) (A, error)) A {
	t.Helper()
	answer, err := call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// offer is small enough for the quota.
func offer() api.Offer {
	return api.Offer{Size: 1 << 20, DurationSeconds: 3600, MinPrice: "1", Collateral: "100000"}
}
