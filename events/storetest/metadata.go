package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// metadata checks the effects of stream metadata. In these tests event number n
// has revision n.
func metadata(t *testing.T, b bench) {
	t.Run("metadata hides the beginning of a stream, in every read", func(t *testing.T) { hides(t, b.open(t)) })
	t.Run("the last metadata counts", func(t *testing.T) { changes(t, b.open(t)) })
	t.Run("metadata can be set before the stream exists", func(t *testing.T) {
		s := b.open(t)
		setMetadata(t, s, "a-1", `{"$maxCount":2}`)
		wantGone(t, s, "a-1", events.ErrStreamNotFound)
		mustAppend(t, s, "a-1", events.StreamExists(), 0)
		wantRevisions(t, s, "a-1", events.ReadStream{}, 0)
		mustAppend(t, s, "a-1", events.Exact(0), 1, 2)
		wantRevisions(t, s, "a-1", events.ReadStream{}, 1, 2)
	})
	t.Run("an append that expects the stream to exist", func(t *testing.T) { exists(t, b) })
	t.Run("metadata that cannot be understood is refused", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
		for _, text := range []string{"[]", "{", "no JSON", `"x"`, "7", `{"$acl":7}`, `{"$acl":{"$r":7}}`} {
			e := events.NewEvent{ID: id(9), Type: events.TypeMetadata, Data: []byte(text)}
			_, err := s.Append(t.Context(), "$$a-1", events.Any(), []events.NewEvent{e})
			if !errors.Is(err, events.ErrMalformed) {
				t.Errorf("metadata %s: %v, want malformed", text, err)
			}
		}
		wantHead(t, s, 2)
		wantRevisions(t, s, "a-1", events.ReadStream{}, 0, 1)
	})
	t.Run("a metadata stream shows only its last event", func(t *testing.T) { onlyLast(t, b.open(t)) })
	t.Run("numbers go on and repeated appends are recognised behind hidden events", func(t *testing.T) {
		s := b.open(t)
		first := mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
		setMetadata(t, s, "a-1", `{"$tb":2}`)
		if got := mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2); got != b.repeated(first) {
			t.Fatalf("repeated: %+v, want %+v", got, b.repeated(first))
		}
		setMetadata(t, s, "a-1", `{"$tb":3}`)
		wantRevisions(t, s, "a-1", events.ReadStream{})
		first.Position = 0 // The last event is hidden.
		if got := mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2); got != b.repeated(first) {
			t.Fatalf("repeated: %+v, want %+v", got, b.repeated(first))
		}
		_, err := s.Append(t.Context(), "a-1", events.NoStream(), numbered(7))
		wantWrong(t, err, &events.WrongRevisionError{Stream: "a-1", Expected: events.NoStream(), Actual: 2, Exists: true})
		mustAppend(t, s, "a-1", events.StreamExists(), 3)
		wantRevisions(t, s, "a-1", events.ReadStream{}, 3)
	})
	t.Run("streams with similar names have metadata of their own", func(t *testing.T) {
		s := b.open(t)
		names := []string{"a", "a-1", "a-1-1", "a-1\x00", "$a"}
		for i, name := range names {
			mustAppend(t, s, name, events.NoStream(), 0, 1, 2, 3, 4, 5)
			setMetadata(t, s, name, fmt.Sprintf(`{"$tb":%d}`, i+1))
		}
		for i, name := range names {
			wantRevisions(t, s, name, events.ReadStream{Limit: 1}, uint64(i+1))
		}
	})
}

// setMetadata sets the metadata of a stream.
func setMetadata(t testing.TB, s events.Store, stream, text string) events.AppendResult {
	t.Helper()
	// The id contains the revision, so that each append is a new one.
	there, err := collect(s.ReadStream(t.Context(), events.MetadataStream(stream), events.ReadStream{}))
	if err != nil && !errors.Is(err, events.ErrStreamNotFound) {
		t.Fatal(err)
	}
	n := uint64(0)
	if len(there) > 0 {
		n = there[len(there)-1].Revision + 1
	}
	e := events.NewEvent{ID: events.NewEventID(stream, "metadata", int(n)), Type: events.TypeMetadata, Data: []byte(text)}
	result, err := s.Append(t.Context(), events.MetadataStream(stream), events.ExpectNext(n), []events.NewEvent{e})
	if err != nil || result.Revision != n {
		t.Fatalf("set the metadata of %s to %s: %+v, %v, want revision %d", stream, text, result, err, n)
	}
	return result
}

