package events

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is the Store that keeps everything in memory: for tests, simulations
// and trials. It obeys the port to the letter (storetest), except that nothing
// outlives the process. It starts no goroutine and waits only on mutexes and
// channels, so that it works inside a testing/synctest bubble.
type Memory struct {
	// Clock gives Recorded its time. It is time.Now unless it is set before
	// the first append.
	Clock func() time.Time

	mu      sync.Mutex
	all     []Recorded // by position-1; never changed once written
	streams map[string]*memoryStream
	// changed is closed and replaced by each append, and closed by Close.
	changed chan struct{}
	closed  bool
}

// memoryStream is the index of one stream.
type memoryStream struct {
	positions []Position         // by revision
	revisions map[EventID]uint64 // the last revision written with this id
}

var _ Store = (*Memory)(nil)

// NewMemory is an empty store.
func NewMemory() *Memory {
	return &Memory{
		Clock:   time.Now,
		streams: map[string]*memoryStream{},
		changed: make(chan struct{}),
	}
}

// Append implements Store. What is appended is durable at once, as far as
// memory can be.
func (m *Memory) Append(
	ctx context.Context, stream string, expected Expected, batch []NewEvent,
) (AppendResult, error) {
	if err := ctx.Err(); err != nil {
		return AppendResult{}, err
	}
	if err := CheckAppend(stream, batch); err != nil {
		return AppendResult{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return AppendResult{}, ErrClosed
	}
	s := m.streams[stream]
	if s == nil {
		s = &memoryStream{revisions: map[EventID]uint64{}}
	}
	count := uint64(len(s.positions))
	wrong := &WrongRevisionError{Stream: stream, Expected: expected, Exists: count > 0}
	if count > 0 {
		wrong.Actual = count - 1
	}
	n, exact := expected.Count()
	switch {
	case len(batch) == 0 && exact && n != count:
		return AppendResult{}, wrong
	case len(batch) == 0:
		return AppendResult{Revision: wrong.Actual, Exists: count > 0}, nil
	case !exact:
		if revision, known := s.known(batch); known == len(batch) {
			return m.repeated(s, revision), nil
		} else if known > 0 {
			return AppendResult{}, wrong
		}
	case n < count:
		if !m.same(s, n, batch) {
			return AppendResult{}, wrong
		}
		return m.repeated(s, n+uint64(len(batch))-1), nil
	case n > count:
		return AppendResult{}, wrong
	}
	m.streams[stream] = s
	return m.write(s, stream, batch), nil
}

// known counts how many leading ids of a batch the stream has, and gives the
// revision of the last of them.
func (s *memoryStream) known(batch []NewEvent) (revision uint64, known int) {
	for _, e := range batch {
		r, ok := s.revisions[e.ID]
		if !ok {
			break
		}
		revision = r
		known++
	}
	return revision, known
}

// same reports whether the stream has the batch's ids from a revision on.
func (m *Memory) same(s *memoryStream, from uint64, batch []NewEvent) bool {
	if uint64(len(batch)) > uint64(len(s.positions))-from {
		return false
	}
	for i, e := range batch {
		if m.all[s.positions[from+uint64(i)]-1].ID != e.ID {
			return false
		}
	}
	return true
}

func (m *Memory) repeated(s *memoryStream, revision uint64) AppendResult {
	return AppendResult{
		Revision: revision, Exists: true, Position: s.positions[revision], Repeated: true,
	}
}

// write appends the batch and wakes the subscribers. The lock is held.
func (m *Memory) write(s *memoryStream, stream string, batch []NewEvent) AppendResult {
	now := m.Clock()
	for _, e := range batch {
		r := Recorded{
			ID: e.ID, Stream: stream, Revision: uint64(len(s.positions)),
			Position: Position(len(m.all) + 1), Type: e.Type,
			Data: bytes.Clone(e.Data), Meta: e.Meta, Recorded: now,
		}
		m.all = append(m.all, r)
		s.positions = append(s.positions, r.Position)
		s.revisions[r.ID] = r.Revision
	}
	close(m.changed)
	m.changed = make(chan struct{})
	return AppendResult{
		Revision: uint64(len(s.positions)) - 1, Exists: true, Position: Position(len(m.all)),
	}
}

// ReadStream implements Store.
func (m *Memory) ReadStream(
	ctx context.Context, stream string, q ReadStream,
) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		m.mu.Lock()
		var revisions []Position
		if s := m.streams[stream]; s != nil {
			revisions = s.positions
		}
		m.mu.Unlock()
		if len(revisions) == 0 {
			if err := m.usable(ctx); err != nil {
				yield(Recorded{}, err)
				return
			}
			yield(Recorded{}, ErrStreamNotFound)
			return
		}
		count := uint64(len(revisions))
		if q.Backward {
			revisions = revisions[:min(q.From, count-1)+1]
			if q.Limit > 0 {
				revisions = revisions[max(0, len(revisions)-q.Limit):]
			}
			revisions = slices.Clone(revisions)
			slices.Reverse(revisions)
		} else {
			revisions = revisions[min(q.From, count):]
			if q.Limit > 0 {
				revisions = revisions[:min(q.Limit, len(revisions))]
			}
		}
		for _, position := range revisions {
			if !m.yieldAt(ctx, position, yield) {
				return
			}
		}
	}
}

// ReadAll implements Store.
func (m *Memory) ReadAll(
	ctx context.Context, after Position, limit int,
) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for n := 0; limit <= 0 || n < limit; n++ {
			if head, _ := m.head(); after >= head {
				if err := m.usable(ctx); err != nil {
					yield(Recorded{}, err)
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

// Subscribe implements Store.
func (m *Memory) Subscribe(ctx context.Context, after Position) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for {
			head, changed := m.head()
			for after < head {
				after++
				if !m.yieldAt(ctx, after, yield) {
					return
				}
			}
			if err := m.usable(ctx); err != nil {
				yield(Recorded{}, err)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// yieldAt hands out one event, or the reason why there are no more.
func (m *Memory) yieldAt(
	ctx context.Context, position Position, yield func(Recorded, error) bool,
) bool {
	if err := m.usable(ctx); err != nil {
		yield(Recorded{}, err)
		return false
	}
	m.mu.Lock()
	r := m.all[position-1]
	m.mu.Unlock()
	r.Data = bytes.Clone(r.Data)
	return yield(r, nil)
}

// head is the last position and the channel that closes when it changes.
func (m *Memory) head() (Position, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Position(len(m.all)), m.changed
}

// usable is why a call must end: the context's error, or ErrClosed.
func (m *Memory) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return nil
}

// Head implements Store.
func (m *Memory) Head(ctx context.Context) (Position, error) {
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	head, _ := m.head()
	return head, nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.changed)
	}
	return nil
}
