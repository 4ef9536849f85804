package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func mustDelete(t testing.TB, s events.Store, stream string, expected events.Expected, forever bool) events.Position {
	t.Helper()
	position, err := s.Delete(t.Context(), stream, expected, forever)
	if err != nil {
		t.Fatalf("delete %q expecting %v, for ever %v: %v", stream, expected, forever, err)
	}
	if head, err := s.Head(t.Context()); err != nil || position == 0 || head < position {
		t.Fatalf("delete %q: position %d, head %d, %v", stream, position, head, err)
	}
	return position
}

// wantRevisions demands that a read yields these revisions, each with the event
// of that number.
func wantRevisions(t testing.TB, s events.Store, stream string, q events.ReadStream, want ...uint64) {
	t.Helper()
	got, err := collect(s.ReadStream(t.Context(), stream, q))
	if err != nil || !slices.Equal(revisions(got), want) {
		t.Fatalf("read %s %+v: revisions %v, %v, want %v", stream, q, revisions(got), err, want)
	}
	for _, r := range got {
		if r.Stream != stream || r.ID != id(int(r.Revision)) {
			t.Fatalf("read %s %+v: %s has event %v at revision %d", stream, q, r.Stream, r.ID, r.Revision)
		}
	}
}

// wantGone demands that every read of a stream yields one error and no more.
func wantGone(t testing.TB, s events.Store, stream string, want error) {
	t.Helper()
	for _, q := range []events.ReadStream{
		{}, {From: 2}, {From: 99}, {Limit: 1}, {From: events.End, Backward: true}, {From: 1, Backward: true},
	} {
		n := 0
		for _, err := range s.ReadStream(t.Context(), stream, q) {
			if n++; !errors.Is(err, want) {
				t.Fatalf("read %s %+v: %v, want %v", stream, q, err, want)
			}
		}
		if n != 1 {
			t.Fatalf("read %s %+v: yielded %d times, want once", stream, q, n)
		}
	}
}

// wantLog demands that the log has these events of a stream, the tombstone as -1.
func wantLog(t testing.TB, s events.Store, stream string, want ...int) {
	t.Helper()
	var got []int
	for _, r := range mustRead(t, s.ReadAll(t.Context(), 0, 0)) {
		switch {
		case r.Stream != stream:
		case r.Type == events.TypeTombstone:
			got = append(got, -1)
		case r.ID != id(int(r.Revision)):
			t.Fatalf("%s has event %v at revision %d", stream, r.ID, r.Revision)
		default:
			got = append(got, int(r.Revision))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the log has %v of %s, want %v", got, stream, want)
	}
}
