package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

// appends holds a store to the rules of Append.
func appends(t *testing.T, b bench) {
	t.Run("expected revisions follow the table", func(t *testing.T) { expectations(t, b.open(t)) })
	t.Run("an append repeated in full gives the original result", func(t *testing.T) {
		repeats(t, b)
	})
	t.Run("ids are not looked at when the revision is right", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 1, 2)
		got := mustAppend(t, s, "a-1", events.Exact(1), 1, 2)
		want := events.AppendResult{Revision: 3, Exists: true, Position: 4}
		if got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
	t.Run("any recognises what was just written to the same stream", func(t *testing.T) {
		anyRepeats(t, b)
	})
	t.Run("an append without events only checks", func(t *testing.T) { emptyAppends(t, b.open(t)) })
	t.Run("what does not fit is refused and nothing is written", func(t *testing.T) {
		refusals(t, b)
	})
	t.Run("the caller may change its bytes afterwards", func(t *testing.T) {
		s := b.open(t)
		e := event(1)
		want := recorded(event(1), "a-1", 0, 1)
		if _, err := s.Append(t.Context(), "a-1", events.Any(), []events.NewEvent{e}); err != nil {
			t.Fatal(err)
		}
		copy(e.Data, "XXXXXXX")
		first := stream(t, s, "a-1")
		copy(first[0].Data, "YYYYYYY")
		if d := diff([]events.Recorded{want}, stream(t, s, "a-1")); d != "" {
			t.Fatalf("stored event changed (-want +got):\n%s", d)
		}
	})
	t.Run("a context that has ended writes nothing", func(t *testing.T) {
		s := b.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Append(ctx, "a-1", events.Any(), numbered(1)); !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v, want the context's error", err)
		}
		wantHead(t, s, 0)
	})
}

