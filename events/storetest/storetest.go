package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/events"
)

// Run checks a store against the port. open returns an empty store each time;
// the suite closes it.
func Run(t *testing.T, open func(t *testing.T) events.Store) { run(t, bench{start: open}) }

// bench is a kind of store under test.
type bench struct {
	start  func(t *testing.T) events.Store
	remote bool
	Options
}

// open opens an empty store that is closed at the end of the test.
func (b bench) open(t *testing.T) events.Store {
	t.Helper()
	s := b.start(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close at the end: %v", err)
		}
	})
	if !b.Shared {
		return s
	}
	mine, err := newOwn(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return mine
}

// repeated returns the expected result of an append that is a repeat.
func (b bench) repeated(r events.AppendResult) events.AppendResult {
	r.Repeated = !b.remote
	return r
}

// nameBytes is how long a name may be.
func (b bench) nameBytes() int {
	if b.Shared {
		return events.MaxStreamNameBytes - prefixBytes
	}
	return events.MaxStreamNameBytes
}

func run(t *testing.T, b bench) {
	for _, group := range []struct {
		name string
		run  func(*testing.T, bench)
	}{
		{"append", appends},
		{"read", reads},
		{"log", logs},
		{"delete", deletes},
		{"metadata", metadata},
		{"virtual", virtuals},
		{"subscribe", subscriptions},
		{"together", together},
		{"end", ends},
		{"model", model},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, b) })
	}
}

// RunDurable is Run for a store in a directory, and also checks what must
// outlive the process: open is called again on the same directory after Close.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) events.Store) {
	Run(t, func(t *testing.T) events.Store { return open(t, t.TempDir()) })
	t.Run("reopened", func(t *testing.T) { reopened(t, open) })
}

// id is an event id that a test can name by a number.
func id(n int) events.EventID { return events.NewEventID("storetest", "id", n) }

// event is a small event whose contents follow from its number.
func event(n int) events.NewEvent {
	cause := "" // Older records have none.
	if n%2 == 0 {
		cause = fmt.Sprintf("block:%d", n)
	}
	return events.NewEvent{
		ID:   id(n),
		Type: fmt.Sprintf("type-%d", n%3),
		Data: fmt.Appendf(nil, `{"n":%d}`, n),
		Meta: events.Metadata{
			Correlation: "conversation", Causation: fmt.Sprint(n - 1), Cause: cause,
			Version: uint32(n % 4), Epoch: uint64(n), Node: "node",
		},
	}
}

// numbered is a batch of events with the given numbers.
func numbered(numbers ...int) []events.NewEvent {
	batch := make([]events.NewEvent, len(numbers))
	for i, n := range numbers {
		batch[i] = event(n)
	}
	return batch
}

// mustAppend appends and fails the test when that is not possible.
func mustAppend(
	t testing.TB, s events.Store, stream string, expected events.Expected, numbers ...int,
) events.AppendResult {
	t.Helper()
	result, err := s.Append(t.Context(), stream, expected, numbered(numbers...))
	if err != nil {
		t.Fatalf("append %v to %q expecting %v: %v", numbers, stream, expected, err)
	}
	return result
}

// wantWrong demands a *WrongRevisionError with the actual revision.
func wantWrong(t testing.TB, err error, want *events.WrongRevisionError) {
	t.Helper()
	if !errors.Is(err, events.ErrWrongRevision) {
		t.Fatalf("error %v, want a wrong revision", err)
	}
	var got *events.WrongRevisionError
	if !errors.As(err, &got) {
		t.Fatalf("error %v is no *WrongRevisionError", err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(events.Expected{})); diff != "" {
		t.Fatalf("wrong revision error (-want +got):\n%s", diff)
	}
}

// collect reads a sequence to its end.
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

// mustRead reads a sequence to its end and fails the test on an error.
func mustRead(t testing.TB, seq iter.Seq2[events.Recorded, error]) []events.Recorded {
	t.Helper()
	all, err := collect(seq)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return all
}

// stream reads all of one stream.
func stream(t testing.TB, s events.Store, name string) []events.Recorded {
	t.Helper()
	return mustRead(t, s.ReadStream(t.Context(), name, events.ReadStream{}))
}

// recorded is what the store must hold for a new event; the time is the store's.
func recorded(
	e events.NewEvent, stream string, revision uint64, position events.Position,
) events.Recorded {
	return events.Recorded{
		ID: e.ID, Stream: stream, Revision: revision, Position: position,
		Type: e.Type, Data: e.Data, Meta: e.Meta, Foreign: e.Foreign, Binary: e.Binary,
	}
}

// diff compares events except for the time at which they were recorded.
func diff(want, got []events.Recorded) string {
	equal := slices.EqualFunc(want, got, func(a, b events.Recorded) bool {
		return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision &&
			a.Position == b.Position && a.Type == b.Type && a.Meta == b.Meta && a.Binary == b.Binary &&
			bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Foreign, b.Foreign) &&
			sameLink(a.Link, b.Link)
	})
	if equal { // cmp takes seconds for megabytes.
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(events.Recorded{}, "Recorded"), cmpopts.IgnoreFields(events.Link{}, "Origin", "Meta"))
}

// sameLink compares what all stores know of a link.
func sameLink(a, b *events.Link) bool {
	return a == b || a != nil && b != nil && a.Stream == b.Stream && a.Revision == b.Revision && a.Target == b.Target
}

// revisions is the list of revisions of some events, for short messages.
func revisions(all []events.Recorded) []uint64 {
	list := make([]uint64, len(all))
	for i, r := range all {
		list[i] = r.Revision
	}
	return list
}

// wantHead demands the position of the last event.
func wantHead(t testing.TB, s events.Store, want events.Position) {
	t.Helper()
	got, err := s.Head(context.WithoutCancel(t.Context()))
	if err != nil || got != want {
		t.Fatalf("head is %d, %v, want %d", got, err, want)
	}
}
