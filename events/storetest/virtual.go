package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// virtuals holds a store to the rules of virtual streams.
func virtuals(t *testing.T, b bench) {
	t.Run("what is a virtual stream takes no events", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		for _, name := range []string{"$ce-a", "$et-type-0", "$bc-conversation", "$streams", "$ce-", "$et-", "$bc-"} {
			for _, expected := range []events.Expected{events.Any(), events.NoStream(), events.Exact(0)} {
				if _, err := s.Append(t.Context(), name, expected, numbered(1)); !errors.Is(err, events.ErrReadOnly) {
					t.Errorf("append to %s expecting %v: %v, want read-only", name, expected, err)
				}
			}
		}
		wantHead(t, s, 1)
	})
	if b.NoVirtual {
		return
	}
	t.Run("a virtual stream has each event that belongs to it, in order", func(t *testing.T) { belongs(t, b) })
	t.Run("a virtual stream is read in both directions from any link", func(t *testing.T) { linked(t, b) })
	t.Run("a virtual stream without events is not found", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0)
		for _, name := range []string{"$ce-b", "$ce-a-1", "$et-other", "$bc-other", "$et-"} {
			wantGone(t, s, name, events.ErrStreamNotFound)
		}
	})
	t.Run("links, deletions and tombstones are in the category, the system's own streams are not", func(t *testing.T) {
		members(t, b)
	})
	t.Run("of what its own stream hides a virtual stream has the link", func(t *testing.T) { unseen(t, b) })
	if b.Shared {
		return // What others write is in these, too.
	}
	t.Run("metadata and deletions have types, and numbers are conversations", func(t *testing.T) { typed(t, b.open(t)) })
	t.Run("the stream of streams has the first event of each", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "b-1", events.NoStream(), 0, 1)
		mustAppend(t, s, "a", events.NoStream(), 0)
		mustAppend(t, s, "b-1", events.Any(), 2)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
		mustDelete(t, s, "a-1", events.Any(), false)
		mustAppend(t, s, "a-1", events.NoStream(), 2)
		mustDelete(t, s, "never", events.Any(), true)
		wantLinks(t, s, events.VirtualStreams, events.ReadStream{},
			to("b-1", 0, 0), to("a", 0, 1), gone("a-1", 0, 2), gone("$$a-1", 0, 3))
	})
}

func members(t *testing.T, b bench) {
	s := b.open(t)
	mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
	for _, name := range []string{"a", "-a", "$a-1"} {
		mustAppend(t, s, name, events.NoStream(), 0)
	}
	setMetadata(t, s, "a-1", `{"$maxCount":9}`)
	picked := []events.NewEvent{{ID: id(100), Type: events.TypeLink, Data: []byte("1@a-1"), Binary: true}}
	dangling := []link{gone("a-1", 9, 3)}
	if b.Late {
		dangling = nil // A projection leaves it out, or writes that it leads nowhere.
	} else {
		picked = append(picked, events.NewEvent{ID: id(101), Type: events.TypeLink, Data: []byte("9@a-1"), Binary: true})
	}
	if _, err := s.Append(t.Context(), "a-2", events.NoStream(), picked); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "a-3", events.NoStream(), 0)
	mustDelete(t, s, "a-3", events.Any(), false)
	mustDelete(t, s, "a-4", events.Any(), true)
	want := append([]link{to("a-1", 0, 0), to("a-1", 1, 1), to("a-1", 1, 2)}, dangling...)
	n := uint64(len(want))
	want = append(want, gone("a-3", 0, n), to("$$a-3", 0, n+1), gone("a-4", math.MaxInt64, n+2))
	b.await(t, s, "$ce-a", len(want))
	wantLinks(t, s, "$ce-a", events.ReadStream{}, want...)
	for _, name := range []string{"$ce-", "$ce-$a", "$ce-$$a", "$ce-$", "$ce-$$"} {
		if name != "$ce-" || !b.Shared { // Behind a prefix no name begins with a dash.
			wantGone(t, s, name, events.ErrStreamNotFound)
		}
	}
	b.await(t, s, "$et-type-0", 4)
	wantLinks(t, s, "$et-type-0", events.ReadStream{},
		to("a-1", 0, 0), to("a", 0, 1), to("-a", 0, 2), gone("a-3", 0, 3))
}

