package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// deletes checks the rules of Delete. In these tests event number n has
// revision n.
func deletes(t *testing.T, b bench) {
	t.Run("a stream that is deleted softly is found no more", func(t *testing.T) { softly(t, b.open(t)) })
	t.Run("a stream that is deleted softly begins again behind its old events", func(t *testing.T) {
		again(t, b)
	})
	t.Run("a tombstone ends a stream for good", func(t *testing.T) { tombstone(t, b.open(t)) })
	t.Run("what never was and what is deleted softly can be ended for good", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "soft-1", events.NoStream(), 0)
		mustDelete(t, s, "soft-1", events.Exact(0), false)
		for _, name := range []string{"none-1", "soft-1"} {
			mustDelete(t, s, name, events.NoStream(), true)
			wantGone(t, s, name, events.ErrStreamDeleted)
		}
	})
	t.Run("a stream that is elsewhere than expected is not deleted", func(t *testing.T) { wrongDeletes(t, b.open(t)) })
	t.Run("a stream that is deleted softly can be deleted again", func(t *testing.T) { twice(t, b) })
	t.Run("what never was cannot be deleted softly", func(t *testing.T) {
		s := b.open(t)
		for _, expected := range []events.Expected{events.Any(), events.NoStream(), events.StreamExists(), events.Exact(0)} {
			_, err := s.Delete(t.Context(), "none-1", expected, false)
			wantWrong(t, err, &events.WrongRevisionError{Stream: "none-1", Expected: expected})
		}
		wantHead(t, s, 0)
	})
	t.Run("what has metadata only can be deleted softly", func(t *testing.T) {
		for _, expected := range []events.Expected{events.Any(), events.NoStream(), events.StreamExists()} {
			s := b.open(t)
			setMetadata(t, s, "a-1", `{"$maxCount":2}`)
			mustDelete(t, s, "a-1", expected, false)
			wantGone(t, s, "a-1", events.ErrStreamNotFound)
			_, err := s.Append(t.Context(), "a-1", events.StreamExists(), numbered(0))
			if !errors.Is(err, events.ErrStreamDeleted) {
				t.Fatalf("append to what is deleted and expected to exist: %v", err)
			}
			mustAppend(t, s, "a-1", events.NoStream(), 0)
			b.awaitRevived(t, s, "a-1")
			wantRevisions(t, s, "a-1", events.ReadStream{}, 0)
		}
	})
	t.Run("an append without events brings a stream back, and its old events stay hidden", func(t *testing.T) {
		for _, expected := range []events.Expected{events.Any(), events.Exact(2)} {
			s := deletedStream(t, b)
			got := mustAppend(t, s, "a-1", expected)
			if want := (events.AppendResult{Revision: 2, Exists: true}); got != want {
				t.Fatalf("an append without events gave %+v, want %+v", got, want)
			}
			b.wantRevived(t, s, 3)
		}
		s := deletedStream(t, b)
		_, err := s.Append(t.Context(), "a-1", events.NoStream(), nil)
		wantWrong(t, err, &events.WrongRevisionError{
			Stream: "a-1", Expected: events.NoStream(), Actual: 2, Exists: true,
		})
		wantGone(t, s, "a-1", events.ErrStreamNotFound)
	})
	t.Run("setting metadata brings a stream back, and its old events stay hidden", func(t *testing.T) {
		for _, text := range []string{`{}`, `{"$tb":0}`, `{"$tb":1,"own":1}`, `{"$maxCount":9}`, `{"$tb":9223372036854775807}`} {
			s := deletedStream(t, b)
			setMetadata(t, s, "a-1", text)
			b.wantRevived(t, s, 3)
		}
	})
	t.Run("a repeat of deleted events is a repeat, and brings nothing back", func(t *testing.T) {
		for _, expected := range []events.Expected{events.NoStream(), events.Any()} {
			s := deletedStream(t, b)
			got := mustAppend(t, s, "a-1", expected, 0, 1, 2)
			if want := b.repeated(events.AppendResult{Revision: 2, Exists: true}); got != want {
				t.Fatalf("a repeat of what was deleted gave %+v, want %+v", got, want)
			}
			_, err := s.Append(t.Context(), "a-1", expected, numbered(0, 7))
			wantWrong(t, err, &events.WrongRevisionError{Stream: "a-1", Expected: expected, Actual: 2, Exists: true})
			wantGone(t, s, "a-1", events.ErrStreamNotFound)
			wantLog(t, s, "a-1", 0, 1, 2)
		}
	})
	t.Run("the metadata of a stream that ended cannot be read, and set only if there was some", func(t *testing.T) {
		s := b.open(t)
		for _, name := range []string{"bare-1", "told-1"} {
			mustAppend(t, s, name, events.NoStream(), 0)
		}
		setMetadata(t, s, "told-1", `{"$maxCount":1}`)
		for name, want := range map[string]error{"bare-1": events.ErrStreamDeleted, "told-1": nil} {
			mustDelete(t, s, name, events.Any(), true)
			wantGone(t, s, "$$"+name, events.ErrStreamDeleted)
			e := events.NewEvent{ID: id(77), Type: events.TypeMetadata, Data: []byte(`{}`)}
			_, err := s.Append(t.Context(), "$$"+name, events.Any(), []events.NewEvent{e})
			if !errors.Is(err, want) {
				t.Fatalf("set the metadata of %s, which ended: %v, want %v", name, err, want)
			}
			wantGone(t, s, name, events.ErrStreamDeleted)
		}
	})
	t.Run("metadata outlives a soft deletion", func(t *testing.T) {
		if b.DeleteForgets {
			t.Skip("this server forgets it")
		}
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
		setMetadata(t, s, "a-1", `{"$maxCount":2,"owner":"x"}`)
		mustDelete(t, s, "a-1", events.Exact(1), false)
		mustAppend(t, s, "a-1", events.NoStream(), 2, 3, 4)
		b.awaitRevived(t, s, "a-1")
		wantRevisions(t, s, "a-1", events.ReadStream{}, 3, 4)
	})
	t.Run("a name that cannot be cannot be deleted", func(t *testing.T) {
		s := b.open(t)
		for name, want := range map[string]error{
			"": events.ErrMalformed, "a\xff": events.ErrMalformed, "$ce-a": events.ErrReadOnly, "$streams": events.ErrReadOnly,
		} {
			for _, forever := range []bool{false, true} {
				if _, err := s.Delete(t.Context(), name, events.Any(), forever); !errors.Is(err, want) {
					t.Errorf("delete %q: %v, want %v", name, err, want)
				}
			}
		}
		wantHead(t, s, 0)
	})
	t.Run("deletions beside appends leave no gap in a stream", func(t *testing.T) { besideDeletes(t, b.open(t)) })
}

