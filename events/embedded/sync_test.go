package embedded

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/hostnode/hostnode/events"
)

// gate is a disk whose log syncs wait until they are let through.
type gate struct {
	arrived chan struct{} // one per sync that waits
	pass    chan struct{} // takes one to let one through, closed by release
	on      atomic.Bool
	once    sync.Once
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 1), pass: make(chan struct{})}
}

// release lets every sync through.
func (g *gate) release() { g.once.Do(func() { close(g.pass) }) }

func (g *gate) fs() vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData ||
			op.Kind == errorfs.OpFileSyncTo
		if g.on.Load() && sync && strings.HasSuffix(op.Path, ".log") {
			select {
			case g.arrived <- struct{}{}:
			default:
			}
			<-g.pass
		}
		return nil
	}))
}

// untilShown waits until pebble itself shows what is not synced yet, which it does as soon as
// the batch is in its memory. Otherwise the test would prove nothing.
func untilShown(t *testing.T, s *Store) {
	t.Helper()
	next := appendEventKey(nil, events.Position(s.synced.Load()+1))
	for {
		_, closer, err := s.db.Get(next)
		switch {
		case err == nil:
			if err := closer.Close(); err != nil {
				t.Fatal(err)
			}
			return
		case !errors.Is(err, pebble.ErrNotFound):
			t.Fatal(err)
		case t.Context().Err() != nil:
			t.Fatal("pebble does not show the batch, so this test proves nothing")
		}
		runtime.Gosched()
	}
}

func TestWhatIsNotSyncedIsNotShown(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	defer mustClose(t, s)
	mustAppend(t, s, "a-1", 0)
	g.on.Store(true)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer g.release() // Also when the test fails.
	wg.Go(func() { mustAppend(t, s, "a-1", 1) })
	<-g.arrived
	untilShown(t, s)
	if head, err := s.Head(t.Context()); err != nil || head != 1 {
		t.Fatalf("head is %d, %v, want 1", head, err)
	}
	forward := events.ReadStream{}
	backward := events.ReadStream{From: events.End, Backward: true}
	for _, q := range []events.ReadStream{forward, backward} {
		all, err := collect(s.ReadStream(t.Context(), "a-1", q))
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v: %d events, %v, want 1", q, len(all), err)
		}
	}
	if all, err := collect(s.ReadAll(t.Context(), 0, 0)); err != nil || len(all) != 1 {
		t.Fatalf("read all: %d events, %v, want 1", len(all), err)
	}
	if v, err := s.Verify(t.Context()); err != nil || !v.OK() || v.Events != 1 {
		t.Fatalf("verification beside a writer: %+v, %v", v, err)
	}
	g.release()
}

// TestWhatIsNotSyncedIsNotShownOfStreams is the same for what a batch changes in
// the heads of streams: metadata, deletion, tombstones and virtual streams.
func TestWhatIsNotSyncedIsNotShownOfStreams(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	streams := []string{"limited-1", "deleted-1", "ended-1", "revived-1"}
	for i, stream := range streams {
		for n := range 3 {
			mustAppend(t, s, stream, 10*i+n)
		}
	}
	if _, err := s.Delete(t.Context(), "revived-1", events.Any(), false); err != nil {
		t.Fatal(err)
	}
	limit := []events.NewEvent{{
		ID: events.EventID{1}, Type: events.TypeMetadata, Data: []byte(`{"$maxCount":1}`),
	}}
	changes := []func() error{
		func() error {
			_, err := s.Append(t.Context(), "$$limited-1", events.Any(), limit)
			return err
		},
		func() error { _, err := s.Delete(t.Context(), "deleted-1", events.Any(), false); return err },
		func() error { _, err := s.Delete(t.Context(), "ended-1", events.Any(), true); return err },
		func() error {
			_, err := s.Append(t.Context(), "revived-1", events.NoStream(), numbered(99, 1))
			return err
		},
	}
	want := func(when string, wanted map[string]int) {
		t.Helper()
		for stream, count := range wanted {
			all, err := collect(s.ReadStream(t.Context(), stream, events.ReadStream{}))
			all = slices.DeleteFunc(all, func(r events.Recorded) bool { return r.Gone() })
			gone := errors.Is(err, events.ErrStreamNotFound) || errors.Is(err, events.ErrStreamDeleted)
			if len(all) != max(count, 0) || (count < 0) != gone {
				t.Fatalf("%s: %s has %d events, %v, want %d", when, stream, len(all), err, count)
			}
		}
		if v, err := s.Verify(t.Context()); err != nil || !v.OK() {
			t.Fatalf("%s: verification %+v, %v", when, v, err)
		}
	}
	before := map[string]int{
		"limited-1": 3, "deleted-1": 3, "ended-1": 3, "revived-1": -1, "$et-type": 9, "$ce-revived": 1,
		"$$limited-1": -1, "$$revived-1": 1, "$streams": 4,
	}
	want("at first", before)
	g.on.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, s, "first-1", 50) })
	<-g.arrived
	for _, change := range changes {
		wg.Go(func() {
			if err := change(); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.requests) < len(changes) {
		runtime.Gosched()
	}
	untilShown(t, s)
	want("the batch before is not synced", before)
	g.pass <- struct{}{} // One sync: the next one waits with all the changes.
	<-g.arrived
	untilShown(t, s)
	before["$streams"], before["$et-type"] = 5, 10 // first-1
	want("the changes are not synced", before)
	g.release()
	wg.Wait()
	want("in the end", map[string]int{
		"limited-1": 1, "deleted-1": -1, "ended-1": -1, "revived-1": 1, "$et-type": 3, "$ce-revived": 1,
		"$$limited-1": 1, "$$revived-1": 1, "$streams": 3,
	})
	mustClose(t, s)
}

func TestWaitingAppendsShareOneSync(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	g.on.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, s, "first-1", 0) })
	<-g.arrived
	const waiting = 100
	for n := range waiting {
		wg.Go(func() { mustAppend(t, s, "a-1", n+1) })
	}
	for len(s.requests) < waiting {
		runtime.Gosched()
	}
	g.release()
	wg.Wait()
	want := Stats{Appends: waiting + 1, Events: waiting + 1, Syncs: 2}
	if got := s.Stats(); got != want {
		t.Fatalf("stats %+v, want %+v", got, want)
	}
	mustClose(t, s)
}