// expectations is the table of expected against actual revision, with ids that
// the stream does not have.
func expectations(t *testing.T, s events.Store) {
	mustAppend(t, s, "three-1", events.NoStream(), 1, 2, 3)
	for _, c := range []struct {
		name     string
		stream   string
		expected events.Expected
		written  bool
		actual   uint64
		exists   bool
	}{
		{"no stream, none there", "new-1", events.NoStream(), true, 0, false},
		{"any, none there", "new-2", events.Any(), true, 0, false},
		{"revision 0, none there", "new-3", events.Exact(0), false, 0, false},
		{"revision 7, none there", "new-3", events.Exact(7), false, 0, false},
		{"no stream, three there", "three-1", events.NoStream(), false, 2, true},
		{"below the last", "three-1", events.Exact(0), false, 2, true},
		{"just below the last", "three-1", events.Exact(1), false, 2, true},
		{"above the last", "three-1", events.Exact(3), false, 2, true},
		{"far above the last", "three-1", events.Exact(1 << 62), false, 2, true},
		{"the last", "three-1", events.Exact(2), true, 2, true},
		{"next of a count", "three-1", events.ExpectNext(4), true, 3, true},
		{"any, five there", "three-1", events.Any(), true, 4, true},
	} {
		head, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		batch := []events.NewEvent{event(1000 + int(head))}
		result, err := s.Append(t.Context(), c.stream, c.expected, batch)
		if !c.written {
			wantWrong(t, err, &events.WrongRevisionError{
				Stream: c.stream, Expected: c.expected, Actual: c.actual, Exists: c.exists,
			})
			wantHead(t, s, head)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := events.AppendResult{Exists: true, Position: head + 1}
		if c.exists {
			want.Revision = c.actual + 1
		}
		if result != want {
			t.Fatalf("%s: result %+v, want %+v", c.name, result, want)
		}
		wantHead(t, s, head+1)
	}
}

// repeats appends twice, in all the ways in which the second append can agree
// or disagree with the first.
func repeats(t *testing.T, b bench) {
	s := b.open(t)
	mustAppend(t, s, "other-1", events.NoStream(), 90)
	first := mustAppend(t, s, "a-1", events.NoStream(), 1, 2)
	mustAppend(t, s, "other-1", events.Exact(0), 91)
	second := mustAppend(t, s, "a-1", events.Exact(1), 3, 4, 5)
	first, second = b.repeated(first), b.repeated(second)
	middle := b.repeated(events.AppendResult{Revision: 3, Exists: true, Position: 6})
	for _, c := range []struct {
		name     string
		expected events.Expected
		numbers  []int
		want     *events.AppendResult
	}{
		{"the first append", events.NoStream(), []int{1, 2}, &first},
		{"the last append", events.Exact(1), []int{3, 4, 5}, &second},
		{"across both", events.NoStream(), []int{1, 2, 3, 4, 5}, &second},
		{"a part in the middle", events.Exact(1), []int{3, 4}, &middle},
		{"one event", events.Exact(2), []int{4}, &middle},
		{"the first id differs", events.NoStream(), []int{7, 2}, nil},
		{"the second id differs", events.NoStream(), []int{1, 7}, nil},
		{"the last id differs", events.Exact(1), []int{3, 4, 7}, nil},
		{"right ids, wrong place", events.Exact(0), []int{3, 4}, nil},
		{"right ids, wrong order", events.NoStream(), []int{2, 1}, nil},
		{"more than is there", events.Exact(1), []int{3, 4, 5, 6}, nil},
		{"the ids of another stream", events.NoStream(), []int{90}, nil},
	} {
		got, err := s.Append(t.Context(), "a-1", c.expected, numbered(c.numbers...))
		if c.want == nil {
			wantWrong(t, err, &events.WrongRevisionError{
				Stream: "a-1", Expected: c.expected, Actual: 4, Exists: true,
			})
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(*c.want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", c.name, d)
		}
	}
	wantHead(t, s, 7)
}

// anyRepeats checks what Any promises about recent events.
func anyRepeats(t *testing.T, b bench) {
	s := b.open(t)
	mustAppend(t, s, "b-1", events.Any(), 50)
	first := mustAppend(t, s, "a-1", events.Any(), 1, 2)
	if first.Repeated {
		t.Fatalf("the first append is called repeated: %+v", first)
	}
	first = b.repeated(first)
	if got := mustAppend(t, s, "a-1", events.Any(), 1, 2); got != first {
		t.Fatalf("repeated: %+v, want %+v", got, first)
	}
	_, err := s.Append(t.Context(), "a-1", events.Any(), numbered(1, 2, 3))
	wantWrong(t, err, &events.WrongRevisionError{
		Stream: "a-1", Expected: events.Any(), Actual: 1, Exists: true,
	})
	if got := mustAppend(t, s, "a-1", events.Any(), 50); got.Repeated || got.Revision != 2 {
		t.Fatalf("the id of another stream: %+v, want a new event at revision 2", got)
	}
	if got := mustAppend(t, s, "a-1", events.Any(), 3, 1); got.Repeated || got.Revision != 4 {
		t.Fatalf("an unknown id first: %+v, want new events up to revision 4", got)
	}
	wantHead(t, s, 6)
}

// emptyAppends checks that an append without events only checks.
func emptyAppends(t *testing.T, s events.Store) {
	mustAppend(t, s, "two-1", events.NoStream(), 1, 2)
	two := events.AppendResult{Revision: 1, Exists: true}
	for _, c := range []struct {
		stream   string
		expected events.Expected
		want     *events.AppendResult
	}{
		{"two-1", events.Any(), &two},
		{"two-1", events.Exact(1), &two},
		{"two-1", events.Exact(0), nil},
		{"two-1", events.Exact(2), nil},
		{"two-1", events.NoStream(), nil},
		{"none-1", events.Any(), &events.AppendResult{}},
		{"none-1", events.NoStream(), &events.AppendResult{}},
		{"none-1", events.Exact(0), nil},
	} {
		got, err := s.Append(t.Context(), c.stream, c.expected, nil)
		if c.want == nil {
			want := &events.WrongRevisionError{Stream: c.stream, Expected: c.expected}
			if c.stream == "two-1" {
				want.Actual, want.Exists = 1, true
			}
			wantWrong(t, err, want)
		} else if err != nil || got != *c.want {
			t.Fatalf("%s expecting %v: %+v, %v, want %+v", c.stream, c.expected, got, err, *c.want)
		}
	}
	wantHead(t, s, 2)
	if _, err := collect(s.ReadStream(t.Context(), "none-1", events.ReadStream{})); !errors.Is(
		err, events.ErrStreamNotFound) {
		t.Fatalf("an append without events made a stream: %v", err)
	}
}

// refusals checks the limits of the port, from both sides.
func refusals(t *testing.T, b bench) {
	s := b.open(t)
	large := event(1)
	large.Data = bytes.Repeat([]byte{'x'}, events.MaxEventBytes)
	larger := large
	larger.Data = append(bytes.Clone(large.Data), 'x')
	talkative := event(4)
	talkative.Meta.Causation = strings.Repeat("c", events.MaxEventBytes)
	untyped := event(3)
	untyped.Type = ""
	unnamed := event(3)
	unnamed.ID = events.EventID{}
	tombstone := event(3)
	tombstone.Type = events.TypeTombstone
	strange := event(3)
	strange.Type = "\xff"
	longest := strings.Repeat("n", b.nameBytes())
	for _, c := range []struct {
		name   string
		stream string
		batch  []events.NewEvent
		want   error
	}{
		{"an event that is too large", "a-1", []events.NewEvent{event(2), larger}, events.ErrTooLarge},
		{"metadata that is too large", "a-1", []events.NewEvent{talkative}, events.ErrTooLarge},
		{"too many events", "a-1", make([]events.NewEvent, events.MaxAppendEvents+1), events.ErrTooLarge},
		{"no name", "", numbered(1), events.ErrMalformed},
		{"a name that is too long", longest + "n", numbered(1), events.ErrMalformed},
		{"a name that is not UTF-8", "a-1\xff", numbered(1), events.ErrMalformed},
		{"an event without a type", "a-1", []events.NewEvent{event(2), untyped}, events.ErrMalformed},
		{"an event without an id", "a-1", []events.NewEvent{event(2), unnamed}, events.ErrMalformed},
		{"a tombstone", "a-1", []events.NewEvent{event(2), tombstone}, events.ErrMalformed},
		{"a type that is not UTF-8", "a-1", []events.NewEvent{event(2), strange}, events.ErrMalformed},
	} {
		if _, err := s.Append(t.Context(), c.stream, events.Any(), c.batch); !errors.Is(err, c.want) {
			t.Fatalf("%s: %v, want %v", c.name, err, c.want)
		}
		wantHead(t, s, 0)
	}
	largest(t, b, s, longest)
}

// largest appends as much as is allowed.
func largest(t *testing.T, b bench, s events.Store, longest string) {
	bytesMost, eventsMost := events.MaxEventBytes, events.MaxAppendEvents
	if b.AppendBytes > 0 {
		const encoded = 512 // bytes of a small event in transit, with everything around it
		bytesMost, eventsMost = min(bytesMost, b.AppendBytes), min(eventsMost, b.AppendBytes/encoded)
	}
	large := event(1)
	// The rest of the limit is for type and metadata.
	large.Data, large.Meta = bytes.Repeat([]byte{'x'}, bytesMost-512), events.Metadata{}
	large.Binary = true
	if _, err := s.Append(t.Context(), longest, events.Any(), []events.NewEvent{large}); err != nil {
		t.Fatalf("the largest event in the longest name: %v", err)
	}
	want := []events.Recorded{recorded(large, longest, 0, 1)}
	if d := diff(want, stream(t, s, longest)); d != "" {
		t.Fatal("the largest event is not what was written")
	}
	many := make([]events.NewEvent, eventsMost)
	for i := range many {
		many[i] = event(i + 10)
	}
	result, err := s.Append(t.Context(), "many-1", events.NoStream(), many)
	if err != nil || result.Revision != uint64(eventsMost-1) {
		t.Fatalf("the largest append: %+v, %v", result, err)
	}
	if got := stream(t, s, "many-1"); len(got) != eventsMost {
		t.Fatalf("the largest append has %d events", len(got))
	}
}
