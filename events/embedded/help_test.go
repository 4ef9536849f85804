package embedded

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// smallCache keeps the many stores of the tests small.
const smallCache = 1 << 20

func mustOpen(t testing.TB, dir string, cfg Config) (*Store, Report) {
	t.Helper()
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = smallCache
	}
	s, report, err := Open(dir, cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s, report
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// numbered is one event whose contents follow from its number.
func numbered(n, size int) []events.NewEvent {
	data := make([]byte, size)
	for i := range min(size, 256) {
		data[i] = byte(n*7 + i)
	}
	for done := 256; done < size; done *= 2 { // It repeats, because making large ones byte by byte is slow.
		copy(data[done:], data[:done])
	}
	return []events.NewEvent{{
		ID: events.NewEventID("test", "event", n), Type: "type", Data: data,
		Meta: events.Metadata{Correlation: "c", Version: 1, Epoch: uint64(n)},
	}}
}

func mustAppend(t testing.TB, s *Store, stream string, n int) events.AppendResult {
	t.Helper()
	result, err := s.Append(t.Context(), stream, events.Any(), numbered(n, 100))
	if err != nil {
		t.Fatalf("append %d: %v", n, err)
	}
	return result
}

func collect(seq iter.Seq2[events.Recorded, error]) ([]events.Recorded, error) {
	var all []events.Recorded
	for r, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// acknowledged has the events whose appends were acknowledged.
type acknowledged struct {
	mu  sync.Mutex
	all map[events.Position]place
	// more is signalled when there is more.
	more sync.Cond
}

type place struct {
	stream   string
	revision uint64
	id       events.EventID
}

func newAcknowledged() *acknowledged {
	a := &acknowledged{all: map[events.Position]place{}}
	a.more.L = &a.mu
	return a
}

func (a *acknowledged) add(position events.Position, p place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[position] = p
	a.more.Broadcast()
}

// wait waits for n entries and returns a copy of all that are there by then.
func (a *acknowledged) wait(n int) map[events.Position]place {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.all) < n {
		a.more.Wait()
	}
	seen := make(map[events.Position]place, len(a.all))
	for position, p := range a.all {
		seen[position] = p
	}
	return seen
}

// load runs writers until the store refuses an append or ctx ends. The names of their streams
// begin with name.
func load(ctx context.Context, s *Store, name string, writers int, acks *acknowledged) *sync.WaitGroup {
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { _ = work(ctx, s, fmt.Sprintf("%s-%d", name, w), acks.add) })
	}
	return &wg
}

// work writes to a stream, and now and then limits it, deletes it and makes
// streams that end with a tombstone, until the store refuses. Of what the store
// itself writes the place has only the stream.
func work(ctx context.Context, s *Store, stream string, ack func(events.Position, place)) error {
	add := func(stream string, expected events.Expected, e events.NewEvent) error {
		result, err := s.Append(ctx, stream, expected, []events.NewEvent{e})
		if err == nil {
			ack(result.Position, place{stream, result.Revision, e.ID})
		}
		return err
	}
	end := func(stream, written string, forever bool) error {
		position, err := s.Delete(ctx, stream, events.Any(), forever)
		if err == nil {
			ack(position, place{stream: written})
		}
		return err
	}
	for n := 0; ; n++ {
		e := numbered(0, 50+n%400)[0]
		e.ID, e.Meta.Correlation = events.NewEventID(stream, "work", n), stream
		e.Type = fmt.Sprintf("type-%d", n%3)
		err := add(stream, events.ExpectNext(uint64(n)), e)
		if err != nil {
			return err
		}
		switch meta := events.MetadataStream(stream); n % 20 {
		case 5:
			err = add(meta, events.Any(), events.NewEvent{
				ID: events.NewEventID(meta, "work", n), Type: events.TypeMetadata,
				Data: fmt.Appendf(nil, `{"$maxCount":%d,"n":%d}`, 3+n%7, n),
			})
		case 9:
			err = end(stream, meta, false)
		case 13:
			side := fmt.Sprintf("%s-until-%d", stream, n)
			e.ID = events.NewEventID(side, "work", n)
			if err = add(side, events.NoStream(), e); err == nil {
				err = end(side, side, true)
			}
		}
		if err != nil {
			return err
		}
	}
}

