package storetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/hostnode/hostnode/events"
)

// ReadStream implements Store.
func (m *Memory) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		if err := m.usable(ctx); err != nil {
			yield(events.Recorded{}, err)
			return
		}
		first, positions, err := m.visible(stream)
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		next := max(q.From, first)
		last := first + uint64(len(positions)) - 1
		if q.Backward {
			next = min(q.From, last)
		}
		for n := 0; (q.Limit <= 0 || n < q.Limit) && next >= first && next <= last; n++ {
			if !m.yieldOf(ctx, stream, next, positions[next-first], yield) {
				return
			}
			if q.Backward && next == 0 {
				return
			}
			if next++; q.Backward {
				next -= 2
			}
		}
	}
}

// yieldOf yields an event of a stream; of a virtual one, the event that it links to.
func (m *Memory) yieldOf(
	ctx context.Context, stream string, revision uint64, position events.Position, yield func(events.Recorded, error) bool,
) bool {
	if !events.IsVirtual(stream) {
		return m.yieldAt(ctx, position, yield)
	}
	more := false
	m.yieldAt(ctx, position, func(r events.Recorded, err error) bool {
		if err == nil {
			r.Link = events.LinkTo(&r, stream, revision)
			r, err = events.ResolveLink(ctx, m, r)
		}
		more = yield(r, err) && err == nil
		return more
	})
	return more
}

// visible returns the positions of the readable events of a stream, beginning
// with revision first.
func (m *Memory) visible(stream string) (first uint64, positions []events.Position, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[stream]
	of, isMetadata := events.MetadataOf(stream)
	if s != nil && s.ended || isMetadata && m.stream(of).ended {
		return 0, nil, fmt.Errorf("read %s: %w", stream, events.ErrStreamDeleted)
	}
	if s == nil || len(s.positions) == 0 || s.meta.Deleted() {
		return 0, nil, events.ErrStreamNotFound
	}
	count := uint64(len(s.positions))
	meta := s.meta
	if isMetadata {
		meta.MaxCount = 1
	}
	first = meta.First(count)
	if meta.MaxAge > 0 {
		oldest := m.Clock().Add(-meta.MaxAge)
		for first < count && m.all[s.positions[first]-1].Recorded.Before(oldest) {
			first++
		}
	}
	return first, s.positions[first:], nil
}

// ReadAll implements Store.
func (m *Memory) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for n := 0; limit <= 0 || n < limit; n++ {
			if head, _ := m.head(); after >= head {
				if err := m.usable(ctx); err != nil {
					yield(events.Recorded{}, err)
				}
				return
			}
			after++
			if !m.yieldAt(ctx, after, yield) {
				return
			}
		}
	}
}

// ReadBack implements Store.
func (m *Memory) ReadBack(ctx context.Context, before events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		if err := m.usable(ctx); err != nil {
			yield(events.Recorded{}, err)
			return
		}
		head, _ := m.head()
		before = min(before, head+1)
		for n := 0; before > 1 && (limit <= 0 || n < limit); n++ {
			before--
			if !m.yieldAt(ctx, before, yield) {
				return
			}
		}
	}
}

// Wait implements Store.
func (m *Memory) Wait(ctx context.Context, after events.Position) error {
	for {
		head, changed := m.head()
		if err := m.usable(ctx); err != nil || head > after {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Subscribe implements Store.
func (m *Memory) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for {
			head, changed := m.head()
			for after < head {
				after++
				if !m.yieldAt(ctx, after, yield) {
					return
				}
			}
			if err := m.usable(ctx); err != nil {
				yield(events.Recorded{}, err)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// yieldAt yields one event, or the reason why there are no more.
func (m *Memory) yieldAt(ctx context.Context, position events.Position, yield func(events.Recorded, error) bool) bool {
	if err := m.usable(ctx); err != nil {
		yield(events.Recorded{}, err)
		return false
	}
	m.mu.Lock()
	r := m.all[position-1]
	m.mu.Unlock()
	r.Data, r.Foreign = bytes.Clone(r.Data), bytes.Clone(r.Foreign)
	return yield(r, nil)
}

// head returns the last position, and the channel that is closed when it changes.
func (m *Memory) head() (events.Position, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return events.Position(len(m.all)), m.changed
}
