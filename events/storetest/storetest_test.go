package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestSuiteRunsOnAServerThatOthersUseToo(t *testing.T) {
	RunRemote(t, func(t *testing.T) events.Store { return newShared(t) }, Options{Shared: true, AppendBytes: 1 << 20})
}

func TestSuiteRunsOnAServerWhoseVirtualStreamsAreLate(t *testing.T) {
	RunRemote(t, func(t *testing.T) events.Store {
		s := newShared(t)
		s.late = true
		return s
	}, Options{Shared: true, Late: true, AppendBytes: 1 << 20})
}

func TestSuiteRunsOnAServerWithoutVirtualStreams(t *testing.T) {
	RunRemote(t, func(t *testing.T) events.Store { return newShared(t) }, Options{Shared: true, NoVirtual: true})
}

func TestSuiteRunsBehindANetwork(t *testing.T) {
	RunRemote(t, func(*testing.T) events.Store { return forgetful{NewMemory()} }, Options{})
}

// TestAnAnswerThatDisagreesWithTheLogIsFound shows that the checks of the view of a shared
// server can fail.
func TestAnAnswerThatDisagreesWithTheLogIsFound(t *testing.T) {
	s := newShared(t)
	o, err := newOwn(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, o, "a-1", events.NoStream(), 0, 1)
	s.lie = 1
	if result, err := o.Append(t.Context(), "a-1", events.Any(), numbered(2)); err == nil {
		t.Errorf("an append with a wrong position gives %+v", result)
	}
	if got, err := collect(o.ReadStream(t.Context(), "a-1", events.ReadStream{})); err == nil {
		t.Errorf("a read with wrong positions gives %v", got)
	}
}

// TestEachTestHasIdsOfItsOwn: otherwise a server that remembers ids would take a later test's
// events for repetitions of an earlier one's.
func TestEachTestHasIdsOfItsOwn(t *testing.T) {
	s := newShared(t)
	seen := map[events.EventID]bool{}
	for range 2 {
		o, err := newOwn(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, o, "a-1", events.Any(), 1)
		wantRevisions(t, o, "a-1", events.ReadStream{From: 1})
		if got := stream(t, o, "a-1"); len(got) != 1 || got[0].ID != id(1) {
			t.Fatalf("the test reads %v, want what it wrote", got)
		}
		for _, r := range stream(t, s, o.in("a-1")) {
			if seen[r.ID] {
				t.Errorf("two tests write the event %v", r.ID)
			}
			seen[r.ID] = true
		}
	}
}

// forgetful is a Memory that does not recognise repeated appends.
type forgetful struct{ *Memory }

func (f forgetful) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	result, err := f.Memory.Append(ctx, stream, expected, batch)
	result.Repeated = false
	return result, err
}

// shared is a server that others use at the same time, in streams with the
// same names, and whose positions have gaps.
type shared struct {
	forgetful
	// late: as an EventStoreDB. Virtual streams end at the position linked, which a projection,
	// which writes to the log too, moves forward; a link to nothing leads nowhere in them; an id is
	// remembered once for all streams; and what revives a stream that has ended overflows.
	late bool
	lie  events.Position

	mu      sync.Mutex
	others  int
	seen    events.Position           // virtual streams have the events up to here
	ids     map[events.EventID]string // the first stream of each
	revived map[events.Position]bool  // what revived a stream that has ended
}

func newShared(t *testing.T) *shared {
	s := &shared{
		forgetful: forgetful{NewMemory()}, ids: map[events.EventID]string{}, revived: map[events.Position]bool{},
	}
	for range 20 {
		s.disturb(t.Context())
	}
	return s
}

// disturb writes the events of other users.
func (s *shared) disturb(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others++
	e := event(s.others)
	for _, name := range []string{"a-1", "$$a-1", fmt.Sprintf("other-%d", s.others), "$stats-1"} {
		e.ID = events.NewEventID("others", name, s.others)
		// Once the store is closed there is nothing more to disturb.
		_, _ = s.Memory.Append(ctx, name, events.Any(), []events.NewEvent{e})
	}
}

// project makes the links, some time later.
func (s *shared) project() {
	head, err := s.Memory.Head(context.Background())
	if err != nil {
		return
	}
	e := events.NewEvent{ID: events.NewEventID("links", "", int(head)), Type: events.TypeLink, Data: []byte("0@a-1")}
	s.mu.Lock()
	s.seen = max(s.seen, head)
	s.mu.Unlock()
	_, _ = s.Memory.Append(context.Background(), "$projections-links", events.Any(), []events.NewEvent{e})
}