// missing says which acknowledged events a reopened store lacks, or what is wrong with it;
// empty if nothing is.
func missing(ctx context.Context, s *Store, acks map[events.Position]place) (string, error) {
	found := 0
	for r, err := range s.ReadAll(ctx, 0, 0) {
		if err != nil {
			return "", err
		}
		p, ok := acks[r.Position]
		if !ok {
			continue // Written, but the answer did not arrive in time.
		}
		found++
		if at := (place{r.Stream, r.Revision, r.ID}); p != at && p != (place{stream: r.Stream}) {
			return fmt.Sprintf("position %d is %+v, acknowledged was %+v", r.Position, at, p), nil
		}
	}
	if found != len(acks) {
		return fmt.Sprintf("%d of %d acknowledged events are gone", len(acks)-found, len(acks)), nil
	}
	v, err := s.Verify(ctx)
	if err != nil || !v.OK() {
		return fmt.Sprintf("verification: %v", v.Findings), err
	}
	return unlikeMemory(ctx, s)
}

// unlikeMemory compares what can be read of every stream, virtual ones and
// metadata included, with what storetest.Memory shows of the same log.
func unlikeMemory(ctx context.Context, s *Store) (string, error) {
	memory := storetest.NewMemory()
	streams := map[string]bool{}
	for r, err := range s.ReadAll(ctx, 0, 0) {
		if err != nil {
			return "", err
		}
		memory.Clock = func() time.Time { return r.Recorded }
		e := events.NewEvent{
			ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta, Foreign: r.Foreign, Binary: r.Binary,
		}
		expected := events.ExpectNext(r.Revision)
		result := events.AppendResult{}
		if r.Type == events.TypeTombstone {
			result.Position, err = memory.Delete(ctx, r.Stream, expected, true)
		} else {
			result, err = memory.Append(ctx, r.Stream, expected, []events.NewEvent{e})
		}
		// The metadata that undeletes a stream is there already, because memory wrote it, too.
		if err != nil || result.Position != r.Position {
			return fmt.Sprintf("position %d cannot follow: %+v, %v", r.Position, result, err), nil
		}
		streams[r.Stream], streams[events.MetadataStream(r.Stream)] = true, true
		for _, name := range events.VirtualOf(&r) {
			streams[name] = true
		}
	}
	for name := range streams {
		for _, q := range []events.ReadStream{{}, {From: events.End, Backward: true, Limit: 5}} {
			want, wanted := collect(memory.ReadStream(ctx, name, q))
			got, err := collect(s.ReadStream(ctx, name, q))
			if fmt.Sprint(wanted) != fmt.Sprint(err) || !slices.EqualFunc(want, got, sameEvent) {
				return fmt.Sprintf("%q reads as %d events, %v; in memory %d events, %v",
					name, len(got), err, len(want), wanted), nil
			}
		}
	}
	return "", nil
}

// copyFile copies a file between file systems.
func copyFile(t testing.TB, from, to vfs.FS, path string, most int) {
	t.Helper()
	data := fileBytes(t, from, path)
	f, err := to.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if most >= 0 {
		data = data[:most]
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func fileBytes(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	f, err := fsys.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, info.Size())
	if n, err := f.ReadAt(data, 0); n != len(data) {
		t.Fatalf("read %s: %v", path, err)
	}
	return data
}

// Stats counts what the store did since it was opened.
type Stats struct {
	Appends uint64 // acknowledged appends and deletions that wrote something
	Events  uint64 // events of these, those of the store itself included
	Syncs   uint64 // batches; Appends/Syncs is what group commit is worth
	Waiting int64  // appends and deletions that are not answered yet
}

// Stats returns the counters since Open.
func (s *Store) Stats() Stats {
	return Stats{s.appends.Load(), s.written.Load(), s.syncs.Load(), s.waiting.Load()}
}