// deletedStream returns a store with a deleted stream of three events.
func deletedStream(t *testing.T, b bench) events.Store {
	t.Helper()
	s := b.open(t)
	mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
	mustDelete(t, s, "a-1", events.Exact(2), false)
	return s
}

// wantRevived demands that such a stream can be read again, and is empty up to
// its next event.
func (b bench) wantRevived(t *testing.T, s events.Store, next int) {
	t.Helper()
	b.awaitRevived(t, s, "a-1")
	wantRevisions(t, s, "a-1", events.ReadStream{})
	wantRevisions(t, s, "a-1", events.ReadStream{From: events.End, Backward: true})
	mustAppend(t, s, "a-1", events.StreamExists(), next)
	wantRevisions(t, s, "a-1", events.ReadStream{}, uint64(next))
	wantLog(t, s, "a-1", 0, 1, 2, next)
}

// twice deletes a deleted stream again, with every expectation.
func twice(t *testing.T, b bench) {
	for _, expected := range []events.Expected{events.Any(), events.NoStream(), events.Exact(2)} {
		for _, forever := range []bool{false, true} {
			s := deletedStream(t, b)
			before := mustRead(t, s.ReadAll(t.Context(), 0, 0))
			mustDelete(t, s, "a-1", expected, forever)
			if after := mustRead(t, s.ReadAll(t.Context(), 0, 0)); len(after) != len(before)+1 {
				t.Fatalf("deleting again wrote %d events, want 1", len(after)-len(before))
			}
			if !forever {
				wantGone(t, s, "a-1", events.ErrStreamNotFound)
			}
		}
	}
	s := deletedStream(t, b)
	for _, forever := range []bool{false, true} {
		_, err := s.Delete(t.Context(), "a-1", events.StreamExists(), forever)
		if !errors.Is(err, events.ErrStreamDeleted) {
			t.Fatalf("delete what is deleted and expected to exist, for ever %v: %v", forever, err)
		}
		_, err = s.Delete(t.Context(), "a-1", events.Exact(1), forever)
		wantWrong(t, err, &events.WrongRevisionError{Stream: "a-1", Expected: events.Exact(1), Actual: 2, Exists: true})
	}
}

