package chain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// disbelieved collects the answers that were not believed.
type disbelieved struct {
	mu  sync.Mutex
	all []rpc.AnswerError
}

func (d *disbelieved) tell(e rpc.AnswerError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, e)
}

func (d *disbelieved) told() []rpc.AnswerError {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]rpc.AnswerError(nil), d.all...)
}

// someLies are all that a node is known to tell, or each third.
func someLies() (told []nodetest.Lie) {
	for i, lie := range nodetest.Lies() {
		if i%3 == 0 || !testing.Short() {
			told = append(told, lie)
		}
	}
	return told
}

// Each lie lasts from the start over a whole sale: with an honest endpoint beside it, the sale goes
// on, the feed tells the truth, and the operator hears which node is not believed.
func TestALieIsFoundOutAndTheSaleGoesOnAtAnHonestEndpoint(t *testing.T) {
	for _, lie := range someLies() {
		t.Run(lie.Name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			w.mint("host", 10_000_000)
			honest := newGate(t, w.chain.Attach())
			var found disbelieved
			cfg := w.config("host")
			cfg.Fallbacks, cfg.NotBelieved = []string{honest.server.URL}, found.tell
			call := callFor(w.request(), 0)
			w.seal(2)
			w.gate.has(lie.New())
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			d := w.follow(m.Feed(), events.Cursor{})
			w.caughtUp(d)
			w.drive("host", until(func(ctx context.Context) error { _, err := m.ReserveSlot(ctx, call); return err }))
			w.drive("host", until(func(ctx context.Context) error { _, err := m.FillSlot(ctx, call, goodProof(1)); return err }))
			w.seal(1)
			w.caughtUp(d)
			if diff := cmp.Diff([]string{"StorageRequested", "ProofSubmitted", "SlotFilled"}, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			if number := d.at().Number; number != w.chain.Head().Number {
				t.Fatalf("the feed is at block %d, the chain at %d", number, w.chain.Head().Number)
			}
			slots, err := m.MySlots(t.Context())
			if err != nil || len(slots) != 1 || slots[0].Slot != call.Slot {
				t.Fatalf("slots: %v, %v", slots, err)
			}
			all := found.told()
			if len(all) == 0 && lie.Rare() {
				return
			}
			if len(all) == 0 || all[0].Endpoint != w.gate.server.URL || all[0].Reason == "" {
				t.Fatalf("told: %v", all)
			}
			for _, e := range all {
				if e.Endpoint != w.gate.server.URL {
					t.Errorf("an honest node is not believed: %v", &e)
				}
			}
		})
	}
}

// Without another endpoint, nothing of the lie is passed on and the host waits; when the node tells
// the truth again, everything goes on.
func TestALieOfTheOnlyEndpointIsToldAndWaitedFor(t *testing.T) {
	for _, lie := range someLies() {
		t.Run(lie.Name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			w.mint("host", 10_000_000)
			var found disbelieved
			cfg := w.config("host")
			cfg.NotBelieved = func(e rpc.AnswerError) {
				found.tell(e)
				w.gate.has(nil)
			}
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			call := callFor(w.request(), 0)
			w.seal(2)
			w.gate.has(lie.New())
			d := w.follow(m.Feed(), events.Cursor{})
			w.drive("host", until(func(ctx context.Context) error { _, err := m.ReserveSlot(ctx, call); return err }))
			w.seal(1)
			if lie.Rare() {
				_, _ = m.Shared().Conn.ByHash(t.Context(), common.HexToHash(w.hashAt(1))) // It is told, or the test fails.
			}
			w.await("the lie is told", func() bool { return len(found.told()) > 0 })
			w.caughtUp(d)
			if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			for _, u := range d.seen() {
				if at := u.Head; w.hashAt(at.Number) != at.Hash.String() {
					t.Errorf("the feed told of block %d, %s", at.Number, at.Hash)
				}
			}
		})
	}
}

// A record from before these checks may end with a block that was never on the chain.
func TestFeedGoesOnBehindABlockThatNeverWas(t *testing.T) {
	poison := map[string]func(events.Head) events.Cursor{
		"number 2^64-2": func(h events.Head) events.Cursor {
			return events.Cursor{Number: 1<<64 - 2, Hash: events.Hash{1}, Time: h.Time}
		},
		"number 2^64-2 at an unknown time": func(events.Head) events.Cursor {
			return events.Cursor{Number: 1<<64 - 2, Hash: events.Hash{1}}
		},
		"a thousand more than it was": func(h events.Head) events.Cursor {
			return events.Cursor{Number: h.Number + 1000, Hash: h.Hash, Time: h.Time}
		},
	}
	for name, poisoned := range poison {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.newHost("host")
			before := w.chain.Head()
			at := poisoned(before)
			at.Recent = map[uint64]events.Hash{before.Number: before.Hash, at.Number: at.Hash}
			w.request()
			w.seal(1)
			d := w.follow(m.Feed(), at)
			w.caughtUp(d)
			if diff := cmp.Diff([]string{"reorganized: 1 dropped", "StorageRequested"}, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			if gone := d.seen()[0].Reorganized; gone.GetAncestor() != before.Number {
				t.Fatalf("goes back to block %d, want %d", gone.GetAncestor(), before.Number)
			}
		})
	}
}

