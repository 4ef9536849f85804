package chain_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ct")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// diary collects what a feed delivers, as a consumer would.
type diary struct {
	mu      sync.Mutex
	updates []events.ChainUpdate
	lines   []string
	cursor  events.Cursor
	stop    context.CancelFunc
	ended   chan error
}

func (w *world) follow(f port.ChainFeed, from events.Cursor) *diary {
	ctx, cancel := context.WithCancel(w.t.Context())
	d := &diary{stop: cancel, ended: make(chan error, 1), cursor: from}
	if d.cursor.Recent == nil {
		d.cursor.Recent = map[uint64]events.Hash{}
	}
	go func() { d.ended <- f.Follow(ctx, from, d.take) }()
	w.t.Cleanup(func() {
		cancel()
		d.finish(w.t)
	})
	return d
}

func (d *diary) finish(t *testing.T) {
	t.Helper()
	d.stop()
	err, ok := <-d.ended
	if ok && !errors.Is(err, context.Canceled) {
		t.Errorf("follow ended with %v", err)
	}
	if ok {
		close(d.ended)
	}
}

func (d *diary) take(_ context.Context, u events.ChainUpdate) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updates = append(d.updates, u)
	if r := u.Reorganized; r != nil {
		d.lines = append(d.lines, fmt.Sprintf("reorganized: %d dropped", len(r.GetDropped())))
		for _, h := range r.GetDropped() {
			for n, known := range d.cursor.Recent {
				if known.String() == h {
					delete(d.cursor.Recent, n)
				}
			}
		}
		d.cursor.Number, d.cursor.Hash = r.GetAncestor(), u.Head.Hash
		return nil
	}
	for _, l := range u.Logs {
		name := string(l.ProtoReflect().Descriptor().Name())
		d.lines = append(d.lines, strings.TrimPrefix(name, "Chain"))
	}
	d.cursor.Number, d.cursor.Hash = u.Head.Number, u.Head.Hash
	d.cursor.Recent[u.Head.Number] = u.Head.Hash
	return nil
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

func (d *diary) seen() []events.ChainUpdate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]events.ChainUpdate(nil), d.updates...)
}

func (d *diary) at() events.Cursor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cursor
}

// caughtUp waits until the feed is at the newest block.
func (w *world) caughtUp(d *diary) {
	w.t.Helper()
	w.await("the feed is at the newest block", func() bool { return d.at().Hash == w.chain.Head().Hash })
}

func TestFeedTellsEverythingOnceFromTheDeploymentOn(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	call := callFor(r, 0)
	w.reserve(m, "host", call)
	w.seal(200) // What came before is read in ranges, the rest block by block.
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	other := callFor(w.request(), 1)
	w.reserve(m, "host", other)
	w.fill(m, "host", other)
	w.caughtUp(d)
	want := []string{"StorageRequested", "StorageRequested", "ProofSubmitted", "SlotFilled"}
	if diff := cmp.Diff(want, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
	requested, ok := firstLog(d).(*messages.ChainStorageRequested)
	if !ok || !cmp.Equal(events.RequestFromMessage(requested.GetRequest()), r, amounts) {
		t.Fatalf("first log is %v, want request %s in full", firstLog(d), r.ID)
	}
	if err := events.CheckMessage(requested); err != nil {
		t.Fatal(err)
	}
	facts, err := m.Slot(t.Context(), r.ID, 0)
	if err != nil || !requested.GetExpiresAt().AsTime().Equal(facts.RequestExpiry) {
		t.Fatalf("expiry is told as %v, the contract says %v (%v)",
			requested.GetExpiresAt().AsTime(), facts.RequestExpiry, err)
	}
}

func firstLog(d *diary) messages.MarketEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.updates {
		if len(u.Logs) > 0 {
			return u.Logs[0]
		}
	}
	return nil
}

func TestFeedContinuesAfterItsCursor(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.request()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	d.finish(t)
	w.request()
	again := w.follow(m.Feed(), d.at())
	w.caughtUp(again)
	if diff := cmp.Diff([]string{"StorageRequested"}, again.read()); diff != "" {
		t.Fatalf("feed after the cursor (-want +got):\n%s", diff)
	}
}