func unseen(t *testing.T, b bench) {
	s := b.open(t)
	for _, name := range []string{"a-1", "a-2", "a-3", "a-4"} {
		mustAppend(t, s, name, events.NoStream(), 0, 1)
	}
	setMetadata(t, s, "a-1", `{"$tb":1}`)
	setMetadata(t, s, "a-2", `{"$maxCount":1}`)
	mustDelete(t, s, "a-3", events.Any(), false)
	mustDelete(t, s, "a-4", events.Any(), true)
	want := []link{
		gone("a-1", 0, 0), to("a-1", 1, 1), gone("a-2", 0, 2), to("a-2", 1, 3), gone("a-3", 0, 4), gone("a-3", 1, 5),
		gone("a-4", 0, 6), gone("a-4", 1, 7), to("$$a-3", 0, 8), gone("a-4", math.MaxInt64, 9),
	}
	b.await(t, s, "$ce-a", len(want))
	wantLinks(t, s, "$ce-a", events.ReadStream{}, want...)
	wantLinks(t, s, "$ce-a", events.ReadStream{Limit: 2}, want[:2]...)
	wantLinks(t, s, "$ce-a", events.ReadStream{From: 9}, want[9])
	wantLinks(t, s, "$ce-a", events.ReadStream{From: 1, Backward: true}, want[1], want[0])
	b.await(t, s, "$et-type-0", 4)
	wantLinks(t, s, "$et-type-0", events.ReadStream{},
		gone("a-1", 0, 0), gone("a-2", 0, 1), gone("a-3", 0, 2), gone("a-4", 0, 3))
	mustAppend(t, s, "a-3", events.NoStream(), 2)
	b.awaitRevived(t, s, "a-3")
	b.await(t, s, "$ce-a", len(want)+1)
	wantLinks(t, s, "$ce-a", events.ReadStream{From: 8}, gone("$$a-3", 0, 8), want[9], to("a-3", 2, 10))
}

func typed(t *testing.T, s events.Store) {
	numbered := event(0)
	numbered.Meta, numbered.Foreign = events.Metadata{}, []byte(`{"$correlationId":7,"own":true}`)
	if _, err := s.Append(t.Context(), "a-1", events.NoStream(), []events.NewEvent{numbered}); err != nil {
		t.Fatal(err)
	}
	setMetadata(t, s, "a-1", `{}`)
	mustDelete(t, s, "a-1", events.Any(), false)
	mustDelete(t, s, "b", events.Any(), true)
	setMetadata(t, s, "$c", `{}`)
	wantLinks(t, s, "$bc-7", events.ReadStream{}, gone("a-1", 0, 0))
	wantLinks(t, s, "$et-$metadata", events.ReadStream{}, gone("$$a-1", 0, 0))
	wantLinks(t, s, "$et-$deleted", events.ReadStream{}, to("$$a-1", 1, 0), gone("b", math.MaxInt64, 1))
	wantGone(t, s, "$et-"+events.TypeTombstone, events.ErrStreamNotFound)
}

// link is an event of a virtual stream.
type link struct {
	stream   string
	revision uint64
	place    uint64 // in the virtual stream
	gone     bool   // nothing else can be read
}

func to(stream string, revision, place uint64) link { return link{stream, revision, place, false} }

func gone(stream string, revision, place uint64) link { return link{stream, revision, place, true} }

// wantLinks demands that a read of a virtual stream yields these events. Event
// n has revision n, or one that differs from it by a multiple of 3.
func wantLinks(t testing.TB, s events.Store, virtual string, q events.ReadStream, want ...link) {
	t.Helper()
	got, err := collect(s.ReadStream(t.Context(), virtual, q))
	if err != nil {
		t.Fatalf("read %s %+v: %v", virtual, q, err)
	}
	var links []link
	for _, r := range got {
		if r.Link == nil || r.Link.Stream != virtual {
			t.Fatalf("read %s %+v: %s revision %d has the link %v", virtual, q, r.Stream, r.Revision, r.Link)
		}
		if stream, revision, ok := events.ParseTarget(r.Link.Target); !ok || stream != r.Stream || revision != r.Revision {
			t.Fatalf("read %s %+v: %s revision %d has a link to %q", virtual, q, r.Stream, r.Revision, r.Link.Target)
		}
		links = append(links, link{r.Stream, r.Revision, r.Link.Revision, r.Gone()})
	}
	if !slices.Equal(links, want) {
		t.Fatalf("read %s %+v: %v, want %v", virtual, q, links, want)
	}
}