// hides tries each kind of metadata, and each way of reading what it leaves readable.
func hides(t *testing.T, s events.Store) {
	const count = 6
	for i, c := range []struct {
		text  string
		first uint64
	}{
		{`{}`, 0},
		{`{"$tb":0}`, 0},
		{`{"$tb":1}`, 1},
		{`{"$tb":5}`, 5},
		{`{"$tb":6}`, 6},
		{`{"$tb":1000}`, 6},
		{`{"$maxCount":1}`, 5},
		{`{"$maxCount":2}`, 4},
		{`{"$maxCount":6}`, 0},
		{`{"$maxCount":9000000000000000000}`, 0},
		{`{"$maxAge":3600}`, 0},
		{`{"$tb":3,"$maxCount":2}`, 4},
		{`{"$tb":5,"$maxCount":3}`, 5},
		{`{"$tb":2,"$maxCount":5,"$maxAge":3600}`, 2},
		{`{"$tb":null,"$maxCount":null,"other":{"$tb":4}}`, 0},
		{`{"$maxCount":2,"$tb":-1}`, 4},
		{`{"$tb":"x"}`, 0},
		{`{"$maxCount":"x"}`, 0},
		{`{"$maxAge":1e99}`, 0},
	} {
		name := fmt.Sprintf("a-%d", i)
		mustAppend(t, s, name, events.NoStream(), 0, 1, 2, 3, 4, 5)
		setMetadata(t, s, name, c.text)
		wantLog(t, s, name, 0, 1, 2, 3, 4, 5)
		for _, q := range everyRead(count) {
			wantRevisions(t, s, name, q, part(c.first, count, q)...)
		}
	}
}

// everyRead returns all ways to read a stream of this many events.
func everyRead(count uint64) []events.ReadStream {
	var all []events.ReadStream
	for from := range count + 2 {
		for limit := range int(count) {
			all = append(all, events.ReadStream{From: from, Limit: limit},
				events.ReadStream{From: from, Limit: limit, Backward: true})
		}
	}
	return append(all, events.ReadStream{From: events.End}, events.ReadStream{From: events.End, Backward: true})
}

// part returns the revisions that a read yields of those from first to count.
func part(first, count uint64, q events.ReadStream) []uint64 {
	var all []uint64
	for r := first; r < count; r++ {
		if q.Backward && r <= q.From || !q.Backward && r >= q.From {
			all = append(all, r)
		}
	}
	if q.Backward {
		slices.Reverse(all)
	}
	if q.Limit > 0 {
		all = all[:min(len(all), q.Limit)]
	}
	return all
}

func changes(t *testing.T, s events.Store) {
	mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2, 3)
	for _, c := range []struct {
		text string
		want []uint64
	}{
		{`{"$tb":3}`, []uint64{3}},
		{`{"$maxCount":2}`, []uint64{2, 3}},
		{`{"$tb":1}`, []uint64{1, 2, 3}},
		{`{}`, []uint64{0, 1, 2, 3}},
		{`{"$maxCount":3}`, []uint64{1, 2, 3}},
	} {
		setMetadata(t, s, "a-1", c.text)
		wantRevisions(t, s, "a-1", events.ReadStream{}, c.want...)
	}
	mustAppend(t, s, "a-1", events.Exact(3), 4, 5)
	wantRevisions(t, s, "a-1", events.ReadStream{}, 3, 4, 5)
}