// A node that lags is no reason to undo anything.
func TestFeedWaitsForANodeThatLags(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	before := w.chain.Head()
	at := events.Cursor{
		Number: before.Number + 2, Hash: events.Hash{1}, Time: before.Time.Add(time.Hour),
		Recent: map[uint64]events.Hash{before.Number: before.Hash},
	}
	var looks atomic.Int64
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Param(0) == `"latest"` {
			looks.Add(1)
		}
		return node(r)
	})
	d := w.follow(m.Feed(), at)
	w.await("some looks", func() bool { return looks.Load() > 10 })
	if got := d.seen(); len(got) != 0 {
		t.Fatalf("the feed told %v", got)
	}
}

// A start at a node that lies waits for it, and reports it once, however often it asks.
func TestAStartAtALiarTellsItOnceAndWaits(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	var found disbelieved
	cfg := w.config("host")
	cfg.NotBelieved = found.tell
	rounds := 0
	cfg.Waits = func(err error) {
		if rounds++; rounds == 5 {
			w.gate.has(nil)
		}
		if !errors.Is(err, rpc.ErrUnavailable) {
			t.Errorf("it waits for %v", err)
		}
	}
	w.gate.has(nodetest.Lies()[0].New())
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if rounds < 5 || len(found.told()) != 1 {
		t.Fatalf("told %d times in %d rounds", len(found.told()), rounds)
	}
}

// A lie about how blocks follow on each other is also found where they are read in ranges: nothing
// of it is delivered, and a consumer that finds an update impossible makes the node doubted.
func TestBlocksThatDoNotFollowOnEachOtherAreNeverTold(t *testing.T) {
	const behindTheWalk = 129 // blocks; one fewer are read one by one
	w := newWorld(t)
	doubting := func() (*chain.Market, *disbelieved) {
		cfg, found := w.config("host"), &disbelieved{}
		cfg.NotBelieved = found.tell
		m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m, found
	}
	m, found := doubting()
	at, err := m.HeadAt(t.Context(), w.chain.Head().Number-behindTheWalk)
	if err != nil {
		t.Fatal(err)
	}
	cursor := events.Cursor{Number: at.Number, Hash: at.Hash, Recent: map[uint64]events.Hash{at.Number: at.Hash}}
	refuses := func(context.Context, events.ChainUpdate) error { return events.ErrImpossible }
	if err := m.Feed().Follow(t.Context(), cursor, refuses); !errors.Is(err, events.ErrImpossible) || len(found.told()) != 1 {
		t.Fatalf("the feed ended with %v, and the node was doubted %d times", err, len(found.told()))
	}
	m, found = doubting()
	lies := nodetest.Lies()
	w.gate.has(lies[slices.IndexFunc(lies, func(l nodetest.Lie) bool { return l.Name == "no block follows on another" })].New())
	d := w.follow(m.Feed(), cursor)
	w.await("the lie is told", func() bool { return len(found.told()) > 0 })
	if seen := d.seen(); len(seen) > 0 {
		t.Fatalf("the feed told of block %d, on %s", seen[0].Head.Number, seen[0].Head.Parent)
	}
	w.gate.has(nil)
	w.caughtUp(d)
}

// until repeats a call while its error is temporary, as the actors do.
func until(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			err := f(ctx)
			if err == nil || ctx.Err() != nil || !errors.Is(err, rpc.ErrUnavailable) {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// Before something irreversible follows, a second endpoint must say the same.
func TestTwoEndpointsThatDifferAreToldAndNothingIsConfirmed(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	other := newGate(t, w.chain.Attach())
	var found disbelieved
	cfg := w.config("host")
	cfg.Fallbacks, cfg.NotBelieved = []string{other.server.URL}, found.tell
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	facts, err := m.Slot(t.Context(), call.Request, call.Index)
	if err != nil {
		t.Fatal(err)
	}
	confirmed := func(f events.SlotFacts) error { return m.Confirm(t.Context(), call.Request, call.Index, f) }
	if err := confirmed(facts); err != nil {
		t.Fatalf("two that agree: %v", err)
	}
	if err := m.ConfirmNotOurs(t.Context(), call.Slot); !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("a slot that is ours there: %v", err)
	}
	if err := m.ConfirmNotOurs(t.Context(), events.SlotID{1}); err != nil {
		t.Fatalf("a slot that is nobody's: %v", err)
	}
	lost := facts
	lost.Host, lost.SlotState = events.Address{}, events.SlotRepair
	for range 2 {
		if err := confirmed(lost); !errors.Is(err, rpc.ErrUnavailable) {
			t.Fatalf("two that differ: %v", err)
		}
	}
	elsewhere := facts
	elsewhere.At.Hash = events.Hash{1}
	if err := confirmed(elsewhere); !errors.Is(err, rpc.ErrUnavailable) {
		t.Fatalf("a block that only one knows: %v", err)
	}
	if all := found.told(); len(all) != 1 { // At most once a minute.
		t.Fatalf("told: %v", all)
	}
	ahead := facts
	ahead.At.Hash, ahead.At.Number = events.Hash{1}, facts.At.Number+10
	if err := confirmed(ahead); !errors.Is(err, rpc.ErrUnavailable) || !strings.Contains(err.Error(), "lags behind") {
		t.Fatalf("a second endpoint that lags: %v", err)
	}
	ahead.At.Number += 1000
	if err := confirmed(ahead); err != nil {
		t.Fatalf("a second endpoint that is far behind: %v", err)
	}
	other.set(true, false)
	if err := confirmed(lost); err != nil {
		t.Fatalf("a second endpoint that does not answer: %v", err)
	}
}