// patience is how long a server may take for what it writes by itself. It only
// turns a hang into a failure.
const patience = 2 * time.Minute

// tester is what a test and a run of rapid have in common.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// await waits for something that the server writes by itself, and that appears
// in its log.
func await(t tester, s events.Store, what string, there func() bool) {
	t.Helper()
	if mine, ok := s.(*own); ok {
		s = mine.store
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		head, err := s.Head(ctx)
		if err == nil && there() {
			return
		}
		if err == nil {
			err = s.Wait(ctx, head)
		}
		if err != nil {
			t.Fatalf("wait for %s: %v; is it what the server writes by itself, and does its projection run?", what, err)
		}
	}
}

// awaitLinks returns when a virtual stream has this many events.
func awaitLinks(t testing.TB, s events.Store, virtual string, count int) {
	t.Helper()
	await(t, s, fmt.Sprintf("%d events in %s", count, virtual), func() bool {
		got, err := collect(s.ReadStream(t.Context(), virtual, events.ReadStream{}))
		if err != nil && !errors.Is(err, events.ErrStreamNotFound) {
			t.Fatalf("read %s: %v", virtual, err)
		}
		return len(got) >= count
	})
}

// await is awaitLinks for a server that makes virtual streams later; other
// stores must have them at once.
func (b bench) await(t testing.TB, s events.Store, virtual string, count int) {
	if b.Late {
		t.Helper()
		awaitLinks(t, s, virtual, count)
	}
}

// awaitRevived returns when a deleted stream can be read again: some servers
// write the metadata for that after their answer.
func (b bench) awaitRevived(t testing.TB, s events.Store, stream string) {
	t.Helper()
	if !b.Late {
		return
	}
	await(t, s, "the metadata of "+stream, func() bool {
		last, _, err := events.Last(t.Context(), s, events.MetadataStream(stream))
		if err != nil {
			t.Fatalf("read the metadata of %s: %v", stream, err)
		}
		meta, err := events.ParseStreamMetadata(last.Data)
		return err == nil && !meta.Deleted()
	})
}

func belongs(t *testing.T, b bench) {
	s := b.open(t)
	var log []events.Recorded
	for n := range 40 {
		name := []string{"a-1", "a-2", "b-1", "a-1-x"}[n*7%4]
		e := event(n)
		e.Meta.Correlation = []string{"", "one", "two-three"}[n%3]
		result, err := s.Append(t.Context(), name, events.Any(), []events.NewEvent{e})
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, recorded(e, name, result.Revision, result.Position))
	}
	for virtual, has := range map[string]func(events.Recorded) bool{
		"$ce-a":         func(r events.Recorded) bool { return r.Stream != "b-1" },
		"$ce-b":         func(r events.Recorded) bool { return r.Stream == "b-1" },
		"$et-type-2":    func(r events.Recorded) bool { return r.Type == "type-2" },
		"$bc-one":       func(r events.Recorded) bool { return r.Meta.Correlation == "one" },
		"$bc-two-three": func(r events.Recorded) bool { return r.Meta.Correlation == "two-three" },
	} {
		var want []events.Recorded
		for _, r := range log {
			if has(r) {
				r.Link = &events.Link{
					Stream: virtual, Revision: uint64(len(want)), Target: fmt.Sprintf("%d@%s", r.Revision, r.Stream),
				}
				want = append(want, r)
			}
		}
		b.await(t, s, virtual, len(want))
		if d := diff(want, stream(t, s, virtual)); d != "" {
			t.Fatalf("%s (-want +got):\n%s", virtual, d)
		}
	}
}

func linked(t *testing.T, b bench) {
	s := b.open(t)
	const count = 6
	var all []link
	for n := range uint64(count) {
		name := fmt.Sprintf("a-%d", n%2)
		mustAppend(t, s, name, events.ExpectNext(n/2), int(n))
		mustAppend(t, s, "b-1", events.ExpectNext(n), int(100+n))
		all = append(all, to(name, n/2, n))
	}
	b.await(t, s, "$ce-a", count)
	for _, q := range everyRead(count) {
		var want []link
		for _, r := range part(0, count, q) {
			want = append(want, all[r])
		}
		wantLinks(t, s, "$ce-a", q, want...)
	}
}