// far is the position of an event as the server gives it: increasing, with gaps.
func (s *shared) far(p events.Position) events.Position {
	if p == 0 {
		return 0
	}
	return 100*p + p*p%97
}

func near(p events.Position) events.Position {
	if p == events.EndPosition {
		return p
	}
	return p / 100
}

func (s *shared) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.disturb(ctx)
	if s.late {
		expected = s.recall(stream, expected, batch)
	}
	result, err := s.forgetful.Append(ctx, stream, expected, batch)
	if s.late && err == nil {
		s.remember(stream, batch)
	}
	result.Position = s.far(result.Position)
	if result.Position > 0 {
		result.Position += s.lie
	}
	if s.late {
		go s.project()
	}
	return result, err
}

// recall makes an append whose first id is known from another stream one of new events.
func (s *shared) recall(stream string, expected events.Expected, batch []events.NewEvent) events.Expected {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exact := expected.Count()
	if exact || len(batch) == 0 || s.ids[batch[0].ID] == "" || s.ids[batch[0].ID] == stream {
		return expected
	}
	s.Memory.mu.Lock()
	defer s.Memory.mu.Unlock()
	there := s.Memory.stream(stream)
	if expected.IsExists() && (len(there.positions) == 0 && !there.hasMeta || there.meta.Deleted()) {
		return expected
	}
	return events.ExpectNext(uint64(len(there.positions)))
}

// remember notes the ids of an append, and what it wrote about a stream that has ended.
func (s *shared) remember(stream string, batch []events.NewEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range batch {
		if s.ids[e.ID] == "" {
			s.ids[e.ID] = stream
		}
	}
	s.Memory.mu.Lock()
	defer s.Memory.mu.Unlock()
	told := s.Memory.stream(stream).positions
	if of, ok := events.MetadataOf(stream); ok && s.Memory.stream(of).ended && len(told) > 0 {
		last := told[len(told)-1]
		s.revived[last] = s.Memory.all[last-1].ID != batch[len(batch)-1].ID
	}
}

func (s *shared) move(seq iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range seq {
			s.mu.Lock()
			if s.revived[r.Position] {
				r.Data = []byte(`{"$tb":-9223372036854775808}`)
			}
			s.mu.Unlock()
			r.Position = s.far(r.Position)
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s *shared) ReadStream(ctx context.Context, name string, q events.ReadStream) iter.Seq2[events.Recorded, error] {
	if !s.late || !events.IsVirtual(name) {
		return func(yield func(events.Recorded, error) bool) {
			for r, err := range s.move(s.Memory.ReadStream(ctx, name, q)) {
				if r.Position > 0 {
					r.Position += s.lie
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	return func(yield func(events.Recorded, error) bool) {
		all, err := collect(s.Memory.ReadStream(ctx, name, events.ReadStream{}))
		s.mu.Lock()
		all = slices.DeleteFunc(all, func(r events.Recorded) bool { return r.Position > s.seen })
		s.mu.Unlock()
		if err == nil && len(all) == 0 {
			err = events.ErrStreamNotFound
		}
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		for _, i := range part(0, uint64(len(all)), q) {
			r := all[i]
			if r.Gone() && !events.IsSystem(r.Stream) && r.Stream != r.Link.Origin {
				r = events.Unresolved(&events.Link{Stream: name, Revision: r.Link.Revision, Target: "-1@"}, r.Position, r.Recorded)
			}
			r.Position = s.far(r.Position)
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *shared) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return s.move(s.Memory.ReadAll(ctx, near(after), limit))
}

func (s *shared) ReadBack(ctx context.Context, before events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return s.move(s.Memory.ReadBack(ctx, near(before), limit))
}

func (s *shared) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.move(s.Memory.Subscribe(ctx, near(after)))
}

func (s *shared) Wait(ctx context.Context, after events.Position) error {
	return s.Memory.Wait(ctx, near(after))
}

func (s *shared) Delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (events.Position, error) {
	position, err := s.Memory.Delete(ctx, stream, expected, forever)
	if err != nil && !errors.Is(err, events.ErrClosed) {
		s.disturb(ctx)
	}
	if s.late {
		go s.project()
	}
	return s.far(position), err
}

func (s *shared) Head(ctx context.Context) (events.Position, error) {
	head, err := s.Memory.Head(ctx)
	return s.far(head), err
}
