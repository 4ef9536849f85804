package actors_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// flakyStore is a store that can fail at a chosen moment, in one of three ways.
type flakyStore struct {
	*storetest.Memory

	mu      sync.Mutex
	failure failure
	// leaves says at which append the store fails, and how.
	leaves func(stream string, batch []events.NewEvent) failure
	// after makes it fail once it has stored an event of this type.
	after   string
	afterIs failure
	back    chan struct{} // closed when the store is back
	since   time.Time     // when it failed
	changed chan struct{} // closed when it fails, and when it is back; nil: nobody listens
}

type failure int

const (
	up      failure = iota
	refuses         // every call fails
	forgets         // appends are written, and their answers lost; reads fail
	hangs           // no call returns before the store is back
)

func (s *flakyStore) set(m failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == m {
		return
	}
	s.failure, s.since = m, time.Now()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if m == up {
		close(s.back)
		s.leaves, s.after = nil, ""
		return
	}
	s.back = make(chan struct{})
}

func (s *flakyStore) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure != up
}

// writes reports whether an append is written, whatever its answer.
func (s *flakyStore) writes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure == up || s.failure == forgets
}

// leaveAt makes the store fail when an event of this type is appended.
func (s *flakyStore) leaveAt(name string, how failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaves = func(_ string, batch []events.NewEvent) failure {
		if slices.ContainsFunc(batch, func(e events.NewEvent) bool { return e.Type == name }) {
			return how
		}
		return up
	}
}

// fail returns how the store fails for a call that appends a batch, or reads.
func (s *flakyStore) fail(ctx context.Context, stream string, batch []events.NewEvent) (failure, error) {
	s.mu.Lock()
	leaves := s.leaves
	s.mu.Unlock()
	if leaves != nil {
		if m := leaves(stream, batch); m != up {
			s.set(m)
		}
	}
	s.mu.Lock()
	m, back := s.failure, s.back
	s.mu.Unlock()
	if m != hangs {
		return m, nil
	}
	select {
	case <-back:
		return up, nil
	case <-ctx.Done():
		return hangs, ctx.Err()
	}
}

func (s *flakyStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	m, err := s.fail(ctx, stream, batch)
	if err != nil || m == refuses {
		return events.AppendResult{}, errors.Join(events.ErrAway, err)
	}
	r, err := s.Memory.Append(ctx, stream, expected, batch)
	s.mu.Lock()
	after, how := s.after, s.afterIs
	s.mu.Unlock()
	if after != "" && slices.ContainsFunc(batch, func(e events.NewEvent) bool { return e.Type == after }) {
		s.set(how)
	}
	if m == forgets && err == nil {
		return events.AppendResult{}, events.ErrAway
	}
	return r, err
}

func (s *flakyStore) reads(ctx context.Context) error {
	m, err := s.fail(ctx, "", nil)
	if m != up {
		return errors.Join(events.ErrAway, err)
	}
	return nil
}

func (s *flakyStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if err := s.reads(ctx); err != nil {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, err) }
	}
	return s.Memory.ReadStream(ctx, stream, q)
}

func (s *flakyStore) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	if err := s.reads(ctx); err != nil {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, err) }
	}
	return s.Memory.ReadAll(ctx, after, limit)
}

func (s *flakyStore) Head(ctx context.Context) (events.Position, error) {
	if err := s.reads(ctx); err != nil {
		return 0, err
	}
	return s.Memory.Head(ctx)
}

// telling is a flaky store that knows whether it answers, and says so, as an adapter does.
type telling struct{ *flakyStore }

func (s telling) Away() (since time.Time, reason string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, "no answer", s.failure != up
}

func (s telling) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// told is flaky, with a store that tells.
func (r *rig) told() *flakyStore {
	s := r.flaky()
	r.ports.Store = telling{s}
	return s
}

// flaky puts a flaky store between the host and its record.
func (r *rig) flaky() *flakyStore {
	s := &flakyStore{Memory: r.store, back: make(chan struct{})}
	r.ports.Store = s
	r.Cleanup(func() { s.set(up) })
	return s
}