// exists is the table of StreamExists against the state of the stream.
func exists(t *testing.T, b bench) {
	s := b.open(t)
	mustAppend(t, s, "there-1", events.NoStream(), 0)
	setMetadata(t, s, "meta-1", `{"$maxCount":5}`)
	mustAppend(t, s, "soft-1", events.NoStream(), 0)
	mustDelete(t, s, "soft-1", events.Any(), false)
	mustAppend(t, s, "hard-1", events.NoStream(), 0)
	mustDelete(t, s, "hard-1", events.Any(), true)
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][]events.NewEvent{nil, numbered(1)} {
		_, err := s.Append(t.Context(), "none-1", events.StreamExists(), batch)
		wantWrong(t, err, &events.WrongRevisionError{Stream: "none-1", Expected: events.StreamExists()})
		for _, name := range []string{"soft-1", "hard-1"} {
			_, err := s.Append(t.Context(), name, events.StreamExists(), batch)
			if !errors.Is(err, events.ErrStreamDeleted) {
				t.Fatalf("append %d to %s: %v, want deleted", len(batch), name, err)
			}
		}
	}
	wantHead(t, s, head)
	// A server may remember an id once for all streams, and only in the first: each has ids of its own.
	for name, number := range map[string]int{"there-1": 11, "meta-1": 20} {
		at := mustAppend(t, s, name, events.StreamExists(), number).Revision
		first := mustAppend(t, s, name, events.StreamExists(), number+1, number+2)
		if got := mustAppend(t, s, name, events.StreamExists(), number+1, number+2); got != b.repeated(first) {
			t.Fatalf("%s: repeated %+v, want %+v", name, got, b.repeated(first))
		}
		_, err := s.Append(t.Context(), name, events.StreamExists(), numbered(number+2, number+3))
		wantWrong(t, err, &events.WrongRevisionError{
			Stream: name, Expected: events.StreamExists(), Actual: at + 2, Exists: true,
		})
	}
}

func onlyLast(t *testing.T, s events.Store) {
	mustAppend(t, s, "a-1", events.NoStream(), 0)
	wantGone(t, s, "$$a-1", events.ErrStreamNotFound)
	for n := range uint64(4) {
		text := fmt.Sprintf(`{"$maxCount":%d,  "note":"%s"}`, n+1, strings.Repeat("x", int(n)))
		setMetadata(t, s, "a-1", text)
		for _, q := range everyRead(n + 1) {
			got := mustRead(t, s.ReadStream(t.Context(), "$$a-1", q))
			if want := part(n, n+1, q); !slices.Equal(revisions(got), want) {
				t.Fatalf("%+v after %d: revisions %v, want %v", q, n, revisions(got), want)
			}
			if len(got) > 0 && (string(got[0].Data) != text || got[0].Type != events.TypeMetadata) {
				t.Fatalf("the metadata reads %s of type %s, want %s", got[0].Data, got[0].Type, text)
			}
		}
	}
	all := 0
	for _, r := range mustRead(t, s.ReadAll(t.Context(), 0, 0)) {
		if r.Stream == "$$a-1" {
			all++
		}
	}
	if all != 4 {
		t.Fatalf("the log has %d events of metadata, want 4", all)
	}
}

// RunAged checks the rules of $maxAge on a store whose clock the test sets: the
// store must use now as the time.
func RunAged(t *testing.T, open func(t *testing.T, now func() time.Time) events.Store) {
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	s := open(t, func() time.Time { return now })
	defer mustClose(t, s)
	for n := range 6 { // One event a minute.
		mustAppend(t, s, "a-1", events.ExpectNext(uint64(n)), n)
		now = now.Add(time.Minute)
	}
	now = now.Add(-time.Minute) // The last event is as old as a moment.
	for _, c := range []struct {
		text  string
		later time.Duration
		first uint64
	}{
		{`{"$maxAge":60}`, 0, 4},
		{`{"$maxAge":59}`, 0, 5},
		{`{"$maxAge":3600}`, 0, 0},
		{`{"$maxAge":120}`, time.Second, 4},
		{`{"$maxAge":120,"$maxCount":1}`, time.Second, 5},
		{`{"$maxAge":300,"$tb":2}`, time.Second, 2},
		{`{"$maxAge":120}`, 2 * time.Minute, 5},
		{`{"$maxAge":120}`, time.Hour, 6},
		{`{"$maxAge":9000000000}`, time.Hour, 0},
		{`{"$maxAge":0}`, time.Hour, 0},
	} {
		setMetadata(t, s, "a-1", c.text)
		now = now.Add(c.later)
		for _, q := range everyRead(6) {
			wantRevisions(t, s, "a-1", q, part(c.first, 6, q)...)
		}
		now = now.Add(-c.later)
		wantLog(t, s, "a-1", 0, 1, 2, 3, 4, 5)
	}
	mustAppend(t, s, "a-1", events.Exact(5), 6)
	setMetadata(t, s, "a-1", `{"$maxAge":30}`)
	now = now.Add(time.Minute)
	wantRevisions(t, s, "a-1", events.ReadStream{})
	mustAppend(t, s, "a-1", events.Exact(6), 7)
	wantRevisions(t, s, "a-1", events.ReadStream{}, 7)
}
