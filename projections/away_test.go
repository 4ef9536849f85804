package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// outages is a store behind a network that can be cut. While it is, every call
// ends with events.ErrAway, and a subscription is silent and resumes by itself.
type outages struct {
	events.Store
	mu    sync.Mutex
	cut   bool
	whole chan struct{} // closed while the network is whole
	// patience is how many events a read yields before the network is cut.
	patience int
}

func withOutages(store events.Store) *outages {
	o := &outages{Store: store, whole: make(chan struct{}), patience: -1}
	close(o.whole)
	return o
}

func (o *outages) set(cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut == cut {
		return
	}
	o.cut = cut
	if cut {
		o.whole = make(chan struct{})
	} else {
		close(o.whole)
	}
}

func (o *outages) away() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut {
		return fmt.Errorf("dial 127.0.0.1:2113: %w", events.ErrAway)
	}
	return nil
}

func (o *outages) Head(ctx context.Context) (events.Position, error) {
	if err := o.away(); err != nil {
		return 0, err
	}
	return o.Store.Head(ctx)
}

func (o *outages) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		if err := o.away(); err != nil {
			yield(events.Recorded{}, err)
			return
		}
		o.Store.ReadStream(ctx, stream, q)(yield)
	}
}

func (o *outages) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range o.Store.ReadAll(ctx, after, limit) {
			if o.patience == 0 {
				o.set(true)
			}
			o.patience--
			if away := o.away(); away != nil {
				r, err = events.Recorded{}, away
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (o *outages) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range o.Store.Subscribe(ctx, after) {
			o.mu.Lock()
			whole := o.whole
			o.mu.Unlock()
			select {
			case <-whole:
			case <-ctx.Done():
				r, err = events.Recorded{}, ctx.Err()
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestAProjectorWaitsForAStoreThatIsAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := aDay(t)
		o := withOutages(store)
		cfg := Config{Dir: t.TempDir()}
		if err := open(t, o, cfg).Close(); err != nil {
			t.Fatal(err)
		}
		w.Life(7, 2)
		o.set(true)
		began := time.Now()
		time.AfterFunc(time.Minute, func() { o.set(false) })
		p := open(t, o, cfg)
		if waited := time.Since(began); waited < time.Minute || waited > time.Minute+longestPause {
			t.Fatalf("waited %s", waited)
		}
		if s := p.Status(); s.StartedFrom == 0 || s.Ignored != "" || s.Away != "" || !s.AwaySince.IsZero() {
			t.Fatalf("status %+v", s)
		}
		same(t, built(t, store), p.views)
	})
}

func TestACatchUpThatIsCutOffGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := aDay(t)
		o := withOutages(store)
		p := open(t, o, Config{})
		w.Life(7, 2)
		o.patience = 5
		time.AfterFunc(time.Hour, func() { o.set(false) })
		if err := p.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, built(t, store), p.views)
	})
}

func TestWaitingForAStoreEndsWithTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, _ := aDay(t)
		o := withOutages(store)
		o.set(true)
		limited, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_, err := Open(limited, o, Config{})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, events.ErrAway) {
			t.Fatalf("error %v", err)
		}
	})
}

func TestFollowingGoesOnWhenTheStoreIsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := aDay(t)
		o := withOutages(store)
		p := open(t, o, Config{})
		p.Follow(t.Context())
		synctest.Wait()
		cut := time.Now()
		o.set(true)
		w.Life(8, 1)
		time.Sleep(time.Hour) // Of the bubble's clock.
		s := p.Status()
		if !s.Following || s.Error != "" || s.Away == "" || s.AwaySince.Sub(cut) > probeEvery {
			t.Fatalf("status %+v", s)
		}
		o.set(false)
		head, err := store.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitFor(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := p.Status(); !s.Following || s.Away != "" || !s.AwaySince.IsZero() {
			t.Fatalf("status %+v", s)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, built(t, store), p.views)
	})
}

// telling is a store that knows when it is away.
type telling struct {
	*outages
	since   time.Time
	changed chan struct{}
}

func (s *telling) tell(cut bool) {
	s.set(cut)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	if cut {
		s.since = time.Now().Add(-time.Minute)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *telling) Away() (time.Time, string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, "no route", !s.since.IsZero()
}

func (s *telling) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func TestAStoreThatKnowsThatItIsAwayIsBelievedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, _ := aDay(t)
		o := &telling{outages: withOutages(store), changed: make(chan struct{})}
		p := open(t, o, Config{})
		p.Follow(t.Context())
		synctest.Wait()
		o.tell(true)
		synctest.Wait()
		if s := p.Status(); s.Away != "no route" || time.Since(s.AwaySince) != time.Minute || !s.Following {
			t.Fatalf("status %+v", s)
		}
		o.tell(false)
		synctest.Wait()
		if s := p.Status(); s.Away != "" || !s.AwaySince.IsZero() {
			t.Fatalf("status %+v", s)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// broken ends its subscriptions with ErrAway after every event.
type broken struct{ events.Store }

func (b broken) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range b.Store.Subscribe(ctx, after) {
			if yield(r, err) {
				yield(events.Recorded{}, events.ErrAway)
			}
			return
		}
	}
}