// Otherwise a restarted host would learn what it owes only with the next block.
func TestFeedThatBeginsAtTheNewestBlockSaysThatItIsTheNewest(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.request()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	d.finish(t)
	head := w.chain.Head()
	again := w.follow(m.Feed(), d.at())
	w.await("an update", func() bool { return len(again.seen()) > 0 })
	w.seal(1)
	w.caughtUp(again)
	again.finish(t)
	want := []events.ChainUpdate{{Head: head, Live: true}, {Head: w.chain.Head(), Live: true}}
	if diff := cmp.Diff(want, again.seen()); diff != "" {
		t.Fatalf("updates (-want +got):\n%s", diff)
	}
}

func TestReorganisationIsToldBeforeWhatReplacesIt(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	before := w.chain.Head()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.fill(m, "host", call)
	w.seal(1)
	w.caughtUp(d)
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(4)
	w.caughtUp(d)
	w.fill(m, "host", call)
	w.caughtUp(d)
	dropped := "reorganized: 3 dropped" // The blocks of approval and fill, and an empty one.
	want := []string{
		"StorageRequested", "ProofSubmitted", "SlotFilled", dropped, "ProofSubmitted", "SlotFilled",
	}
	if diff := cmp.Diff(want, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
	for _, u := range d.updates {
		if r := u.Reorganized; r != nil && (r.GetAncestor() != before.Number ||
			r.GetAncestorHash() != before.Hash.String() || len(u.Logs) > 0) {
			t.Fatalf("reorganisation is %v, want ancestor %+v", r, before)
		}
	}
}

func TestReorganisationDuringASleepIsFoundByTheCursor(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	before := w.chain.Head()
	w.request()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	d.finish(t)
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(10)
	again := w.follow(m.Feed(), d.at())
	w.caughtUp(again)
	if diff := cmp.Diff([]string{"reorganized: 1 dropped"}, again.read()); diff != "" {
		t.Fatalf("feed after the sleep (-want +got):\n%s", diff)
	}
}

func TestFeedSurvivesANodeThatGoesAway(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.set(true, false)
	w.seal(3)
	w.gate.set(false, false)
	w.await("the market is back", func() bool { _, err := m.Head(t.Context()); return err == nil })
	w.request()
	w.caughtUp(d)
	if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

func TestOversizedRequestIsLeftOutAndTheRestIsTold(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := events.Request{
		Ask: events.Ask{
			ProofProbability:      events.MaxAmount(),
			PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte:     events.MaxAmount(),
			Slots:                 1, SlotSize: 1, Duration: 300 * time.Second,
		},
		Content: events.Content{CID: strings.Repeat("x", 1025)},
		Expiry:  200 * time.Second,
	}
	ask := func() {
		w.drive("client", func(ctx context.Context) error {
			_, err := w.requester.RequestStorage(ctx, r)
			return err
		})
	}
	ask()
	r.Content.CID = "x" // Huge amounts by themselves are reported; the host judges them.
	r.Content.MerkleRoot = events.Root{31: 0xff}
	ask()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

func TestConsumerThatFailsEndsTheFeedWithItsError(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	errFull := errors.New("consumer is full")
	err := m.Feed().Follow(t.Context(), events.Cursor{}, func(context.Context, events.ChainUpdate) error {
		return errFull
	})
	if !errors.Is(err, errFull) {
		t.Fatalf("error %v, want the consumer's", err)
	}
}

func TestFeedOverASocketSurvivesARestartOfTheChain(t *testing.T) {
	cfg := devchain.Config{Dir: shortDir(t), Alloc: rich()}
	c, err := devchain.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, c)
	own := w.config("host")
	own.Endpoint = c.IPCPath()
	m, err := w.dial(own, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.seal(2) // Announced by the subscription.
	w.caughtUp(d)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if w.chain, err = devchain.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.chain.Close() }()
	w.seal(2)
	w.caughtUp(d)
	if got := d.read(); len(got) != 0 {
		t.Fatalf("an empty chain told %v", got)
	}
}
