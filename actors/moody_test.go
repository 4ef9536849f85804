package actors_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/hostnode/hostnode/events"
)

// moodyStore is a store that can go away at a chosen moment. It is away in one
// of three ways.
type moodyStore struct {
	*events.Memory

	mu   sync.Mutex
	mood mood
	// leaves says at which append the store goes, and how.
	leaves func(stream string, batch []events.NewEvent) mood
	back   chan struct{} // closed when the store is back
}

type mood int

const (
	well    mood = iota
	refuses      // every call fails
	forgets      // appends are written, and their answers lost; reads fail
	hangs        // no call returns before the store is back
)

func (s *moodyStore) set(m mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mood == m {
		return
	}
	s.mood = m
	if m == well {
		close(s.back)
		s.leaves = nil
		return
	}
	s.back = make(chan struct{})
}

func (s *moodyStore) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mood != well
}

// writes reports whether what is appended is written, whatever the answer.
func (s *moodyStore) writes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mood == well || s.mood == forgets
}

// leaveAt lets the store go away when an event of this type is to be appended.
func (s *moodyStore) leaveAt(name string, how mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaves = func(_ string, batch []events.NewEvent) mood {
		if slices.ContainsFunc(batch, func(e events.NewEvent) bool { return e.Type == name }) {
			return how
		}
		return well
	}
}

// feel is how the store is, for a call that appends a batch or reads.
func (s *moodyStore) feel(ctx context.Context, stream string, batch []events.NewEvent) (mood, error) {
	s.mu.Lock()
	leaves := s.leaves
	s.mu.Unlock()
	if leaves != nil {
		if m := leaves(stream, batch); m != well {
			s.set(m)
		}
	}
	s.mu.Lock()
	m, back := s.mood, s.back
	s.mu.Unlock()
	if m != hangs {
		return m, nil
	}
	select {
	case <-back:
		return well, nil
	case <-ctx.Done():
		return hangs, ctx.Err()
	}
}

func (s *moodyStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	m, err := s.feel(ctx, stream, batch)
	if err != nil || m == refuses {
		return events.AppendResult{}, errors.Join(events.ErrAway, err)
	}
	r, err := s.Memory.Append(ctx, stream, expected, batch)
	if m == forgets && err == nil {
		return events.AppendResult{}, events.ErrAway
	}
	return r, err
}

func (s *moodyStore) reads(ctx context.Context) error {
	m, err := s.feel(ctx, "", nil)
	if m != well {
		return errors.Join(events.ErrAway, err)
	}
	return nil
}

func (s *moodyStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if err := s.reads(ctx); err != nil {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, err) }
	}
	return s.Memory.ReadStream(ctx, stream, q)
}

func (s *moodyStore) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	if err := s.reads(ctx); err != nil {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, err) }
	}
	return s.Memory.ReadAll(ctx, after, limit)
}

func (s *moodyStore) Head(ctx context.Context) (events.Position, error) {
	if err := s.reads(ctx); err != nil {
		return 0, err
	}
	return s.Memory.Head(ctx)
}

// moody puts a moody store between the host and its record.
func (r *rig) moody() *moodyStore {
	s := &moodyStore{Memory: r.store, back: make(chan struct{})}
	r.ports.Store = s
	r.Cleanup(func() { s.set(well) })
	return s
}