func softly(t *testing.T, s events.Store) {
	mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
	mustAppend(t, s, "a-1-1", events.NoStream(), 0)
	position := mustDelete(t, s, "a-1", events.Exact(2), false)
	wantGone(t, s, "a-1", events.ErrStreamNotFound)
	wantRevisions(t, s, "a-1-1", events.ReadStream{}, 0)
	wantLog(t, s, "a-1", 0, 1, 2)
	last := mustRead(t, s.ReadBack(t.Context(), events.EndPosition, 1))
	if len(last) != 1 || last[0].Position != position || last[0].Stream != "$$a-1" || last[0].Type != events.TypeMetadata {
		t.Fatalf("the log ends with %+v, want the metadata of a-1 at position %d", last, position)
	}
	meta, err := events.ParseStreamMetadata(last[0].Data)
	if err != nil || !meta.Deleted() {
		t.Fatalf("the metadata of the deleted stream is %s, %v", last[0].Data, err)
	}
}

// again appends to deleted streams, with every expectation.
func again(t *testing.T, b bench) {
	for _, c := range []struct {
		name     string
		expected events.Expected
		ok       bool
	}{
		{"no stream", events.NoStream(), true},
		{"any", events.Any(), true},
		{"the last revision", events.Exact(2), true},
		{"a stream that exists", events.StreamExists(), false},
		{"below the last", events.Exact(1), false},
		{"above the last", events.Exact(3), false},
	} {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
		mustDelete(t, s, "a-1", events.StreamExists(), false)
		result, err := s.Append(t.Context(), "a-1", c.expected, numbered(3, 4))
		if !c.ok {
			if c.expected.IsExists() {
				if !errors.Is(err, events.ErrStreamDeleted) {
					t.Fatalf("expecting %s: %v, want deleted", c.name, err)
				}
			} else {
				wantWrong(t, err, &events.WrongRevisionError{
					Stream: "a-1", Expected: c.expected, Actual: 2, Exists: true,
				})
			}
			wantGone(t, s, "a-1", events.ErrStreamNotFound)
			continue
		}
		if err != nil || result.Revision != 4 || result.Repeated {
			t.Fatalf("expecting %s: %+v, %v, want new events up to revision 4", c.name, result, err)
		}
		b.awaitRevived(t, s, "a-1")
		wantRevisions(t, s, "a-1", events.ReadStream{}, 3, 4)
		wantRevisions(t, s, "a-1", events.ReadStream{From: 1, Limit: 1}, 3)
		wantRevisions(t, s, "a-1", events.ReadStream{From: 4}, 4)
		wantRevisions(t, s, "a-1", events.ReadStream{From: 5})
		wantRevisions(t, s, "a-1", events.ReadStream{From: events.End, Backward: true}, 4, 3)
		wantRevisions(t, s, "a-1", events.ReadStream{From: 2, Backward: true})
		wantLog(t, s, "a-1", 0, 1, 2, 3, 4)
		mustAppend(t, s, "a-1", events.StreamExists(), 5)
		mustDelete(t, s, "a-1", events.Exact(5), false)
		wantGone(t, s, "a-1", events.ErrStreamNotFound)
		mustAppend(t, s, "a-1", events.NoStream(), 6)
		b.awaitRevived(t, s, "a-1")
		wantRevisions(t, s, "a-1", events.ReadStream{}, 6)
	}
}

