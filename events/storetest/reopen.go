package storetest

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// reopened holds a durable store to what must outlive the process.
func reopened(t *testing.T, open func(t *testing.T, dir string) events.Store) {
	t.Run("events, revisions and positions go on", func(t *testing.T) {
		dir := t.TempDir()
		var want []events.Recorded
		for round := range 4 {
			s := open(t, dir)
			wantHead(t, s, events.Position(len(want)))
			if d := diff(want, mustRead(t, s.ReadAll(t.Context(), 0, 0))); d != "" {
				t.Fatalf("round %d (-want +got):\n%s", round, d)
			}
			for n := range 3 {
				name, number := fmt.Sprintf("s-%d", n), 10*round+n
				mustAppend(t, s, name, events.ExpectNext(uint64(round)), number)
				want = append(want, recorded(event(number), name, uint64(round),
					events.Position(len(want)+1)))
			}
			mustClose(t, s)
		}
	})
	t.Run("an append whose answer was lost succeeds after a restart", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		first := mustAppend(t, s, "a-1", events.NoStream(), 1, 2)
		second := mustAppend(t, s, "a-1", events.Exact(1), 3)
		for n := range 50 {
			mustAppend(t, s, "b-1", events.ExpectNext(uint64(n)), 100+n)
		}
		mustClose(t, s)
		s = open(t, dir)
		defer mustClose(t, s)
		first.Repeated, second.Repeated = true, true
		if got := mustAppend(t, s, "a-1", events.NoStream(), 1, 2); got != first {
			t.Fatalf("the first again: %+v, want %+v", got, first)
		}
		if got := mustAppend(t, s, "a-1", events.Exact(1), 3); got != second {
			t.Fatalf("the second again: %+v, want %+v", got, second)
		}
		_, err := s.Append(t.Context(), "a-1", events.Exact(1), numbered(3, 4))
		wantWrong(t, err, &events.WrongRevisionError{
			Stream: "a-1", Expected: events.Exact(1), Actual: 2, Exists: true,
		})
		_, err = s.Append(t.Context(), "a-1", events.NoStream(), numbered(9))
		wantWrong(t, err, &events.WrongRevisionError{
			Stream: "a-1", Expected: events.NoStream(), Actual: 2, Exists: true,
		})
		wantHead(t, s, 53)
	})
	t.Run("a refused append leaves nothing behind", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		if _, err := s.Append(t.Context(), "a-1", events.Exact(3), numbered(1)); err == nil {
			t.Fatal("an append above the last revision was written")
		}
		mustClose(t, s)
		s = open(t, dir)
		defer mustClose(t, s)
		_, err := collect(s.ReadStream(t.Context(), "a-1", events.ReadStream{}))
		if !errors.Is(err, events.ErrStreamNotFound) {
			t.Fatalf("read: %v, want not found", err)
		}
	})
	t.Run("metadata, deletions and virtual streams outlive the process", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		for _, name := range []string{"a-1", "soft-1", "again-1", "hard-1"} {
			mustAppend(t, s, name, events.NoStream(), 0, 1, 2)
		}
		setMetadata(t, s, "a-1", `{"$tb":1,"$maxCount":2}`)
		setMetadata(t, s, "later-1", `{"$maxCount":1}`)
		mustDelete(t, s, "soft-1", events.Exact(2), false)
		mustDelete(t, s, "again-1", events.Exact(2), false)
		mustAppend(t, s, "again-1", events.NoStream(), 3)
		mustDelete(t, s, "hard-1", events.Exact(2), true)
		log := mustRead(t, s.ReadAll(t.Context(), 0, 0))
		virtual := stream(t, s, "$et-type-0")
		for range 2 {
			mustClose(t, s)
			s = open(t, dir)
			if d := diff(log, mustRead(t, s.ReadAll(t.Context(), 0, 0))); d != "" {
				t.Fatalf("the log (-before +after):\n%s", d)
			}
			if d := diff(virtual, stream(t, s, "$et-type-0")); d != "" {
				t.Fatalf("a virtual stream (-before +after):\n%s", d)
			}
			wantRevisions(t, s, "a-1", events.ReadStream{}, 1, 2)
			wantGone(t, s, "soft-1", events.ErrStreamNotFound)
			wantRevisions(t, s, "again-1", events.ReadStream{}, 3)
			wantGone(t, s, "hard-1", events.ErrStreamDeleted)
			if _, err := s.Append(t.Context(), "hard-1", events.Any(), numbered(3)); !errors.Is(
				err, events.ErrStreamDeleted) {
				t.Fatalf("append behind a tombstone: %v", err)
			}
		}
		defer mustClose(t, s)
		mustAppend(t, s, "later-1", events.StreamExists(), 0, 1)
		wantRevisions(t, s, "later-1", events.ReadStream{}, 1)
		mustAppend(t, s, "soft-1", events.NoStream(), 3)
		wantRevisions(t, s, "soft-1", events.ReadStream{}, 3)
		mustAppend(t, s, "a-1", events.Exact(2), 3)
		wantRevisions(t, s, "a-1", events.ReadStream{}, 2, 3)
		links := 0
		for _, r := range mustRead(t, s.ReadAll(t.Context(), 0, 0)) {
			if r.Type == "type-0" {
				links++
			}
		}
		virtual = stream(t, s, "$et-type-0")
		if last := virtual[len(virtual)-1]; last.Link.Revision != uint64(links-1) {
			t.Fatalf("the links do not go on: %d, want %d", last.Link.Revision, links-1)
		}
	})
	t.Run("a subscription goes on at its checkpoint", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		mustAppend(t, s, "a-1", events.NoStream(), 1, 2, 3)
		mustClose(t, s)
		s = open(t, dir)
		defer mustClose(t, s)
		next, stop := iter.Pull2(s.Subscribe(t.Context(), 2))
		defer stop()
		wantNext(t, next, recorded(event(3), "a-1", 2, 3))
		mustAppend(t, s, "a-1", events.Exact(2), 4)
		wantNext(t, next, recorded(event(4), "a-1", 3, 4))
	})
}

func mustClose(t testing.TB, s events.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}