// crowd is a disk that syncs the log only when every writer who is still at work
// waits for it: as slow as a disk can be, and the same on every machine.
type crowd struct {
	store  atomic.Pointer[Store]
	atWork atomic.Int64
}

func (c *crowd) fs() vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if s := c.store.Load(); s != nil && sync && strings.HasSuffix(op.Path, ".log") {
			for s.Stats().Waiting < c.atWork.Load() {
				runtime.Gosched()
			}
		}
		return nil
	}))
}

func TestWritersShareSyncs(t *testing.T) {
	const each = 20
	for _, c := range []struct {
		writers int
		want    float64 // appends per sync
	}{{64, 20}, {1024, 300}} {
		disk := &crowd{}
		s, _ := mustOpen(t, "store", Config{FS: disk.fs()})
		disk.atWork.Store(int64(c.writers))
		disk.store.Store(s)
		var wg sync.WaitGroup
		for w := range c.writers {
			wg.Go(func() {
				defer disk.atWork.Add(-1)
				for n := range each {
					mustAppend(t, s, "w-"+string(rune('a'+w)), w*each+n)
				}
			})
		}
		wg.Wait()
		disk.store.Store(nil)
		stats := s.Stats()
		share := float64(stats.Appends) / float64(stats.Syncs)
		t.Logf("%d writers: %.0f appends per sync", c.writers, share)
		if share < c.want || stats.Appends != uint64(c.writers*each) {
			t.Fatalf("%d writers: %+v, %.1f appends per sync, want %.0f", c.writers, stats, share, c.want)
		}
		mustClose(t, s)
	}
}

func TestCallerThatGivesUpInTimeWritesNothing(t *testing.T) {
	g := newGate()
	s, _ := mustOpen(t, "store", Config{FS: g.fs()})
	g.on.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	give := func(stream string) {
		_, err := s.Append(ctx, stream, events.NoStream(), numbered(1, 1))
		ended <- err
	}
	go give("taken-1")
	<-g.arrived
	go give("waiting-1")
	for len(s.requests) < 1 {
		runtime.Gosched()
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v, want the context's error", err)
		}
	}
	g.release()
	mustAppend(t, s, "after-1", 2)
	all, err := collect(s.ReadAll(t.Context(), 0, 0))
	if err != nil || len(all) != 2 || all[0].Stream != "taken-1" || all[1].Stream != "after-1" {
		t.Fatalf("events %+v, %v, want those of taken-1 and after-1", all, err)
	}
	// The one whose outcome was unknown is repeated and recognised.
	result, err := s.Append(t.Context(), "taken-1", events.NoStream(), numbered(1, 1))
	if err != nil || !result.Repeated {
		t.Fatalf("repeated: %+v, %v", result, err)
	}
	mustClose(t, s)
}