func tombstone(t *testing.T, s events.Store) {
	first := mustAppend(t, s, "a-1", events.NoStream(), 0, 1)
	mustAppend(t, s, "a-1-1", events.NoStream(), 0)
	position := mustDelete(t, s, "a-1", events.Exact(1), true)
	if position <= first.Position {
		t.Fatalf("the tombstone has position %d, the events before it %d", position, first.Position)
	}
	wantGone(t, s, "a-1", events.ErrStreamDeleted)
	for _, expected := range []events.Expected{
		events.Any(), events.NoStream(), events.StreamExists(), events.Exact(0), events.Exact(1), events.Exact(2),
	} {
		for _, batch := range [][]events.NewEvent{nil, numbered(7), numbered(0, 1)} {
			_, err := s.Append(t.Context(), "a-1", expected, batch)
			if !errors.Is(err, events.ErrStreamDeleted) {
				t.Fatalf("append %d expecting %v: %v, want deleted", len(batch), expected, err)
			}
		}
		for _, forever := range []bool{false, true} {
			if _, err := s.Delete(t.Context(), "a-1", expected, forever); !errors.Is(err, events.ErrStreamDeleted) {
				t.Fatalf("delete expecting %v, for ever %v: %v, want deleted", expected, forever, err)
			}
		}
	}
	wantHead(t, s, position)
	wantLog(t, s, "a-1", 0, 1, -1)
	wantRevisions(t, s, "a-1-1", events.ReadStream{}, 0)
	last := mustRead(t, s.ReadBack(t.Context(), events.EndPosition, 1))
	if len(last) != 1 || last[0].Position != position || last[0].Type != events.TypeTombstone {
		t.Fatalf("the log ends with %+v, want the tombstone at %d", last, position)
	}
}

func wrongDeletes(t *testing.T, s events.Store) {
	mustAppend(t, s, "a-1", events.NoStream(), 0, 1, 2)
	for _, c := range []struct {
		stream   string
		expected events.Expected
		exists   bool
	}{
		{"a-1", events.NoStream(), true},
		{"a-1", events.Exact(1), true},
		{"a-1", events.Exact(3), true},
		{"a-1", events.Exact(1 << 60), true},
		{"none-1", events.Exact(0), false},
		{"none-1", events.StreamExists(), false},
	} {
		for _, forever := range []bool{false, true} {
			_, err := s.Delete(t.Context(), c.stream, c.expected, forever)
			want := &events.WrongRevisionError{Stream: c.stream, Expected: c.expected, Exists: c.exists}
			if c.exists {
				want.Actual = 2
			}
			wantWrong(t, err, want)
		}
	}
	wantHead(t, s, 3)
	wantRevisions(t, s, "a-1", events.ReadStream{}, 0, 1, 2)
}

// besideDeletes deletes a stream repeatedly while others append to it.
func besideDeletes(t *testing.T, s events.Store) {
	const writers, each, deletions = 4, 25, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if _, err := s.Append(t.Context(), "a-1", events.Any(), numbered(w*each+n)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		for range deletions {
			_, err := s.Delete(t.Context(), "a-1", events.Any(), false)
			if err != nil && !errors.Is(err, events.ErrWrongRevision) { // Nothing was appended yet.
				t.Errorf("delete: %v", err)
			}
		}
	})
	wg.Wait()
	seen := map[events.EventID]bool{}
	next := map[string]uint64{}
	for _, r := range mustRead(t, s.ReadAll(t.Context(), 0, 0)) {
		if r.Revision != next[r.Stream] {
			t.Fatalf("%s has revision %d where %d is due", r.Stream, r.Revision, next[r.Stream])
		}
		next[r.Stream]++
		if r.Stream == "a-1" && seen[r.ID] {
			t.Fatal(fmt.Errorf("event %v was written twice", r.ID))
		}
		seen[r.ID] = true
	}
	if next["a-1"] != writers*each {
		t.Fatalf("the stream has %d events, want %d", next["a-1"], writers*each)
	}
}
