package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// eager makes short pauses between attempts.
func eager(url string) esdb.Config {
	return esdb.Config{URL: url, OpenTimeout: patience, MinPause: 5 * time.Millisecond, MaxPause: 50 * time.Millisecond}
}

// impatient also detects a hanging server after a short while, so that a test of it takes
// seconds. Its calls are retried for long.
func impatient(url string) esdb.Config {
	cfg := eager(url)
	cfg.CallTimeout, cfg.Patience, cfg.ProbeEvery = 500*time.Millisecond, patience, 250*time.Millisecond
	return cfg
}

// killable is a wire server that can be killed and started again, as a process.
type killable struct {
	store  events.Store
	server *wire.Server
	served chan error
}

func start(t testing.TB, store events.Store) (*killable, string) {
	t.Helper()
	// Its calls are cut at once when it is closed.
	server, err := wire.New(wire.Config{
		Store: store, Anonymous: wire.RoleAdmin, Limits: wire.Limits{CloseTime: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &killable{store: store, server: server, served: make(chan error, 1)}
	go func() { k.served <- server.Serve(listener) }()
	t.Cleanup(func() { k.kill() })
	return k, listener.Addr().String()
}

func (k *killable) kill() {
	_ = k.server.Close() // Its error is that calls were cut, as intended.
	if err, ok := <-k.served; ok && err != nil {
		panic(err)
	}
	select {
	case <-k.served:
	default:
		close(k.served)
	}
}

// bench is a store with a fault between it and its server.
type bench struct {
	behind *storetest.Memory
	server *killable
	proxy  *proxy
	store  *esdb.Store
	// harmed is closed when the fault has begun. The writers wait for it halfway, so that there
	// is always something to lose.
	harmed chan struct{}
}

func newBench(t *testing.T, change func(*esdb.Config)) *bench {
	t.Helper()
	b := &bench{behind: storetest.NewMemory(), harmed: make(chan struct{})}
	t.Cleanup(func() { b.behind.Close() })
	var address string
	b.server, address = start(t, b.behind)
	b.proxy = newProxy(t, address)
	cfg := impatient(plain(b.proxy.address()))
	if change != nil {
		change(&cfg)
	}
	b.store = open(t, cfg)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// awaitAway waits until the store knows that its server is away, or back.
func (b *bench) awaitAway(ctx context.Context, want bool) error {
	for {
		changed := b.store.Changed()
		if _, _, away := b.store.Away(); away == want {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// What a workload writes.
const (
	writers    = 6
	eachWrites = 80
)

func streamOf(w int) string { return fmt.Sprintf("w-%d", w) }

// write appends one event after the other to a stream as the host's journal
// does: an append whose outcome is unknown is repeated as it was.
func (b *bench) write(ctx context.Context, w int) error {
	for n := range eachWrites {
		if n == eachWrites/2 {
			select {
			case <-b.harmed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		batch := []events.NewEvent{{
			ID: events.NewEventID(streamOf(w), "fault", n), Type: "written", Data: fmt.Appendf(nil, `{"n":%d}`, n),
		}}
		for {
			r, err := b.store.Append(ctx, streamOf(w), events.ExpectNext(uint64(n)), batch)
			if errors.Is(err, events.ErrAway) {
				continue
			}
			if err != nil {
				return fmt.Errorf("writer %d, event %d: %w", w, n, err)
			}
			if r.Revision != uint64(n) {
				return fmt.Errorf("writer %d, event %d: revision %d", w, n, r.Revision)
			}
			break
		}
	}
	return nil
}

// follow checks that every event comes once and in order, and returns how many there were.
func (b *bench) follow(ctx context.Context, seen func(total int)) error {
	next := map[string]uint64{}
	at := events.Position(0)
	for r, err := range b.store.Subscribe(ctx, 0) {
		if err != nil {
			return err
		}
		if r.Position != at+1 || r.Revision != next[r.Stream] {
			return fmt.Errorf("position %d after %d, revision %d of %s where %d is due",
				r.Position, at, r.Revision, r.Stream, next[r.Stream])
		}
		at++
		next[r.Stream]++
		seen(int(at))
		if at == writers*eachWrites {
			return nil
		}
	}
	return errors.New("the subscription ended without an error")
}

// run has writers and a subscriber during a fault: harm is called when a third of the events
// was seen, closes b.harmed, and returns when the fault is over. After that everything goes on
// by itself.
func (b *bench) run(t *testing.T, harm func(context.Context, *bench) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	problems := make(chan error, writers+2)
	for w := range writers {
		wg.Go(func() { problems <- b.write(ctx, w) })
	}
	third := make(chan struct{})
	wg.Go(func() {
		problems <- b.follow(ctx, func(total int) {
			if total == writers*eachWrites/3 {
				close(third)
			}
		})
	})
	wg.Go(func() {
		select {
		case <-third:
			problems <- harm(ctx, b)
		case <-ctx.Done():
		}
	})
	for range writers + 2 {
		if err := <-problems; err != nil {
			t.Fatal(err)
		}
	}
	b.verify(t)
}

// verify checks that the server has what the writers wrote, once and in order.
func (b *bench) verify(t *testing.T) {
	t.Helper()
	for w := range writers {
		var ids []events.EventID
		for r, err := range b.behind.ReadStream(t.Context(), streamOf(w), events.ReadStream{}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		var want []events.EventID
		for n := range eachWrites {
			want = append(want, events.NewEventID(streamOf(w), "fault", n))
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s has %d events that are not the %d that were written, in order",
				streamOf(w), len(ids), len(want))
		}
	}
}

// harmUntilAway sets a mode until the store knows that its server is away.
func harmUntilAway(m mode, cutAtTheEnd bool) func(context.Context, *testing.T, *bench) error {
	return func(ctx context.Context, _ *testing.T, b *bench) error {
		b.proxy.set(m)
		close(b.harmed)
		defer b.proxy.set(passing)
		if cutAtTheEnd {
			defer b.proxy.cut()
		}
		return b.awaitAway(ctx, true)
	}
}

func killAndStart(ctx context.Context, t *testing.T, b *bench) error {
	b.server.kill()
	close(b.harmed)
	if err := b.awaitAway(ctx, true); err != nil {
		return err
	}
	var address string
	b.server, address = start(t, b.behind)
	b.proxy.lead(address)
	return b.awaitAway(ctx, false)
}

func cutAll(_ context.Context, _ *testing.T, b *bench) error {
	b.proxy.cut()
	close(b.harmed)
	return nil
}

func loseAnswers(ctx context.Context, _ *testing.T, b *bench) error {
	before, err := b.behind.Head(ctx)
	if err != nil {
		return err
	}
	b.proxy.set(swallowing)
	close(b.harmed)
	defer b.proxy.set(passing)
	defer b.proxy.cut()
	// On a slow machine the store may lose its link before anything is written,
	// and then nothing will be: no new link gets an answer.
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var away sync.WaitGroup
	away.Go(func() {
		if b.awaitAway(ctx, true) == nil {
			enough()
		}
	})
	defer away.Wait()
	defer enough()
	if err := b.behind.Wait(ctx, before); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func slowDown(_ context.Context, _ *testing.T, b *bench) error {
	b.proxy.set(slow)
	close(b.harmed)
	return nil
}

func TestNothingIsLostOrDoubledByAFault(t *testing.T) {
	for _, f := range []struct {
		name string
		harm func(context.Context, *testing.T, *bench) error
	}{
		{"the server is killed and started again", killAndStart},
		{"the server is paused", harmUntilAway(paused, false)},
		{"all connections are cut", cutAll},
		{"the network drops everything, then the connections", harmUntilAway(blackhole, true)},
		{"the network drops everything for a while", harmUntilAway(blackhole, false)},
		{"answers are lost after the write", loseAnswers},
		{"the network is slow", slowDown},
		{"nobody listens for a while", harmUntilAway(refusing, true)},
	} {
		for _, noBatch := range []bool{false, true} {
			name := f.name
			if noBatch {
				name += ", without batch append"
			}
			t.Run(name, func(t *testing.T) {
				b := newBench(t, func(c *esdb.Config) { c.NoBatch = noBatch })
				b.run(t, func(ctx context.Context, b *bench) error { return f.harm(ctx, t, b) })
			})
		}
	}
}

func oneEvent(n int) []events.NewEvent {
	return []events.NewEvent{{ID: events.NewEventID("one", "fault", n), Type: "written", Data: []byte("{}")}}
}

func TestAnAppendAtAnyRevisionIsNotRepeatedWhenItsAnswerIsLost(t *testing.T) {
	for _, noBatch := range []bool{false, true} {
		t.Run(fmt.Sprintf("noBatch=%v", noBatch), func(t *testing.T) {
			b := newBench(t, func(c *esdb.Config) { *c = eager(c.URL); c.NoBatch = noBatch })
			b.proxy.set(swallowing)
			appended := make(chan error, 1)
			go func() {
				_, err := b.store.Append(t.Context(), "a-1", events.Any(), oneEvent(1))
				appended <- err
			}()
			if err := b.behind.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			b.proxy.set(passing)
			b.proxy.cut()
			if err := <-appended; !errors.Is(err, events.ErrAway) {
				t.Fatalf("append: %v, want that the server does not answer", err)
			}
			if _, err := b.store.Append(t.Context(), "a-1", events.Exact(0), oneEvent(2)); err != nil {
				t.Fatal(err)
			}
			if head, err := b.behind.Head(t.Context()); err != nil || head != 2 {
				t.Fatalf("the server has %d events, %v, want 2", head, err)
			}
		})
	}
}

func TestAnAppendAtAnExactRevisionSucceedsThoughItsAnswerWasLost(t *testing.T) {
	b := newBench(t, func(c *esdb.Config) { *c = eager(c.URL) })
	b.proxy.set(swallowing)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.behind.Wait(t.Context(), 0); err != nil {
			t.Error(err)
		}
		b.proxy.set(passing)
		b.proxy.cut()
	})
	r, err := b.store.Append(t.Context(), "a-1", events.NoStream(), oneEvent(1))
	wg.Wait()
	if err != nil || r.Revision != 0 || r.Position != 1 {
		t.Fatalf("append: %+v, %v, want the first event", r, err)
	}
	if head, err := b.behind.Head(t.Context()); err != nil || head != 1 {
		t.Fatalf("the server has %d events, %v, want 1", head, err)
	}
}