func TestASubscriptionThatEndsForAnOutageIsTakenUpAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := aDay(t)
		p := open(t, broken{store}, Config{})
		p.Follow(t.Context())
		w.Life(8, 1)
		head, err := store.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitFor(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, built(t, store), p.views)
	})
}

// denying is a store that denies its subscriptions a number of times, and counts them.
type denying struct {
	events.Store
	times *atomic.Int32
}

func (d denying) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	if d.times.Add(-1) >= 0 {
		return func(yield func(events.Recorded, error) bool) {
			yield(events.Recorded{}, fmt.Errorf("subscribe: %w: user=host-7", events.ErrDenied))
		}
	}
	return d.Store.Subscribe(ctx, after)
}

// TestAFollowingProjectorOutlivesADenial: after a change of the password the server denies access until
// the file with it was changed, too.
func TestAFollowingProjectorOutlivesADenial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := aDay(t)
		left := &atomic.Int32{}
		left.Store(20)
		stopped := ""
		p := open(t, denying{store, left}, Config{OnStopped: func(why string) { stopped = why }})
		began := time.Now()
		p.Follow(t.Context())
		time.Sleep(time.Minute) // Of the bubble's clock.
		if s := p.Status(); !s.Following || s.Error != "" || !strings.Contains(s.Away, "host-7") || s.AwaySince != began.UTC() {
			t.Fatalf("while it is denied: %+v", s)
		}
		w.Life(8, 1)
		head, err := store.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitFor(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := p.Status(); !s.Following || s.Error != "" || s.Away != "" || stopped != "" || left.Load() != -1 {
			t.Fatalf("after it (%q, %d): %+v", stopped, left.Load(), s)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, built(t, store), p.views)
	})
}

// gaps is a store whose positions are not dense, as EventStoreDB's.
type gaps struct{ events.Store }

const gap = 1000

func spread(seq iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range seq {
			r.Position *= gap
			if !yield(r, err) {
				return
			}
		}
	}
}

func (g gaps) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return spread(g.Store.ReadStream(ctx, stream, q))
}

func (g gaps) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return spread(g.Store.ReadAll(ctx, after/gap, limit))
}

func metadata(t *testing.T, store events.Store, stream string, m events.StreamMetadata) {
	t.Helper()
	meta := events.MetadataStream(stream)
	_, err := store.Append(ctx, meta, events.Any(), []events.NewEvent{{
		ID: events.NewEventID(meta, string(m.Marshal()), 0), Type: events.TypeMetadata, Data: m.Marshal(),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACheckpointFitsAStoreWithGapsAndSystemEvents(t *testing.T) {
	store, w := aDay(t)
	metadata(t, store, "another-stream", events.StreamMetadata{MaxCount: 7})
	cfg := Config{Dir: t.TempDir()}
	p := open(t, gaps{store}, cfg)
	head, err := store.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p.AsOf() != head*gap {
		t.Fatalf("as of %d, not of the system's event at %d", p.AsOf(), head*gap)
	}
	if n := p.Status().Skipped; n != 0 {
		t.Fatalf("%d events skipped", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	w.Life(7, 1)
	p = open(t, gaps{store}, cfg)
	if s := p.Status(); s.StartedFrom != (head-1)*gap || s.Ignored != "" {
		t.Fatalf("status %+v", s)
	}
	if at, want := p.views.RecordedAt(), built(t, store).RecordedAt(); !at.Equal(want) {
		t.Fatalf("recorded at %s, not %s", at, want)
	}
}

func TestACheckpointWhoseLastEventIsHiddenIsIgnored(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Stop()
	cfg := Config{Dir: t.TempDir()}
	if err := open(t, store, cfg).Close(); err != nil {
		t.Fatal(err)
	}
	stream := events.HostStream(me)
	for _, hide := range []func(){
		func() { metadata(t, store, stream, events.StreamMetadata{TruncateBefore: 2}) },
		func() {
			if _, err := store.Delete(ctx, stream, events.Any(), true); err != nil {
				t.Fatal(err)
			}
		},
	} {
		hide()
		p := open(t, store, cfg)
		if s := p.Status(); s.StartedFrom != 0 || s.Ignored == "" {
			t.Fatalf("status %+v", s)
		}
		if hosts := p.Hosts().Hosts; len(hosts) != 1 || hosts[0].Stops != 1 {
			t.Fatalf("hosts %+v", hosts)
		}
	}
	p := open(t, store, cfg)
	if s := p.Status(); s.Skipped != 1 || s.Problems[0].Reason != "the stream was deleted for good" {
		t.Fatalf("status %+v", s)
	}
}
