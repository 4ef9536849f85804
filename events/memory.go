package events

import (
	"bytes"
	"context"
	"fmt"
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

// memoryStream is the index of one stream, virtual ones included.
type memoryStream struct {
	positions []Position         // by revision
	revisions map[EventID]uint64 // the last revision written with this id
	meta      StreamMetadata
	hasMeta   bool
	ended     bool // by a tombstone, its last event
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
	s := m.stream(stream)
	repeated, err := m.decide(s, stream, expected, batch)
	if err != nil || repeated != nil || len(batch) == 0 {
		if repeated == nil {
			repeated = &AppendResult{}
		}
		return *repeated, err
	}
	return m.write(s, stream, batch), nil
}

// stream is the index of a stream; one that was not known is not kept.
func (m *Memory) stream(name string) *memoryStream {
	if s := m.streams[name]; s != nil {
		return s
	}
	return &memoryStream{revisions: map[EventID]uint64{}}
}

// decide applies the rules of Store.Append. It returns a result when nothing
// is to be written.
func (m *Memory) decide(s *memoryStream, stream string, expected Expected, batch []NewEvent) (*AppendResult, error) {
	if s.ended {
		return nil, fmt.Errorf("append to %s: %w", stream, ErrStreamDeleted)
	}
	count := uint64(len(s.positions))
	exists := count > 0 && !s.meta.Deleted()
	wrong := &WrongRevisionError{Stream: stream, Expected: expected, Exists: count > 0, Actual: max(count, 1) - 1}
	if expected == NoStream() && !exists {
		expected = ExpectNext(count)
	}
	n, exact := expected.Count()
	switch {
	case expected.IsExists() && (s.meta.Deleted() || count == 0 && !s.hasMeta):
		return nil, wrong
	case len(batch) == 0 && exact && n != count:
		return nil, wrong
	case len(batch) == 0:
		return &AppendResult{Revision: wrong.Actual, Exists: count > 0}, nil
	case !exact:
		if revision, known := s.known(batch); known == len(batch) {
			return m.repeated(s, revision), nil
		} else if known > 0 {
			return nil, wrong
		}
	case n < count:
		if !m.same(s, n, batch) {
			return nil, wrong
		}
		return m.repeated(s, n+uint64(len(batch))-1), nil
	case n > count:
		return nil, wrong
	}
	return nil, nil
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

func (m *Memory) repeated(s *memoryStream, revision uint64) *AppendResult {
	return &AppendResult{
		Revision: revision, Exists: true, Position: s.positions[revision], Repeated: true,
	}
}

// write appends the batch and wakes the subscribers. The lock is held.
func (m *Memory) write(s *memoryStream, stream string, batch []NewEvent) AppendResult {
	now := m.Clock()
	if s.meta.Deleted() { // It takes events again; what was before stays hidden.
		meta := s.meta
		meta.TruncateBefore = uint64(len(s.positions))
		m.add(MetadataStream(stream), metadataEvent(stream, meta, len(m.all)), now)
	}
	for _, e := range batch {
		m.add(stream, e, now)
	}
	m.wake()
	return AppendResult{
		Revision: uint64(len(m.streams[stream].positions)) - 1, Exists: true, Position: Position(len(m.all)),
	}
}

// metadataEvent is metadata that the store itself sets; cause makes its id.
func metadataEvent(stream string, meta StreamMetadata, cause int) NewEvent {
	return NewEvent{
		ID:   NewEventID(MetadataStream(stream), "store", cause),
		Type: TypeMetadata, Data: meta.Marshal(),
	}
}

func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// add writes one event, what follows from it for the streams, and the links of
// the virtual streams.
func (m *Memory) add(stream string, e NewEvent, now time.Time) {
	position := Position(len(m.all) + 1)
	s := m.link(stream, e.ID, position)
	m.all = append(m.all, Recorded{
		ID: e.ID, Stream: stream, Revision: uint64(len(s.positions)) - 1, Position: position, Type: e.Type,
		Data: bytes.Clone(e.Data), Meta: e.Meta, Foreign: bytes.Clone(e.Foreign), Binary: e.Binary, Recorded: now,
	})
	if of, ok := MetadataOf(stream); ok && e.Type == TypeMetadata {
		target := m.stream(of)
		m.streams[of] = target
		// CheckAppend has read it before.
		target.meta, _ = ParseStreamMetadata(e.Data)
		target.hasMeta = true
	}
	s.ended = e.Type == TypeTombstone
	for _, virtual := range VirtualOf(stream, e.Type, e.Meta.Correlation, len(s.positions) == 1) {
		m.link(virtual, e.ID, position)
	}
}

func (m *Memory) link(stream string, id EventID, position Position) *memoryStream {
	s := m.stream(stream)
	m.streams[stream] = s
	s.positions = append(s.positions, position)
	s.revisions[id] = uint64(len(s.positions)) - 1
	return s
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, stream string, expected Expected, forever bool) (Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := CheckAppend(stream, nil); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	s := m.stream(stream)
	if _, err := m.decide(s, stream, expected, nil); err != nil {
		return 0, err
	}
	switch {
	case forever:
		m.add(stream, NewEvent{
			ID: NewEventID(stream, "tombstone", len(s.positions)), Type: TypeTombstone, Data: []byte("{}"),
		}, m.Clock())
	case len(s.positions) == 0 || s.meta.Deleted():
		return 0, fmt.Errorf("delete %s: %w", stream, ErrStreamNotFound)
	default:
		m.add(MetadataStream(stream), metadataEvent(stream, s.meta.DeletedMetadata(), len(m.all)), m.Clock())
	}
	m.wake()
	return Position(len(m.all)), nil
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
